// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/localplane/planetest"
)

// manifests reads a stream of YAML; NS stands for the test's namespace.
func manifests(t *testing.T, ns, text string) []v1alpha1.Object {
	t.Helper()
	var objects []v1alpha1.Object
	for document := range strings.SplitSeq(strings.ReplaceAll(text, "NS", ns), "\n---\n") {
		var manifest fields
		must(t, yaml.Unmarshal([]byte(document), &manifest))
		objects = append(objects, object(t, manifest))
	}
	return objects
}

// normalised are manifests whose values the API server writes another way, drops, or
// keeps for itself.
const normalised = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: app, namespace: NS, creationTimestamp: null}
spec:
  replicas: 1
  selector: {matchLabels: {app: app}}
  strategy: {}
  template:
    metadata: {creationTimestamp: null, labels: {app: app}}
    spec:
      imagePullSecrets: []
      containers:
      - name: main
        image: registry.example/app:1.0
        env: [{name: EMPTY, value: ""}]
        resources:
          requests: {cpu: "0.5", memory: 1024Mi}
          limits: {cpu: 1000m, memory: 1.5Gi}
status: {}
---
apiVersion: v1
kind: Service
metadata: {name: app, namespace: NS}
spec:
  selector: {app: app}
  ports: [{name: http, port: 80, targetPort: 0}]
status: {loadBalancer: {}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: app, namespace: NS}
imagePullSecrets: []
---
apiVersion: v1
kind: ConfigMap
metadata: {name: empty, namespace: NS, annotations: null, labels: {}}
data: null
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: none, namespace: NS}
rules: null
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: empty, namespace: NS}
rules: []
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: app, namespace: NS}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: none}
subjects: [{kind: ServiceAccount, name: app, namespace: NS}, {kind: User, name: jane}]
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: app, namespace: NS}
spec: {minAvailable: 0, selector: {matchLabels: {app: app}}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: NS.example.org}
webhooks:
- name: none.example.org
  admissionReviewVersions: [v1]
  sideEffects: None
  rules: []
  clientConfig: {url: "https://127.0.0.1:1/never", caBundle: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1BPT0KLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo=}
`

// TestNormalisedValues: what the API server writes another way is applied once, and
// then left alone.
func TestNormalisedValues(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	since := time.Now()
	objects := manifests(t, ns, normalised)
	pkg := newPackage(t, v1alpha1.PackageSpec{}, phase("one", objects...))
	eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
	appliedOnce(t, pkg.Name, ns, since, len(objects))
}

// appliedOnce has the package looked at a few times more, and wants one write of each
// object by then.
func appliedOnce(t *testing.T, pkg, ns string, since time.Time, objects int) {
	t.Helper()
	for _, value := range []string{"1", "2", "3"} {
		patch := []byte(`{"spec":{"progressDeadline":"1` + value + `m"}}`)
		must(t, admin.Patch(t.Context(), getPackage(t, pkg), client.RawPatch("application/merge-patch+json", patch)))
		planetest.Stays(t, 700*time.Millisecond, "the package stays", func() (bool, error) { return exists(t, &v1alpha1.Package{}, "", pkg), nil })
	}
	counts := map[string]int{}
	for _, e := range requests(t, since) {
		about := e.Namespace == ns || strings.HasPrefix(e.Name, ns) || strings.HasSuffix(e.Name, ns+".example.org")
		if about && e.Group != "strata.run" && e.Verb != "get" && e.Verb != "list" {
			counts[strings.Join([]string{e.Verb, e.Resource, e.Name}, " ")]++
		}
	}
	total := 0
	for _, count := range counts {
		total += count
	}
	if total != objects || len(counts) != objects {
		t.Errorf("want one request for each of %d objects, got:%s", objects, describe(counts))
	}
}

// kindAndObject is a definition with a status, as generators leave it in, and an
// object of the kind in front of it.
const kindAndObject = `
apiVersion: NS.example.org/v1
kind: Gadget
metadata: {name: first, namespace: NS}
spec: {size: 1000m, color: null}
status: {ready: false}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.NS.example.org, creationTimestamp: null}
spec:
  group: NS.example.org
  scope: Namespaced
  names: {kind: Gadget, listKind: GadgetList, plural: gadgets, singular: gadget}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: string}, color: {type: string, nullable: true}, mode: {type: string, default: plain}}}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
status:
  acceptedNames: {kind: "", plural: ""}
  conditions: []
  storedVersions: []
`

// TestKindAndItsObject: a definition and an object of its kind may stand in one
// phase, in any order.
func TestKindAndItsObject(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	t.Cleanup(func() { deleteDefinition(t, "gadgets."+ns+".example.org") })
	since := time.Now()
	pkg := newPackage(t, v1alpha1.PackageSpec{}, phase("one", manifests(t, ns, kindAndObject)...))
	eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
	appliedOnce(t, pkg.Name, ns, since, 2)
}

// TestNamespaceAndItsContent: so may a namespace and what lives in it.
func TestNamespaceAndItsContent(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane) + "-inner"
	t.Cleanup(func() {
		namespace := &unstructured.Unstructured{}
		namespace.SetAPIVersion("v1")
		namespace.SetKind("Namespace")
		namespace.SetName(ns)
		if err := client.IgnoreNotFound(admin.Delete(context.Background(), namespace)); err != nil {
			t.Error(err)
		}
	})
	since := time.Now()
	pkg := newPackage(t, v1alpha1.PackageSpec{}, phase("one",
		configMapManifest(t, ns, "a", "1"), object(t, fields{"apiVersion": "v1", "kind": "Namespace", "metadata": fields{"name": ns}})))
	eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
	appliedOnce(t, pkg.Name, ns, since, 2)
}

// TestDefinitionsNeverGoBack: a rollback leaves a CustomResourceDefinition as the newer
// revision has made it, and the resources that use what it has gained.
func TestDefinitionsNeverGoBack(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	t.Cleanup(func() { deleteDefinition(t, "gadgets."+ns+".example.org") })
	before := manifests(t, ns, kindAndObject)[1]
	after := manifests(t, ns, strings.Replace(kindAndObject, "size: {type: string}", "size: {type: string}, weight: {type: integer}", 1))[1]
	pkg := newPackage(t, v1alpha1.PackageSpec{}, phase("crds", before), phase("config", configMapManifest(t, ns, "a", "1")))
	eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
	newRevision(t, pkg, 2, phase("crds", after), phase("config", configMapManifest(t, ns, "a", "2")))
	eventuallyRevision(t, pkg.Name, 2, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
	requestRollback(t, pkg.Name, v1alpha1.Rollback{ToRevision: 1, RequestedAt: metav1.Now()})
	eventuallyRevision(t, pkg.Name, 3, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
	if got := configMap(t, ns, "a").Data["value"]; got != "1" {
		t.Errorf("after the rollback the object has %s, want 1", got)
	}
	crd := &unstructured.Unstructured{Object: fields{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}}
	must(t, admin.Get(t.Context(), types.NamespacedName{Name: "gadgets." + ns + ".example.org"}, crd))
	if data, err := crd.MarshalJSON(); err != nil || !strings.Contains(string(data), `"weight"`) {
		t.Errorf("the rollback has taken a field back: %v", err)
	}
	// The next revision narrows it for good, and is held back.
	newRevision(t, pkg, 4, phase("crds", before), phase("config", configMapManifest(t, ns, "a", "4")))
	revision := eventuallyRevision(t, pkg.Name, 4, v1alpha1.ConditionProgressing, v1alpha1.ReasonPreflightFailed)
	if text := message(revision.Status.Conditions, v1alpha1.ConditionProgressing); !containsAll(text, "weight", v1alpha1.AnnotationCRDUpgradeSafety) {
		t.Errorf("the message names not the field and the remedy: %s", text)
	}
	if got := configMap(t, ns, "a").Data["value"]; got != "1" {
		t.Errorf("a revision that was held back has written: %s", got)
	}
}

func deleteDefinition(t *testing.T, name string) {
	t.Helper()
	crd := &unstructured.Unstructured{Object: fields{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}}
	crd.SetName(name)
	if err := client.IgnoreNotFound(admin.Delete(context.Background(), crd)); err != nil {
		t.Error(err)
	}
}
