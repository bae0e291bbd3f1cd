// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
)

// installation is what OLM's controller has installed of a ClusterExtension, in a namespace of its own.
type installation struct {
	ce *olmv1.ClusterExtension
	// objects are those of the manifests of the installed version, in their order.
	objects []*unstructured.Unstructured
	labels  map[string]string
}

// operator is what every case has, and further manifests. NAME is that of the ClusterExtension, which
// is its namespace's, too.
const operator = `
{apiVersion: v1, kind: ServiceAccount, metadata: {name: operator}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {a: b, obsolete: x}}
---
{apiVersion: v1, kind: Secret, metadata: {name: keys}, data: {key: Zm9v}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: NAME}, rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: NAME}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: NAME}, subjects: [{kind: ServiceAccount, name: operator, namespace: NAME}]}
---
{apiVersion: v1, kind: Service, metadata: {name: operator}, spec: {selector: {app: operator}, ports: [{port: 443, targetPort: 8443}]}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: operator}
spec:
  replicas: 1
  strategy: {}
  selector: {matchLabels: {app: operator}}
  template:
    metadata: {creationTimestamp: null, labels: {app: operator}}
    spec:
      serviceAccountName: operator
      containers: [{name: manager, image: "example.org/operator:1.0", resources: {}, args: [--leader-elect], env: [{name: MODE, value: plain}]}]
`

// clusterScoped are kinds that have no namespace.
const clusterScoped = " ClusterRole ClusterRoleBinding CustomResourceDefinition ValidatingWebhookConfiguration PriorityClass "

// manifests are objects as OLM's controller has them in its manifest.
func (i *installation) manifests(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	var all []*unstructured.Unstructured
	for document := range strings.SplitSeq(strings.NewReplacer("namespace: NAME", "namespace: "+i.ce.Spec.Namespace, "NAME", i.ce.Name).Replace(text), "\n---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &o.Object); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(clusterScoped, " "+o.GetKind()+" ") {
			o.SetNamespace(i.ce.Spec.Namespace)
		}
		o.SetLabels(map[string]string{olmv1.LabelOwnerKind: "ClusterExtension", olmv1.LabelOwnerName: i.ce.Name})
		o.SetAnnotations(map[string]string{olmv1.AnnotationBundleVersion: "1.0.0"})
		o.SetOwnerReferences([]metav1.OwnerReference{i.owner()})
		all = append(all, o)
	}
	return all
}

// owner is the ClusterExtension as the controller of an object.
func (i *installation) owner() metav1.OwnerReference {
	yes := true
	return metav1.OwnerReference{APIVersion: olmv1.GroupVersion.String(), Kind: "ClusterExtension", Name: i.ce.Name, UID: i.ce.UID, Controller: &yes, BlockOwnerDeletion: &yes}
}

// create creates objects as OLM's controller does with Helm.
func (i *installation) create(t *testing.T, objects []*unstructured.Unstructured) {
	t.Helper()
	for _, object := range objects {
		created := object.DeepCopy()
		labels, annotations := created.GetLabels(), created.GetAnnotations()
		labels["app.kubernetes.io/managed-by"] = "Helm"
		annotations["meta.helm.sh/release-name"], annotations["meta.helm.sh/release-namespace"] = i.ce.Name, i.ce.Name
		created.SetLabels(labels)
		created.SetAnnotations(annotations)
		if err := admin.Create(t.Context(), created, client.FieldOwner("operator-controller")); err != nil {
			t.Fatal(err)
		}
	}
}

// release keeps a version of a release in Secrets, as OLM's controller does.
func (i *installation) release(t *testing.T, version int, status string, parts int, objects []*unstructured.Unstructured) {
	t.Helper()
	manifest := &bytes.Buffer{}
	for _, object := range objects {
		line, err := json.Marshal(object.Object)
		if err != nil {
			t.Fatal(err)
		}
		manifest.Write(append(line, '\n'))
	}
	packed := zipped(t, map[string]any{
		"name": i.ce.Name, "version": version, "namespace": i.ce.Name, "info": map[string]any{"status": status}, "chart": map[string]any{},
		"manifest": manifest.String(), "labels": i.labels,
	})
	key := fmt.Sprintf("sh.helm.release.v1.%s.v%d", i.ce.Name, version)
	index := &corev1.Secret{Type: "operatorframework.io/index.v1", Data: map[string][]byte{"chunk": packed[:len(packed)/parts]}}
	index.Namespace, index.Name = olmNamespace, key
	index.Labels = map[string]string{"name": i.ce.Name, "owner": "operator-controller", "status": status, "version": fmt.Sprint(version), "key": key, "type": "index"}
	index.OwnerReferences = []metav1.OwnerReference{{APIVersion: olmv1.GroupVersion.String(), Kind: "ClusterExtension", Name: i.ce.Name, UID: i.ce.UID}}
	var names []string
	for part := 1; part < parts; part++ {
		names = append(names, fmt.Sprintf("%s-%d", key, part))
	}
	if parts > 1 {
		index.Data["extraChunks"] = encoded(t, names)
	}
	if err := admin.Create(t.Context(), index); err != nil {
		t.Fatal(err)
	}
	immutable := true
	for part, name := range names {
		chunk := &corev1.Secret{Type: "operatorframework.io/chunk.v1", Immutable: &immutable, Data: map[string][]byte{"chunk": packed[len(packed)*(part+1)/parts : len(packed)*(part+2)/parts]}}
		chunk.Namespace, chunk.Name = olmNamespace, name
		chunk.Labels = map[string]string{"owner": "operator-controller", "key": key, "type": "chunk"}
		chunk.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Secret", Name: index.Name, UID: index.UID}}
		if err := admin.Create(t.Context(), chunk); err != nil {
			t.Fatal(err)
		}
	}
}

// objectSet keeps objects as a revision of OLM's newer runtime, and applies them as that does. With
// secrets the objects stand in Secrets.
func (i *installation) objectSet(t *testing.T, kind string, revision int, succeeded, secrets bool, objects []*unstructured.Unstructured) {
	t.Helper()
	var content []any
	for n, object := range objects {
		manifest := object.DeepCopy()
		manifest.SetOwnerReferences(nil)
		if !secrets {
			content = append(content, map[string]any{"object": manifest.Object, "collisionProtection": "Prevent"})
			continue
		}
		immutable, key := true, fmt.Sprintf("object-%d", n)
		kept := &corev1.Secret{Type: "olm.operatorframework.io/object-data", Immutable: &immutable, Data: map[string][]byte{key: encoded(t, manifest.Object)}}
		if n%2 == 0 {
			kept.Data[key] = zipped(t, manifest.Object)
		}
		kept.Namespace, kept.Name = olmNamespace, fmt.Sprintf("%s-%d-%d", i.ce.Name, revision, n)
		if err := admin.Create(t.Context(), kept); err != nil {
			t.Fatal(err)
		}
		content = append(content, map[string]any{"ref": map[string]any{"name": kept.Name, "namespace": kept.Namespace, "key": key}})
	}
	set := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"lifecycleState": "Active", "revision": int64(revision), "collisionProtection": "Prevent", "phases": []any{map[string]any{"name": "deploy", "objects": content}},
	}}}
	set.SetGroupVersionKind(olmv1.GroupVersion.WithKind(kind))
	set.SetName(fmt.Sprintf("%s-%d", i.ce.Name, revision))
	set.SetAnnotations(maps.Clone(i.labels))
	set.SetLabels(map[string]string{olmv1.LabelOwnerKind: "ClusterExtension", olmv1.LabelOwnerName: i.ce.Name})
	if kind == "ClusterExtensionRevision" {
		set.SetLabels(map[string]string{olmv1.LabelOwner: i.ce.Name})
	}
	set.SetFinalizers([]string{"olm.operatorframework.io/teardown"})
	set.SetOwnerReferences([]metav1.OwnerReference{i.owner()})
	if err := admin.Create(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	if succeeded {
		set.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Succeeded", "status": "True", "reason": "Succeeded", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}}}
		if err := admin.Status().Update(t.Context(), set); err != nil {
			t.Fatal(err)
		}
	}
	for _, object := range objects {
		applied, yes := object.DeepCopy(), true
		applied.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: olmv1.GroupVersion.String(), Kind: kind, Name: set.GetName(), UID: set.GetUID(), Controller: &yes, BlockOwnerDeletion: &yes}})
		annotations := applied.GetAnnotations()
		annotations["olm.operatorframework.io/revision"] = fmt.Sprint(revision)
		applied.SetAnnotations(annotations)
		if err := admin.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(applied), client.FieldOwner("olm.operatorframework.io"), client.ForceOwnership); err != nil {
			t.Fatal(err)
		}
	}
}

func encoded(t *testing.T, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func zipped(t *testing.T, value any) []byte {
	t.Helper()
	packed := &bytes.Buffer{}
	writer := gzip.NewWriter(packed)
	if _, err := writer.Write(encoded(t, value)); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

// objectSets are definitions of the kinds of OLM's newer runtime, as far as an import reads them.
const objectSets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: PLURAL.olm.operatorframework.io}
spec:
  group: olm.operatorframework.io
  scope: Cluster
  names: {kind: KIND, listKind: KINDList, plural: PLURAL, singular: SINGULAR}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, properties: {
      spec: {type: object, x-kubernetes-preserve-unknown-fields: true},
      status: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}
`

// defineObjectSets installs the definition of a kind.
func defineObjectSets(t *testing.T, kind string) {
	t.Helper()
	singular := strings.ToLower(kind)
	text := strings.NewReplacer("PLURAL", singular+"s", "SINGULAR", singular, "KIND", kind).Replace(objectSets)
	definition := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &definition.Object); err != nil {
		t.Fatal(err)
	}
	if err := admin.Create(t.Context(), definition); err != nil {
		t.Fatal(err)
	}
}
