// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/yaml"

	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
)

// set is a revision of OLM's newer runtime.
func set(t *testing.T, kind string, revision int, state, succeeded, objects string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	err := yaml.Unmarshal(fmt.Appendf(nil, `
apiVersion: olm.operatorframework.io/v1
kind: %s
metadata:
  name: demo-%d
  uid: %s-%d
  finalizers: [olm.operatorframework.io/teardown]
  labels: {olm.operatorframework.io/owner-name: demo}
  annotations: {olm.operatorframework.io/bundle-name: p.v%d, olm.operatorframework.io/bundle-version: %d.0.0}
  ownerReferences: [{apiVersion: olm.operatorframework.io/v1, kind: ClusterExtension, name: demo, uid: %s}]
spec: {lifecycleState: %s, revision: %d, phases: [{name: deploy, objects: [%s]}]}
status: {conditions: [{type: Succeeded, status: "%s", reason: a, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}]}
`, kind, revision, kind, revision, revision, revision, uid, state, revision, objects, succeeded), &o.Object)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

const (
	inline   = `{object: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: app}}}`
	referred = `{ref: {name: kept, namespace: olmv1-system, key: k}}`
)

// kept is the Secret that an object stands in.
func kept(change func(*corev1.Secret)) *corev1.Secret {
	immutable := true
	secret := &corev1.Secret{Type: objectDataType, Immutable: &immutable, Data: map[string][]byte{"k": []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`)}}
	secret.Namespace, secret.Name = "olmv1-system", "kept"
	change(secret)
	return secret
}

func TestSets(t *testing.T) {
	packed := &bytes.Buffer{}
	writer := gzip.NewWriter(packed)
	if _, err := writer.Write(bytes.Repeat([]byte(" "), objectLimit+1)); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	of := func(secret func(*corev1.Secret)) []client.Object {
		return []client.Object{set(t, "ClusterObjectSet", 1, "Active", "True", referred), kept(secret)}
	}
	for _, row := range []struct {
		name    string
		objects []client.Object
		want    string
	}{
		{name: "none", want: "nothing"},
		{name: "one", objects: []client.Object{set(t, "ClusterObjectSet", 1, "Active", "True", inline)}, want: "ClusterObjectSet demo-1 of OLM: p.v1"},
		{name: "as it was called before", objects: []client.Object{set(t, "ClusterExtensionRevision", 1, "Active", "True", inline)}, want: "ClusterExtensionRevision demo-1 of OLM: p.v1"},
		{name: "newest", objects: []client.Object{set(t, "ClusterObjectSet", 9, "Active", "True", inline), set(t, "ClusterObjectSet", 10, "Active", "True", inline)}, want: "ClusterObjectSet demo-10 of OLM: p.v10"},
		{name: "newest has not succeeded", objects: []client.Object{set(t, "ClusterObjectSet", 1, "Active", "True", inline), set(t, "ClusterObjectSet", 2, "Active", "False", inline)}, want: "ClusterObjectSet demo-1 of OLM: p.v1"},
		{name: "archived", objects: []client.Object{set(t, "ClusterObjectSet", 1, "Archived", "True", inline)}, want: "nothing"},
		{name: "of a ClusterExtension that has gone", objects: []client.Object{func() client.Object {
			o := set(t, "ClusterObjectSet", 1, "Active", "True", inline)
			o.SetOwnerReferences(nil)
			return o
		}()}, want: "nothing"},
		{name: "no objects", objects: []client.Object{set(t, "ClusterObjectSet", 1, "Active", "True", "")}, want: "ClusterObjectSet demo-1 has no objects"},
		{name: "object without name", objects: []client.Object{set(t, "ClusterObjectSet", 1, "Active", "True", "{object: {kind: ConfigMap}}")}, want: "has an object that cannot be read"},
		{name: "in a Secret", objects: of(func(*corev1.Secret) {}), want: "ClusterObjectSet demo-1 of OLM: p.v1"},
		{name: "Secret is missing", objects: of(func(s *corev1.Secret) { s.Name = "another" }), want: "names Secret olmv1-system/kept, which is missing"},
		{name: "Secret may change", objects: of(func(s *corev1.Secret) { s.Immutable = nil }), want: "names Secret olmv1-system/kept, which is not immutable"},
		{name: "Secret of another type", objects: of(func(s *corev1.Secret) { s.Type = "Opaque" }), want: `is of type "Opaque"`},
		{name: "Secret without the key", objects: of(func(s *corev1.Secret) { s.Data = nil }), want: "has no data.k"},
		{name: "broken gzip", objects: of(func(s *corev1.Secret) { s.Data["k"] = []byte{0x1f, 0x8b, 8, 0} }), want: "data.k is no gzip"},
		{name: "too large", objects: of(func(s *corev1.Secret) { s.Data["k"] = packed.Bytes() }), want: "inflates to more than"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := importedSet(t, row.objects); !strings.Contains(got, row.want) {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

// importedSet says what becomes of sets, and checks that those that were imported are released.
func importedSet(t *testing.T, objects []client.Object) string {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for _, of := range runtimes {
		scheme.AddKnownTypeWithName(olmv1.GroupVersion.WithKind(of.kind), &unstructured.Unstructured{})
		scheme.AddKnownTypeWithName(olmv1.GroupVersion.WithKind(of.kind+"List"), &unstructured.UnstructuredList{})
	}
	server := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
	i := &Importer{Live: server, Client: server, Defines: func(context.Context, string) bool { return true }}
	ce := extension()
	sets, err := i.sets(t.Context(), ce)
	if err != nil {
		t.Fatal(err)
	}
	from, found, err := i.fromSets(t.Context(), sets)
	if err != nil {
		return err.Error()
	}
	if !found {
		return "nothing"
	}
	if err := i.releaseSets(t.Context(), sets); err != nil {
		t.Fatal(err)
	}
	if sets, err = i.sets(t.Context(), ce); err != nil {
		t.Fatal(err)
	}
	for n := range sets {
		if len(sets[n].Finalizers) > 0 {
			t.Errorf("%s has the finalizers %v", sets[n].Name, sets[n].Finalizers)
		}
	}
	return from.description + ": " + identityOf(from.labels, ce).Name
}
