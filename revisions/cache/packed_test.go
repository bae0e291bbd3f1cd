// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-run/strata/revisions"
)

// What comes out is what went in, with the types that probes and decisions expect.
func TestPacked_Open(t *testing.T) {
	want := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": "a", "namespace": "app", "uid": "u1", "generation": int64(1) << 60, "labels": map[string]any{label: "web"}},
		"spec":     map[string]any{"replicas": int64(2), "weight": 0.5, "paused": false, "none": nil, "list": []any{}, "map": map[string]any{}},
	}}
	p, err := pack(want, label)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		got, err := p.open()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.Object, got.Object); diff != "" {
			t.Errorf("packed and opened, the object is another (-want +got):\n%s", diff)
		}
		runtime.GC()
	}
}

// An object that is in use is not decoded again.
func TestPacked_OpenShares(t *testing.T) {
	p, err := pack(configMap("a", "x", "u1", "web"), label)
	if err != nil {
		t.Fatal(err)
	}
	first, err := p.open()
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	second, err := p.open()
	if err != nil || first != second {
		t.Errorf("open = %p, %v, want %p, which is in use", second, err, first)
	}
	runtime.KeepAlive(first)
}

func TestPacked_Metadata(t *testing.T) {
	for name, object := range map[string]*unstructured.Unstructured{
		"Ours":          configMap("a", "x", "u1", "web"),
		"WithoutLabel":  configMap("a", "x", "u1", ""),
		"Escaped":       configMap("a", "x", "u<1>", "web"),
		"ClusterScoped": {Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "n", "resourceVersion": "7"}}},
	} {
		p, err := pack(object, label)
		if err != nil {
			t.Fatal(err)
		}
		got, err := meta.Accessor(p)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		read := func(m metav1.Object, value string) string {
			return fmt.Sprintf("%s/%s %s %s %s", m.GetNamespace(), m.GetName(), m.GetUID(), m.GetResourceVersion(), value)
		}
		if got, want := read(got, p.label.Value()), read(object, object.GetLabels()[label]); got != want {
			t.Errorf("%s: the metadata is %q, want %q", name, got, want)
		}
	}
}

// What the store keeps of an object without a body is less than a kilobyte. As a tree
// of maps it was three.
func TestPacked_Size(t *testing.T) {
	const number, budget = 2000, 750
	transform := New(t.Context(), Config{Label: label}).trim(configMaps)
	kept := make([]any, 0, number)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range number {
		object, err := transform(partial(i))
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, object)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if size := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / number; size > budget {
		t.Errorf("an object takes %d bytes, and may take %d", size, budget)
	}
	runtime.KeepAlive(kept)
}

// partial is what the API server tells of an object that one line of text describes.
func partial(i int) *metav1.PartialObjectMetadata {
	fields := `{"f:data":{"f:value":{}},"f:metadata":{"f:labels":{"f:` + label + `":{}},"f:ownerReferences":{"k:{\"uid\":\"00000000-0000-0000-0000-000000000000\"}":{}}}}`
	yes := true
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("some-object-%d", i), Namespace: "some-namespace", UID: types.UID(fmt.Sprintf("00000000-0000-0000-0000-%012d", i)),
		ResourceVersion: fmt.Sprint(i + 1), CreationTimestamp: metav1.Now(), Labels: map[string]string{label: "web", "app.kubernetes.io/name": "web"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "strata.run/v1alpha1", Kind: "Package", Name: "web", UID: "00000000-0000-0000-0000-000000000000", Controller: &yes}},
		ManagedFields: []metav1.ManagedFieldsEntry{{
			Manager: "strata", Operation: metav1.ManagedFieldsOperationApply, APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields),
		}},
	}}
}

// What our own write has returned is kept until the informer has it, and no longer:
// the object may never be asked for again.
func TestInformers_ForgetsOwnWrites(t *testing.T) {
	key := writtenKey{configMaps, types.NamespacedName{Namespace: "app", Name: "a"}}
	for name, tc := range map[string]struct {
		reason string
		kind   revisions.Kind
		first  bool
	}{
		"WrittenFirst":         {reason: "the answer to a write comes before the event", kind: wholeConfigMaps},
		"SeenFirst":            {reason: "the event comes before the answer", kind: wholeConfigMaps, first: true},
		"MetadataWrittenFirst": {reason: "the answer comes before the event of a kind without bodies", kind: metaConfigMaps},
		"MetadataSeenFirst":    {reason: "the event of a kind without bodies comes before the answer", kind: metaConfigMaps, first: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.ensure("web", tc.kind)
			object := configMap("a", "mine", "u1", "web")
			if tc.first {
				object.SetResourceVersion(f.server.put(object))
				f.expect("nothing was written yet, so it is news", "web")
				f.informers.Observe(own(object, object.GetResourceVersion()))
			} else {
				f.informers.Observe(own(object, "101"))
				f.server.put(object)
			}
			f.eventually("what was written is forgotten: "+tc.reason, func() bool {
				f.informers.lock.Lock()
				defer f.informers.lock.Unlock()
				return f.informers.written[key] == nil
			})
			got, err := f.informers.Get(configMaps, key.NamespacedName)
			if err != nil || got == nil || got.GetResourceVersion() != "101" {
				t.Errorf("Get = %v, %v, want what was written", got, err)
			}
		})
	}
}

// An event from before our write leaves what the write has returned in place.
func TestInformers_KeepsOwnWrites(t *testing.T) {
	f := newFixture(t)
	f.ensure("web", metaConfigMaps)
	f.informers.Observe(own(configMap("a", "mine", "u1", "web"), "105"))
	f.server.put(configMap("a", "older", "u1", "web")) // 101
	f.expect("an older state is news", "web")
	if got := f.value("a"); got != "mine u1" {
		t.Errorf("an event from before our write has made the state %q", got)
	}
}
