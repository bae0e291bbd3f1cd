// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
)

// migration is a row of the table of migrations.
type migration struct {
	// name is that of the ClusterExtension.
	name string
	// left is what OLM's controller and users have left, and becomes what the import makes of it.
	left, becomes string
	// more are manifests besides those of [operator].
	more string
	// versions are the statuses of the versions of the release; nil is one that is deployed. Parts are
	// the Secrets of the deployed one, 1 for 0.
	versions []string
	parts    int
	// install replaces the installation by a release.
	install func(t *testing.T, i *installation)
	// then is what happened after the installation.
	then func(t *testing.T, i *installation)
	// changed are the objects, as KIND NAME, that the import writes more of than who owns them, and
	// missing those that it makes.
	changed, missing []string
	// check looks at what must hold besides.
	check func(t *testing.T, i *installation)
}

// migrations are all rows.
var migrations = slices.Concat(releases, edits, losses, extras, newerRuntime)

// releases differ in how OLM's controller keeps them.
var releases = []migration{
	{name: "plain", left: "one version, deployed", becomes: "revision 1"},
	{name: "two-parts", parts: 2, left: "a release in two Secrets", becomes: "revision 1"},
	{name: "eleven-parts", parts: 11, left: "a release in eleven Secrets", becomes: "revision 1"},
	{name: "superseded", versions: []string{"superseded", "deployed"}, left: "an upgrade: version 1 superseded, 2 deployed", becomes: "revision 1 from version 2"},
	{name: "ten-versions", versions: append(slices.Repeat([]string{"superseded"}, 9), "deployed"), left: "ten versions, the newest deployed", becomes: "revision 1 from version 10"},
	{name: "two-deployed", versions: []string{"deployed", "deployed"}, left: "two versions deployed, after an interrupted upgrade", becomes: "revision 1 from version 2"},
	{name: "newer-superseded", versions: []string{"deployed", "superseded"}, left: "version 1 deployed, 2 superseded", becomes: "revision 1 from version 1"},
	{name: "pending-upgrade", versions: []string{"deployed", "pending-upgrade"}, left: "version 1 deployed, 2 pending-upgrade", becomes: "revision 1 from version 1"},
	{name: "pending-rollback", versions: []string{"superseded", "deployed", "pending-rollback"}, left: "version 2 deployed, 3 pending-rollback", becomes: "revision 1 from version 2"},
	{name: "failed-upgrade", versions: []string{"deployed", "failed"}, left: "version 1 deployed, 2 failed before it changed an object", becomes: "revision 1 from version 1"},
	{name: "failed-upgrades", versions: []string{"superseded", "deployed", "failed", "failed"}, left: "version 2 deployed, 3 and 4 failed", becomes: "revision 1 from version 2"},
	{
		name: "failed-partly", versions: []string{"deployed", "failed"}, left: "version 2 failed after it changed a ConfigMap", becomes: "the ConfigMap is set back",
		then: func(t *testing.T, i *installation) {
			i.edit(t, "operator-controller", "ConfigMap", "settings", `{"data":{"a":"of version 2"}}`)
		},
		changed: []string{"ConfigMap settings"}, check: has("ConfigMap", "settings", "b", "data", "a"),
	},
	{
		name: "failed-pods", versions: []string{"deployed", "failed"}, left: "version 2 failed after it changed a Deployment; its new pods do not start", becomes: "the Deployment is set back, and the pods of version 1 run on",
		then: func(t *testing.T, i *installation) {
			i.edit(t, "operator-controller", "Deployment", "operator", `{"spec":{"template":{"spec":{"$setElementOrder/containers":[{"name":"manager"}],"containers":[{"name":"manager","image":"example.org/operator:does-not-exist"}]}}}}`)
		},
		changed: []string{"Deployment operator"}, check: func(t *testing.T, i *installation) { i.image(t, "example.org/operator:1.0") },
	},
	{
		name: "failed-object", versions: []string{"deployed", "failed"}, left: "version 2 failed after it made an object of its own", becomes: "that object is left alone",
		then: func(t *testing.T, i *installation) {
			i.create(t, i.manifests(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: of-version-2}, data: {a: b}}"))
		},
		check: has("ConfigMap", "of-version-2", "b", "data", "a"),
	},
	{
		name: "older-labels", left: "an older release, which does not say its bundle", becomes: "the bundle is that of `status.install`",
		install: func(t *testing.T, i *installation) {
			i.labels = map[string]string{}
			i.ce.Status.Install = &olmv1.InstallStatus{Bundle: olmv1.BundleMetadata{Name: "demo.v1.0.0", Version: "1.0.0"}}
			if err := admin.Status().Update(t.Context(), i.ce); err != nil {
				t.Fatal(err)
			}
			i.create(t, i.objects)
			i.release(t, 1, "deployed", 1, i.objects)
		},
	},
}

// edits are what users and other controllers have changed.
var edits = []migration{
	{
		name: "edited-value", left: "a value of a ConfigMap changed by hand", becomes: "it is set back",
		then: func(t *testing.T, i *installation) {
			i.edit(t, "kubectl-edit", "ConfigMap", "settings", `{"data":{"a":"by hand"}}`)
		},
		changed: []string{"ConfigMap settings"}, check: has("ConfigMap", "settings", "b", "data", "a"),
	},
	{
		name: "added-value", left: "a key, a label and an annotation added by hand", becomes: "they stay",
		then: func(t *testing.T, i *installation) {
			i.edit(t, "kubectl-edit", "ConfigMap", "settings", `{"metadata":{"labels":{"team":"a"},"annotations":{"note":"c"}},"data":{"mine":"d"}}`)
		},
		check: has("ConfigMap", "settings", "d", "data", "mine"),
	},
	{
		name: "no-owner-labels", left: "OLM's labels taken off by hand", becomes: "they are set again",
		then: func(t *testing.T, i *installation) {
			i.edit(t, "kubectl-label", "ConfigMap", "settings", `{"metadata":{"labels":{"olm.operatorframework.io/owner-name":null}}}`)
		},
		changed: []string{"ConfigMap settings"}, check: has("ConfigMap", "settings", "no-owner-labels", "metadata", "labels", olmv1.LabelOwnerName),
	},
	{
		name: "no-owner", left: "the owner reference taken off by hand", becomes: "adopted",
		then: func(t *testing.T, i *installation) {
			i.edit(t, "kubectl-edit", "Deployment", "operator", `{"metadata":{"ownerReferences":null}}`)
		},
	},
	{
		name: "edited-image", left: "the image of a Deployment changed by hand", becomes: "it stays until another version is installed",
		then: func(t *testing.T, i *installation) {
			i.edit(t, "kubectl-set", "Deployment", "operator", `{"spec":{"template":{"spec":{"containers":[{"name":"manager","image":"example.org/operator:patched"}]}}}}`)
		},
		check: func(t *testing.T, i *installation) { i.image(t, "example.org/operator:patched") },
	},
	{
		name: "edited-arguments", left: "arguments of a Deployment changed, and a variable taken out, by hand", becomes: "they stay so until another version is installed",
		then: func(t *testing.T, i *installation) {
			i.edit(t, "kubectl-edit", "Deployment", "operator", `{"spec":{"template":{"spec":{"containers":[{"name":"manager","args":["--verbose"],"env":[{"name":"MODE","$patch":"delete"}]}]}}}}`)
		},
	},
	{
		name: "edited-everything", left: "more than 15 fields of the pods changed by hand", becomes: "the whole template stays until another version is installed",
		more: "---\n" + variables("of-version-1"),
		then: func(t *testing.T, i *installation) {
			var patched []string
			for n := range 20 {
				patched = append(patched, fmt.Sprintf(`{"name":"V%d","value":"by hand"}`, n))
			}
			i.edit(t, "kubectl-edit", "Deployment", "variables", `{"spec":{"template":{"spec":{"containers":[{"name":"manager","env":[`+strings.Join(patched, ",")+`]}]}}}}`)
		},
	},
	{
		name: "edited-replicas", left: "a Deployment scaled by hand", becomes: "its replicas stay until another version is installed",
		then: func(t *testing.T, i *installation) {
			i.edit(t, "kubectl-scale", "Deployment", "operator", `{"spec":{"replicas":3}}`)
		},
		check: has("Deployment", "operator", "3", "spec", "replicas"),
	},
	{
		name: "scaled", left: "a Deployment that a HorizontalPodAutoscaler has scaled", becomes: "its replicas are left to the autoscaler",
		then: func(t *testing.T, i *installation) {
			scaler := i.manifests(t, "{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: scaler}, spec: {maxReplicas: 5, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: operator}}}")[0]
			if err := admin.Create(t.Context(), scaler); err != nil {
				t.Fatal(err)
			}
			i.edit(t, "kube-controller-manager", "Deployment", "operator", `{"spec":{"replicas":2}}`)
		},
		check: has("Deployment", "operator", "2", "spec", "replicas"),
	},
	{
		name: "restarted", left: "pods restarted with `kubectl rollout restart`", becomes: "the annotation stays",
		then: func(t *testing.T, i *installation) {
			i.edit(t, "kubectl-rollout", "Deployment", "operator", `{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"now"}}}}}`)
		},
		check: has("Deployment", "operator", "now", "spec", "template", "metadata", "annotations", "kubectl.kubernetes.io/restartedAt"),
	},
	{
		name: "sidecar", left: "a container added by hand", becomes: "it stays",
		then: func(t *testing.T, i *installation) {
			i.edit(t, "kubectl-edit", "Deployment", "operator", `{"spec":{"template":{"spec":{"containers":[{"name":"sidecar","image":"example.org/sidecar:1"}]}}}}`)
		},
	},
}

// losses are objects that users have deleted.
var losses = []migration{
	{name: "no-configmap", left: "a ConfigMap deleted by hand", becomes: "it is created again", then: deleted("ConfigMap", "settings"), missing: []string{"ConfigMap settings"}},
	{name: "no-account", left: "a ServiceAccount deleted by hand", becomes: "it is created again", then: deleted("ServiceAccount", "operator"), missing: []string{"ServiceAccount operator"}},
	{name: "no-role", left: "a ClusterRole deleted by hand", becomes: "it is created again", then: deleted("ClusterRole", "no-role"), missing: []string{"ClusterRole no-role"}},
	{name: "no-service", left: "a Service deleted by hand", becomes: "it is created again", then: deleted("Service", "operator"), missing: []string{"Service operator"}},
	{name: "no-deployment", left: "a Deployment deleted by hand", becomes: "it is created again, with new pods", then: deleted("Deployment", "operator"), missing: []string{"Deployment operator"}},
	{
		name: "no-job", left: "a Job that has run and is gone", becomes: "it is left out, and does not run again",
		more: "---\n" + job, then: deleted("Job", "once"),
		check: func(t *testing.T, i *installation) {
			if _, found := i.read(t, "Job", "once"); found {
				t.Error("the Job runs again")
			}
		},
	},
}

// extras are kinds of objects, and names.
var extras = []migration{
	{name: "job", left: "a Job that exists", becomes: "adopted, and does not run again", more: "---\n" + job},
	{
		name: "custom-resources", left: "a CustomResourceDefinition with custom resources of users", becomes: "the resources stay as they are", more: "---\n" + things,
		then: func(t *testing.T, i *installation) {
			thing := i.manifests(t, "{apiVersion: custom-resources.example.org/v1, kind: Thing, metadata: {name: mine}, spec: {a: b}}")[0]
			thing.SetOwnerReferences(nil)
			eventually(t, "the definition is served", func() error { return admin.Create(t.Context(), thing.DeepCopy()) })
		},
		check: func(t *testing.T, i *installation) {
			if list := i.things(t); len(list) != 1 || list[0].GetGeneration() != 1 {
				t.Errorf("of the custom resources there are %v", list)
			}
		},
	},
	{
		name: "statefulset", left: "a StatefulSet, a DaemonSet and policies", becomes: "revision 1",
		more: `---
{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: store}, spec: {replicas: 2, serviceName: operator, selector: {matchLabels: {app: store}}, template: {metadata: {labels: {app: store}}, spec: {containers: [{name: a, image: "example.org/store:1"}]}}}}
---
{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: agent}, spec: {selector: {matchLabels: {app: agent}}, template: {metadata: {labels: {app: agent}}, spec: {containers: [{name: a, image: "example.org/agent:1"}]}}}}
---
{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: all}, spec: {podSelector: {}, policyTypes: [Ingress]}}
---
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: one}, spec: {minAvailable: 1, selector: {matchLabels: {app: store}}}}
---
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: NAME}, value: 10, description: a}`,
	},
	{
		name: "webhook", left: "a webhook configuration whose CA another controller has set", becomes: "the CA stays", more: "---\n" + webhook,
		then: func(t *testing.T, i *installation) {
			i.edit(t, "cainjector", "ValidatingWebhookConfiguration", "webhook", fmt.Sprintf(`{"webhooks":[{"name":"webhook.example.org","clientConfig":{"caBundle":%q}}]}`, authority()))
		},
		check: func(t *testing.T, i *installation) {
			configuration, _ := i.read(t, "ValidatingWebhookConfiguration", "webhook")
			if text := fmt.Sprint(configuration.Object["webhooks"]); !strings.Contains(text, authority()) {
				t.Errorf("the CA is gone: %.300s", text)
			}
		},
	},
	{name: "large", left: "a release of 120 objects in several Secrets", becomes: "revision 1", more: many(113), parts: 4},
	{name: "with.dots." + strings.Repeat("a", 30), left: "a ClusterExtension whose name has 40 characters and dots", becomes: "revision 1"},
	{
		name: "finalizers", left: "finalizers of OLM on the ClusterExtension", becomes: "they stay until it is deleted, and go then",
		then: func(t *testing.T, i *installation) {
			before := i.ce.DeepCopy()
			i.ce.Finalizers = []string{"olm.operatorframework.io/cleanup-unpack-cache", "olm.operatorframework.io/cleanup-contentmanager-cache"}
			if err := admin.Patch(t.Context(), i.ce, client.MergeFrom(before)); err != nil {
				t.Fatal(err)
			}
		},
	},
}

// newerRuntime are installations of OLM's newer runtime.
var newerRuntime = []migration{
	{
		name: "object-set", left: "a ClusterObjectSet that has succeeded", becomes: "revision 1",
		install: func(t *testing.T, i *installation) { i.objectSet(t, "ClusterObjectSet", 1, true, false, i.objects) },
	},
	{
		name: "object-set-secrets", left: "a ClusterObjectSet whose objects stand in Secrets, some compressed", becomes: "revision 1",
		install: func(t *testing.T, i *installation) { i.objectSet(t, "ClusterObjectSet", 1, true, true, i.objects) },
	},
	{
		name: "extension-revision", left: "a ClusterExtensionRevision, as the kind was called before", becomes: "revision 1",
		install: func(t *testing.T, i *installation) {
			i.objectSet(t, "ClusterExtensionRevision", 1, true, false, i.objects)
		},
	},
	{
		name: "object-set-rolling", left: "ClusterObjectSet 1 has succeeded, 2 is rolling out and has changed a ConfigMap", becomes: "revision 1 from set 1; the ConfigMap is set back",
		install: func(t *testing.T, i *installation) {
			i.objectSet(t, "ClusterObjectSet", 1, true, false, i.objects)
			newer := i.manifests(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {a: of version 2, obsolete: x}}")
			i.objectSet(t, "ClusterObjectSet", 2, false, false, newer)
		},
		changed: []string{"ConfigMap settings"}, check: has("ConfigMap", "settings", "b", "data", "a"),
	},
	{
		name: "object-set-release", left: "a ClusterObjectSet that OLM has made from a release", becomes: "revision 1 from the set",
		install: func(t *testing.T, i *installation) {
			i.create(t, i.objects)
			i.release(t, 1, "deployed", 1, i.objects)
			for _, object := range i.objects {
				free := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"ownerReferences":null}}`))
				if err := admin.Patch(t.Context(), object.DeepCopy(), free, client.FieldOwner("operator-controller")); err != nil {
					t.Fatal(err)
				}
			}
			i.objectSet(t, "ClusterObjectSet", 1, true, false, i.objects)
		},
	},
	{
		name: "object-set-edited", left: "the same, with the image of a Deployment changed by hand", becomes: "the image stays until another version is installed",
		install: func(t *testing.T, i *installation) { i.objectSet(t, "ClusterObjectSet", 1, true, false, i.objects) },
		then: func(t *testing.T, i *installation) {
			i.edit(t, "kubectl-set", "Deployment", "operator", `{"spec":{"template":{"spec":{"containers":[{"name":"manager","image":"example.org/operator:patched"}]}}}}`)
		},
		check: func(t *testing.T, i *installation) { i.image(t, "example.org/operator:patched") },
	},
}

// things is a definition of a group that is the ClusterExtension's.
const things = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: things.NAME.example.org}, spec: {group: NAME.example.org, scope: Namespaced, names: {kind: Thing, plural: things, singular: thing, listKind: ThingList}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}`

const job = `{apiVersion: batch/v1, kind: Job, metadata: {name: once}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: "example.org/once:1"}]}}}}`

// variables is a Deployment with many variables.
func variables(value string) string {
	var env []string
	for n := range 20 {
		env = append(env, fmt.Sprintf("{name: V%d, value: %s}", n, value))
	}
	return `{apiVersion: apps/v1, kind: Deployment, metadata: {name: variables}, spec: {replicas: 1, selector: {matchLabels: {app: variables}}, template: {metadata: {labels: {app: variables}}, spec: {containers: [{name: manager, image: "example.org/operator:1.0", env: [` + strings.Join(env, ", ") + `]}]}}}}`
}

// many are so many ConfigMaps.
func many(count int) string {
	var all []string
	for n := range count {
		all = append(all, fmt.Sprintf("---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: many-%d}, data: {a: %q}}", n, strings.Repeat("a", 2000)))
	}
	return strings.Join(all, "\n")
}

const webhook = `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: NAME}, webhooks: [{name: NAME.example.org, admissionReviewVersions: [v1], sideEffects: None, failurePolicy: Ignore, rules: [{apiGroups: [NAME.example.org], apiVersions: [v1], resources: ["*"], operations: [CREATE]}], clientConfig: {service: {namespace: default, name: operator}}}]}`

// authority is a CA, as a webhook configuration has it.
func authority() string { return base64.StdEncoding.EncodeToString(cluster.Config().CAData) }

// kinds are those that rows name.
var kinds = map[string]schema.GroupVersion{
	"Deployment": {Group: "apps", Version: "v1"}, "Job": {Group: "batch", Version: "v1"}, "ClusterRole": {Group: "rbac.authorization.k8s.io", Version: "v1"},
	"CustomResourceDefinition": {Group: "apiextensions.k8s.io", Version: "v1"}, "ValidatingWebhookConfiguration": {Group: "admissionregistration.k8s.io", Version: "v1"},
}

// named is an object of the installation without content.
func (i *installation) named(kind, name string) *unstructured.Unstructured {
	version, ok := kinds[kind]
	if !ok {
		version = schema.GroupVersion{Version: "v1"}
	}
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(version.WithKind(kind))
	o.SetName(name)
	if !strings.Contains(clusterScoped, " "+kind+" ") {
		o.SetNamespace(i.ce.Spec.Namespace)
	}
	return o
}

// edit changes an object as a manager.
func (i *installation) edit(t *testing.T, manager, kind, name, patch string) {
	t.Helper()
	if err := admin.Patch(t.Context(), i.named(kind, name), client.RawPatch(types.StrategicMergePatchType, []byte(patch)), client.FieldOwner(manager)); err != nil {
		t.Fatal(err)
	}
}

// read is an object as it is, and whether it exists.
func (i *installation) read(t *testing.T, kind, name string) (*unstructured.Unstructured, bool) {
	t.Helper()
	o := i.named(kind, name)
	err := admin.Get(t.Context(), client.ObjectKeyFromObject(o), o)
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return o, err == nil
}

// image checks that of the operator.
func (i *installation) image(t *testing.T, want string) {
	t.Helper()
	deployment, _ := i.read(t, "Deployment", "operator")
	containers, _, _ := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
	if got := fmt.Sprint(containers); !strings.Contains(got, want) {
		t.Errorf("the containers are %s, want image %s", got, want)
	}
}

// things are the custom resources.
func (i *installation) things(t *testing.T) []unstructured.Unstructured {
	t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: i.ce.Name + ".example.org", Version: "v1", Kind: "ThingList"})
	if err := admin.List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// has checks a field of an object.
func has(kind, name, want string, path ...string) func(*testing.T, *installation) {
	return func(t *testing.T, i *installation) {
		t.Helper()
		o, _ := i.read(t, kind, name)
		if value, _, _ := unstructured.NestedFieldNoCopy(o.Object, path...); fmt.Sprint(value) != want {
			t.Errorf("of %s %s %v is %v, want %s", kind, name, path, value, want)
		}
	}
}

// deleted deletes an object, and waits until it is gone.
func deleted(kind, name string) func(*testing.T, *installation) {
	return func(t *testing.T, i *installation) {
		t.Helper()
		if err := admin.Delete(t.Context(), i.named(kind, name), client.PropagationPolicy("Background")); err != nil {
			t.Fatal(err)
		}
	}
}
