// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/check/preflight"
	"github.com/strata-run/strata/internal/localplane/planetest"
	"github.com/strata-run/strata/revisions"
	"github.com/strata-run/strata/test/setup"
)

// checkerFor is a checker whose requests are sent as a user, who is impersonated.
func checkerFor(t *testing.T, user string) *preflight.Checker {
	t.Helper()
	config := rest.CopyConfig(plane.Config())
	config.Impersonate = rest.ImpersonationConfig{UserName: user}
	who, err := client.New(config, client.Options{})
	must(t, err)
	return &preflight.Checker{Live: who, Writer: who, Mapper: who.RESTMapper()}
}

// contentOf is a revision with one phase of objects that are written in YAML.
func contentOf(t *testing.T, number int64, texts ...string) revisions.Revision {
	t.Helper()
	phase := revisions.Phase{Name: "all"}
	for _, text := range texts {
		manifest := &unstructured.Unstructured{}
		data, err := yaml.YAMLToJSON([]byte(text))
		must(t, err)
		must(t, manifest.UnmarshalJSON(data))
		phase.Objects = append(phase.Objects, revisions.Object{Manifest: manifest})
	}
	return revisions.Revision{Number: number, Phases: []revisions.Phase{phase}}
}

// applied puts a revision's objects into the cluster, as having been rolled out.
func applied(t *testing.T, revision revisions.Revision) revisions.Revision {
	t.Helper()
	revision.Succeeded, revision.Records = true, map[revisions.ObjectID]revisions.Record{}
	for _, object := range revision.Phases[0].Objects {
		live := object.Manifest.DeepCopy()
		planetest.Eventually(t, "the API server to take "+revisions.IDOf(live).String(), func() (bool, error) {
			err := admin.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(live), client.FieldOwner(revisions.DefaultFieldOwner), client.ForceOwnership)
			return err == nil, err
		})
		if live.GetNamespace() == "" {
			t.Cleanup(func() { _ = admin.Delete(context.Background(), live) })
		}
		revision.Records[revisions.IDOf(live)] = revisions.Record{UID: live.GetUID()}
	}
	return revision
}

// findings are the messages of a check, which has to have come to an end.
func findings(t *testing.T, err error) []preflight.Finding {
	t.Helper()
	var held *preflight.Error
	if err != nil && !errors.As(err, &held) {
		t.Fatal(err)
	}
	if held == nil {
		return nil
	}
	return held.Findings
}

// TestPreflightPermissions lists what a narrow account may not do, and lets it
// pass when it may.
func TestPreflightPermissions(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	user := "system:serviceaccount:" + ns + ":deployer"
	pkg := &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: ns, UID: "uid"}, Spec: v1alpha1.PackageSpec{
		ServiceAccount: &v1alpha1.ServiceAccountReference{Namespace: ns, Name: "deployer"},
	}}
	in := preflight.Input{Package: pkg, Target: contentOf(t, 1,
		"{apiVersion: v1, kind: ConfigMap, metadata: {namespace: "+ns+", name: a}}",
		"{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: "+ns+", name: a}, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: c}]}}}}",
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: "+ns+"}, rules: [{apiGroups: [''], resources: [secrets], verbs: [get]}]}",
	)}
	// A role in the namespace that allows everything says nothing about the cluster.
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "deployer"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "create", "patch", "delete"}},
		{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"get"}},
		{APIGroups: []string{"rbac.authorization.k8s.io"}, Resources: []string{"clusterroles"}, Verbs: []string{"*"}},
	}}
	must(t, admin.Create(t.Context(), role))
	subject := []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: ns, Name: "deployer"}}
	must(t, admin.Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "deployer"}, Subjects: subject,
		RoleRef: rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "Role", Name: "deployer"},
	}))
	wait := func(what string, want ...string) {
		t.Helper()
		planetest.Eventually(t, what, func() (bool, error) {
			var texts []string
			for _, finding := range findings(t, checkerFor(t, user).Check(t.Context(), in)) {
				if finding.Check != preflight.CheckPermission {
					t.Errorf("a finding that is not about rights: %+v", finding)
				}
				texts = append(texts, finding.Message)
			}
			if len(texts) != len(want) {
				return false, errors.New("found: " + strings.Join(texts, "\n"))
			}
			for i := range want {
				if !strings.Contains(texts[i], want[i]) {
					return false, errors.New("found: " + strings.Join(texts, "\n"))
				}
			}
			return true, nil
		})
	}
	wait("what is missing to be listed",
		user+" may not get, create, patch, delete clusterroles.rbac.authorization.k8s.io ("+ns+")",
		user+" may not create, patch, delete deployments.apps in namespace "+ns+" (a)")

	grant(t, ns, subject, rbacv1.PolicyRule{APIGroups: []string{"apps", "rbac.authorization.k8s.io"}, Resources: []string{"deployments", "clusterroles"}, Verbs: []string{"get", "create", "patch", "delete"}})
	wait("the escalation to be reported", "may not apply ClusterRole.rbac.authorization.k8s.io "+ns)

	grant(t, ns+"-secrets", subject, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}})
	wait("the check to pass with the rights")
	for _, object := range in.Target.Phases[0].Objects {
		if exists(t, object.Manifest.DeepCopy(), object.Manifest.GetNamespace(), object.Manifest.GetName()) {
			t.Errorf("a check has created %s", revisions.IDOf(object.Manifest))
		}
	}
}

// countingAsker counts the questions of a checker.
type countingAsker struct {
	preflight.Asker

	requests int
}

func (c *countingAsker) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	c.requests++
	return c.Asker.Create(ctx, obj, opts...)
}

func (c *countingAsker) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	c.requests++
	return c.Asker.Patch(ctx, obj, patch, opts...)
}

// grant makes a cluster role and binds it.
func grant(t *testing.T, name string, subjects []rbacv1.Subject, rule rbacv1.PolicyRule) {
	t.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "grant-" + name}, Rules: []rbacv1.PolicyRule{rule}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "grant-" + name}, Subjects: subjects,
		RoleRef: rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "grant-" + name},
	}
	for _, object := range []client.Object{role, binding} {
		must(t, admin.Create(t.Context(), object))
		t.Cleanup(func() { _ = admin.Delete(context.Background(), object) })
	}
}

// TestPreflightManager finds that the manager may do everything with its shipped
// rights, with one question in all.
func TestPreflightManager(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	checker := checkerFor(t, setup.Manager)
	in := preflight.Input{Package: &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: ns, UID: "uid"}}, Target: contentOf(t, 1,
		"{apiVersion: v1, kind: Secret, metadata: {namespace: "+ns+", name: a}}",
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: "+ns+"}, rules: [{apiGroups: ['*'], resources: ['*'], verbs: ['*']}]}",
	)}
	counted := &countingAsker{Asker: checker.Writer}
	checker.Writer = counted
	for range 3 {
		if found := findings(t, checker.Check(t.Context(), in)); len(found) > 0 {
			t.Errorf("found %v", found)
		}
	}
	if counted.requests != 1 {
		t.Errorf("%d requests, want 1", counted.requests)
	}
}

// TestPreflightImmutable agrees with the API server about what cannot be changed.
func TestPreflightImmutable(t *testing.T) {
	t.Parallel()
	const template = "template: {metadata: {labels: {app: a}}, spec: {restartPolicy: RESTART, containers: [{name: c, image: IMAGE, resources: {limits: {cpu: CPU}}}]}}"
	pod := func(restart, image, cpu string) string {
		return strings.NewReplacer("RESTART", restart, "IMAGE", image, "CPU", cpu).Replace(template)
	}
	claim := func(storage string) string {
		return "volumeClaimTemplates: [{metadata: {name: d}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: " + storage + "}}}}]"
	}
	cases := map[string]struct {
		apiVersion, kind string
		before, target   string
		// refused says whether the API server refuses it, and path at which field.
		refused bool
		path    string
		// cluster says that the kind has no namespace.
		cluster bool
	}{
		"DeploymentSelector": {apiVersion: "apps/v1", kind: "Deployment", before: "spec: {replicas: 0, selector: {matchLabels: {app: a}}, " + pod("Always", "i", "1") + "}", target: "spec: {replicas: 0, selector: {matchLabels: {app: b}}, " + strings.Replace(pod("Always", "i", "1"), "app: a", "app: b", 1) + "}", refused: true, path: ".spec.selector.matchLabels.app"},
		"DeploymentImage":    {apiVersion: "apps/v1", kind: "Deployment", before: "spec: {replicas: 0, selector: {matchLabels: {app: a}}, " + pod("Always", "i", "1") + "}", target: "spec: {replicas: 0, selector: {matchLabels: {app: a}}, " + pod("Always", "j", "1") + "}"},
		"JobImage":           {apiVersion: "batch/v1", kind: "Job", before: "spec: {" + pod("Never", "i", "1") + "}", target: "spec: {" + pod("Never", "j", "1") + "}", refused: true, path: ".spec.template.spec.containers[name=c].image"},
		"JobQuantity":        {apiVersion: "batch/v1", kind: "Job", before: "spec: {" + pod("Never", "i", "1000m") + "}", target: "spec: {" + pod("Never", "i", "1") + "}"},
		"JobParallelism":     {apiVersion: "batch/v1", kind: "Job", before: "spec: {parallelism: 1, " + pod("Never", "i", "1") + "}", target: "spec: {parallelism: 2, " + pod("Never", "i", "1") + "}"},
		"JobCompletions":     {apiVersion: "batch/v1", kind: "Job", before: "spec: {completions: 1, " + pod("Never", "i", "1") + "}", target: "spec: {completions: 2, " + pod("Never", "i", "1") + "}", refused: true, path: ".spec.completions"},
		"StatefulClaims":     {apiVersion: "apps/v1", kind: "StatefulSet", before: "spec: {replicas: 0, serviceName: a, selector: {matchLabels: {app: a}}, " + pod("Always", "i", "1") + ", " + claim("1Gi") + "}", target: "spec: {replicas: 0, serviceName: a, selector: {matchLabels: {app: a}}, " + pod("Always", "i", "1") + ", " + claim("2Gi") + "}", refused: true, path: ".spec.volumeClaimTemplates[0].spec.resources.requests.storage"},
		"StatefulSpelled":    {apiVersion: "apps/v1", kind: "StatefulSet", before: "spec: {replicas: 0, serviceName: a, selector: {matchLabels: {app: a}}, " + pod("Always", "i", "1") + ", " + claim("1Gi") + "}", target: "spec: {replicas: 0, serviceName: a, selector: {matchLabels: {app: a}}, " + pod("Always", "i", "1") + ", " + claim("1024Mi") + "}"},
		"StatefulService":    {apiVersion: "apps/v1", kind: "StatefulSet", before: "spec: {replicas: 0, serviceName: a, selector: {matchLabels: {app: a}}, " + pod("Always", "i", "1") + "}", target: "spec: {replicas: 0, serviceName: b, selector: {matchLabels: {app: a}}, " + pod("Always", "i", "1") + "}", refused: true, path: ".spec.serviceName"},
		"ServiceHeadless":    {apiVersion: "v1", kind: "Service", before: "spec: {ports: [{port: 80}]}", target: "spec: {clusterIP: None, ports: [{port: 80}]}", refused: true, path: ".spec.clusterIP"},
		"ServiceType":        {apiVersion: "v1", kind: "Service", before: "spec: {type: ClusterIP, ports: [{port: 80}]}", target: "spec: {type: NodePort, ports: [{port: 80}]}"},
		"ClaimClass":         {apiVersion: "v1", kind: "PersistentVolumeClaim", before: "spec: {storageClassName: a, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}", target: "spec: {storageClassName: b, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}", refused: true, path: ".spec.storageClassName"},
		"ClaimModes":         {apiVersion: "v1", kind: "PersistentVolumeClaim", before: "spec: {storageClassName: a, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}", target: "spec: {storageClassName: a, accessModes: [ReadWriteMany], resources: {requests: {storage: 1Gi}}}", refused: true, path: ".spec.accessModes[0]"},
		"VolumeSource":       {apiVersion: "v1", kind: "PersistentVolume", cluster: true, before: "spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /a}}", target: "spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /b}}", refused: true, path: ".spec.hostPath.path"},
		"VolumeCapacity":     {apiVersion: "v1", kind: "PersistentVolume", cluster: true, before: "spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /a}}", target: "spec: {capacity: {storage: 2Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /a}}"},
		"RoleRef":            {apiVersion: "rbac.authorization.k8s.io/v1", kind: "RoleBinding", before: "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: a}", target: "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: b}", refused: true, path: ".roleRef.name"},
		"StorageClass":       {apiVersion: "storage.k8s.io/v1", kind: "StorageClass", cluster: true, before: "provisioner: a.b/c, parameters: {a: b}", target: "provisioner: a.b/c, parameters: {a: c}", refused: true, path: ".parameters.a"},
		"PriorityClass":      {apiVersion: "scheduling.k8s.io/v1", kind: "PriorityClass", cluster: true, before: "value: 1", target: "value: 2", refused: true, path: ".value"},
		"IngressClass":       {apiVersion: "networking.k8s.io/v1", kind: "IngressClass", cluster: true, before: "spec: {controller: a.b/c}", target: "spec: {controller: a.b/d}", refused: true, path: ".spec.controller"},
		"RuntimeClass":       {apiVersion: "node.k8s.io/v1", kind: "RuntimeClass", cluster: true, before: "handler: a", target: "handler: b", refused: true, path: ".handler"},
		"CSIDriver":          {apiVersion: "storage.k8s.io/v1", kind: "CSIDriver", cluster: true, before: "spec: {attachRequired: true}", target: "spec: {attachRequired: false}", refused: true, path: ".spec.attachRequired"},
		"EndpointSlice":      {apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice", before: "addressType: IPv4, endpoints: []", target: "addressType: IPv6, endpoints: []", refused: true, path: ".addressType"},
		"ConfigMapFixed":     {apiVersion: "v1", kind: "ConfigMap", before: "immutable: true, data: {a: b}", target: "immutable: true, data: {a: c}", refused: true, path: ".data.a"},
		"ConfigMapThaw":      {apiVersion: "v1", kind: "ConfigMap", before: "immutable: true, data: {a: b}", target: "immutable: false, data: {a: b}", refused: true, path: ".immutable"},
		"SecretType":         {apiVersion: "v1", kind: "Secret", before: "type: a/b", target: "type: c/d", refused: true, path: ".type"},
		"SecretFixed":        {apiVersion: "v1", kind: "Secret", before: "immutable: true, data: {a: Y2FuYXJ5}", target: "immutable: true, data: {a: b3RoZXI=}", refused: true, path: ".data.a"},
	}
	ns := planetest.Namespace(t, plane)
	pkg := &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: ns, UID: "uid"}}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			place := "namespace: " + ns + ", "
			if c.cluster {
				place = ""
			}
			written := func(body string) string {
				return "{apiVersion: " + c.apiVersion + ", kind: " + c.kind + ", metadata: {" + place + "name: " + strings.ToLower(name) + "}, " + body + "}"
			}
			in := preflight.Input{Package: pkg, Serving: []revisions.Revision{applied(t, contentOf(t, 1, written(c.before)))}, Target: contentOf(t, 2, written(c.target))}
			found := findings(t, checkerFor(t, setup.Manager).Check(t.Context(), in))
			if c.refused != (len(found) > 0) {
				t.Errorf("found %v", found)
			}
			if len(found) > 0 && !strings.Contains(found[0].Message, c.path+" cannot be changed") {
				t.Errorf("found %s, want the path %s", found[0].Message, c.path)
			}
			for _, finding := range found {
				if containsAll(finding.Message, "Y2FuYXJ5") || containsAll(finding.Message, "b3RoZXI=") {
					t.Errorf("a value of a Secret is reported: %s", finding.Message)
				}
			}
			err := admin.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(in.Target.Phases[0].Objects[0].Manifest.DeepCopy()), client.FieldOwner(revisions.DefaultFieldOwner), client.ForceOwnership, client.DryRunAll)
			if c.refused != apierrors.IsInvalid(err) {
				t.Errorf("the API server says otherwise: %v", err)
			}
		})
	}
}

// TestPreflightDefinitions judges a live definition, and custom resources by its
// rules.
func TestPreflightDefinitions(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	group := ns + ".example.org"
	definition := func(fields string, versions ...string) string {
		var list []string
		for i, version := range versions {
			storage := "false"
			if i == len(versions)-1 {
				storage = "true"
			}
			list = append(list, "{name: "+version+", served: true, storage: "+storage+", schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {"+fields+"}}}}}}")
		}
		return "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: things." + group + "}, spec: {group: " + group + ", scope: Namespaced, names: {kind: Thing, plural: things}, versions: [" + strings.Join(list, ", ") + "]}}"
	}
	thing := func(size string) string {
		return "{apiVersion: " + group + "/v1, kind: Thing, metadata: {namespace: " + ns + ", name: t}, spec: {size: " + size + "}}"
	}
	const size = "size: {type: integer, x-kubernetes-validations: [{rule: self == oldSelf, message: the size is settled}]}"
	pkg := &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: ns, UID: "uid"}}
	before := applied(t, contentOf(t, 2, definition(size+", color: {type: string}", "v1", "v2"), thing("1")))
	check := func(target revisions.Revision, want ...string) {
		t.Helper()
		found := findings(t, checkerFor(t, setup.Manager).Check(t.Context(), preflight.Input{Package: pkg, Target: target, Serving: []revisions.Revision{before}}))
		if len(found) != len(want) {
			t.Fatalf("found %v, want %q", found, want)
		}
		for i := range want {
			if !strings.Contains(found[i].Message, want[i]) {
				t.Errorf("found %s, want %s", found[i].Message, want[i])
			}
		}
	}
	check(contentOf(t, 3, definition(size, "v1", "v2"), thing("1")), "v1, v2 .spec.color: Field: the field is gone")
	// The rollback to a revision that knew no v2.
	check(contentOf(t, 3, definition(size+", color: {type: string}", "v1"), thing("1")), "StoredVersion: version v2 is gone")
	check(contentOf(t, 3, definition(size+", color: {type: string}", "v1", "v2"), thing("2")), "the size is settled")
	check(contentOf(t, 3, definition(size+", color: {type: string}", "v1", "v2"), thing("1")))
	pkg.Annotations = map[string]string{v1alpha1.AnnotationCRDUpgradeSafety: v1alpha1.CRDUpgradeSafetyNone}
	check(contentOf(t, 3, definition(size, "v1", "v2"), thing("1")))
	live := contentOf(t, 1, thing("0")).Phases[0].Objects[0].Manifest
	must(t, admin.Get(t.Context(), client.ObjectKeyFromObject(live), live))
	if got, _, _ := unstructured.NestedInt64(live.Object, "spec", "size"); got != 1 {
		t.Errorf("a check has changed the size to %d", got)
	}
	if exists(t, &corev1.ConfigMap{}, ns, "t") {
		t.Error("a check has created something")
	}
}
