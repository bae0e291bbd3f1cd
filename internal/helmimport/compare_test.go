// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package helmimport

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// manifest is an object written as YAML.
func manifest(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = object.UnmarshalJSON(raw)
	}
	if err != nil {
		t.Fatal(err)
	}
	return object
}

func TestDifferences(t *testing.T) {
	const head = "apiVersion: v1\nkind: ConfigMap\n"
	cases := map[string]struct {
		reason        string
		before, after string
		want          []string
	}{
		"Same": {reason: "what every write changes is no difference",
			before: head + "metadata: {name: a, uid: x, generation: 1, resourceVersion: '1', managedFields: [{manager: a}]}\nstatus: {a: b}\n",
			after:  head + "metadata: {name: a, uid: y, generation: 2, resourceVersion: '2', managedFields: []}\n"},
		"Value":    {reason: "a value", before: head + "data: {a: x, b: y}\n", after: head + "data: {a: x, b: z}\n", want: []string{".data.b"}},
		"Added":    {reason: "a field that was removed comes back", before: head, after: head + "spec: {replicas: 1}\n", want: []string{".spec"}},
		"Dots":     {reason: "a key with dots stands in quotes", before: head + "data: {a.b: x}\n", after: head + "data: {a.b: y}\n", want: []string{`.data["a.b"]`}},
		"Item":     {reason: "an item of a list of the same length", before: head + "list: [{a: 1}, {a: 2}]\n", after: head + "list: [{a: 1}, {a: 3}]\n", want: []string{".list[1].a"}},
		"Length":   {reason: "of lists of other lengths the item that is new", before: head + "list: [1]\n", after: head + "list: [1, 2]\n", want: []string{".list[1]"}},
		"Several":  {reason: "paths are sorted", before: head + "b: 1\na: 1\n", after: head + "b: 2\na: 2\n", want: []string{".a", ".b"}},
		"Metadata": {reason: "labels count", before: head + "metadata: {labels: {a: x}}\n", after: head + "metadata: {labels: {a: y}}\n", want: []string{".metadata.labels.a"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := differences(manifest(t, tc.before), manifest(t, tc.after))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestObject_Judge(t *testing.T) {
	const head = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n"
	cases := map[string]struct {
		reason        string
		kind          string
		before, after string
		action        Action
		pods          bool
	}{
		"Same":     {reason: "nothing differs", before: "spec: {replicas: 1}", after: "spec: {replicas: 1}", action: ActionAdopt},
		"Replicas": {reason: "replicas start or stop pods", before: "spec: {replicas: 3}", after: "spec: {replicas: 1}", action: ActionUpdate, pods: true},
		"Template": {reason: "the template restarts them", before: "spec: {template: {spec: {a: 1}}}", after: "spec: {template: {spec: {a: 2}}}", action: ActionUpdate, pods: true},
		"Other":    {reason: "other fields do not", before: "spec: {minReadySeconds: 1}", after: "spec: {minReadySeconds: 2}", action: ActionUpdate},
		"CronJob":  {reason: "a template of a CronJob counts for later runs", kind: "batch/v1 CronJob", before: "spec: {template: 1}", after: "spec: {template: 2}", action: ActionUpdate},
		"Pod":      {reason: "a pod is one", kind: "v1 Pod", before: "spec: {a: 1}", after: "spec: {a: 2}", action: ActionUpdate, pods: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before, after := manifest(t, head+tc.before), manifest(t, head+tc.after)
			if version, kind, ok := strings.Cut(tc.kind, " "); ok {
				before.SetAPIVersion(version)
				before.SetKind(kind)
				after.SetAPIVersion(version)
				after.SetKind(kind)
			}
			o := &Object{Manifest: after}
			o.judge(before, after)
			if o.Action != tc.action || o.Pods != tc.pods {
				t.Errorf("%s: got %s, pods %t, want %s, %t", tc.reason, o.Action, o.Pods, tc.action, tc.pods)
			}
		})
	}
}

func TestHolderOf(t *testing.T) {
	cases := map[string]struct{ reason, metadata, want string }{
		"Unmarked":     {reason: "the object has no marks", metadata: "{}"},
		"TheRelease":   {reason: "Helm's marks name this release", metadata: "{annotations: {meta.helm.sh/release-name: web, meta.helm.sh/release-namespace: shop}}"},
		"OtherRelease": {reason: "another release has it", metadata: "{annotations: {meta.helm.sh/release-name: web, meta.helm.sh/release-namespace: test}}", want: "of Helm release test/web"},
		"Package":      {reason: "a package retains it", metadata: "{labels: {strata.run/package: base}}", want: "of package base"},
		"Controller":   {reason: "a controller has it", metadata: "{ownerReferences: [{kind: Istio, name: default, controller: true}]}", want: "controlled by Istio default"},
		"Owner":        {reason: "an owner that does not control is no conflict", metadata: "{ownerReferences: [{kind: Istio, name: default}]}"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := otherOwnerOf(manifest(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: "+tc.metadata+"\n"), Release{Namespace: "shop", Name: "web"})
			if got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

func TestImporter_Place(t *testing.T) {
	brought := map[schema.GroupKind]bool{{Group: "a.b", Kind: "Local"}: true, {Group: "a.b", Kind: "Global"}: false, {Kind: "Secret"}: true}
	cases := map[string]struct{ reason, object, namespace, refused string }{
		"Default":      {reason: "Helm creates it in the release's namespace", object: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}", namespace: "shop"},
		"Own":          {reason: "its own namespace wins", object: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}", namespace: "b"},
		"Cluster":      {reason: "what has no namespace gets none", object: "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}"},
		"ClusterOwn":   {reason: "a namespace that it cannot have is dropped, as Helm does", object: "apiVersion: v1\nkind: Namespace\nmetadata: {name: a, namespace: b}"},
		"Brought":      {reason: "the release brings its kind", object: "apiVersion: a.b/v1\nkind: Local\nmetadata: {name: a}", namespace: "shop"},
		"BroughtWide":  {reason: "the release brings its kind, without namespaces", object: "apiVersion: a.b/v1\nkind: Global\nmetadata: {name: a}"},
		"Unknown":      {reason: "the kind is unknown", object: "apiVersion: a.b/v1\nkind: Other\nmetadata: {name: a}", refused: "does not serve (a.b/v1 Other)"},
		"OtherVersion": {reason: "the version is not served any more", object: "apiVersion: v0\nkind: Secret\nmetadata: {name: a}", refused: "does not serve (v0 Secret)"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := &Object{Manifest: manifest(t, tc.object)}
			cluster(t).place(o, "shop", brought)
			if tc.refused == "" && (o.Manifest.GetNamespace() != tc.namespace || o.Action != "") {
				t.Errorf("%s: got namespace %q and %s %s, want %q", tc.reason, o.Manifest.GetNamespace(), o.Action, o.Note, tc.namespace)
			}
			if tc.refused != "" && (o.Action != ActionRefuse || !strings.Contains(o.Note, tc.refused)) {
				t.Errorf("%s: got %s %q, want Refuse with %q", tc.reason, o.Action, o.Note, tc.refused)
			}
		})
	}
}
