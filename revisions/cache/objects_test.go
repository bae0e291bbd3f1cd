// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var (
	secretKind = schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
	secrets    = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
)

type objectsFixture struct {
	*Objects

	metadata *metadatafake.FakeMetadataClient
	dynamic  *dynamicfake.FakeDynamicClient
	changed  chan struct{}
	// end ends the informers.
	end func()
}

func newObjectsFixture(t *testing.T) *objectsFixture {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(secretKind, meta.RESTScopeNamespace)
	mapper.Add(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, meta.RESTScopeNamespace)
	whole := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{resourceOf(configMaps): "ConfigMapList"})
	f := &objectsFixture{metadata: metadatafake.NewSimpleMetadataClient(scheme), dynamic: whole, changed: make(chan struct{}, 100)}
	ctx, end := context.WithCancel(t.Context())
	f.end = end
	f.Objects = New(ctx, Config{Dynamic: f.dynamic, Metadata: f.metadata, Mapper: mapper}).Objects(func() { f.changed <- struct{}{} })
	return f
}

func secret(version string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "mesh", Name: "tls", ResourceVersion: version},
	}
}

// read gives the resourceVersion of the Secret, "" when there is none.
func (f *objectsFixture) read(t *testing.T) string {
	t.Helper()
	object := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}}
	err := f.Get(t.Context(), client.ObjectKey{Namespace: "mesh", Name: "tls"}, object)
	if apierrors.IsNotFound(err) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	if object.Kind != "Secret" {
		t.Errorf("its kind is lost: %v", object.TypeMeta)
	}
	return object.ResourceVersion
}

func (f *objectsFixture) await(t *testing.T, want string) {
	t.Helper()
	select {
	case <-f.changed:
	case <-time.After(time.Minute):
		t.Fatal("the change was not reported")
	}
	if got := f.read(t); got != want {
		t.Errorf("it is read as %q after that, want %q", got, want)
	}
}

func (f *objectsFixture) lists() int {
	n := 0
	for _, action := range f.metadata.Actions() {
		if action.GetVerb() == "list" {
			n++
		}
	}
	return n
}

// A missing object is found as soon as it exists, and read without further requests.
func TestObjects(t *testing.T) {
	f := newObjectsFixture(t)
	if got := f.read(t); got != "" {
		t.Fatalf("it is read as %q before it exists", got)
	}
	tracker := f.metadata.Tracker()
	if err := tracker.Create(secrets, secret("1"), "mesh"); err != nil {
		t.Fatal(err)
	}
	f.await(t, "1")
	if err := tracker.Update(secrets, secret("2"), "mesh"); err != nil {
		t.Fatal(err)
	}
	f.await(t, "2")
	if err := tracker.Delete(secrets, "mesh", "tls"); err != nil {
		t.Fatal(err)
	}
	f.await(t, "")
	if got := f.lists(); got != 1 {
		t.Errorf("it was listed %d times, want once", got)
	}
}

// What a watch begins with is no news.
func TestObjects_InitialStateIsNoNews(t *testing.T) {
	f := newObjectsFixture(t)
	if err := f.metadata.Tracker().Create(secrets, secret("1"), "mesh"); err != nil {
		t.Fatal(err)
	}
	if got := f.read(t); got != "1" {
		t.Errorf("it is read as %q", got)
	}
	select {
	case <-f.changed:
		t.Error("there is news of a change")
	case <-time.After(100 * time.Millisecond):
	}
}

// What is not read in a pass is not watched any longer.
func TestObjects_Passes(t *testing.T) {
	f := newObjectsFixture(t)
	for range 2 {
		f.Begin()
		f.read(t)
		f.End()
	}
	if got := f.lists(); got != 1 {
		t.Errorf("two passes have listed %d times, want once", got)
	}
	f.Begin()
	f.End()
	if len(f.watches) != 0 {
		t.Errorf("%d objects are watched that were not read", len(f.watches))
	}
	f.Begin()
	f.read(t)
	if got := f.lists(); got != 2 {
		t.Errorf("it was listed %d times, want once more after it was let go of", got)
	}
}

func TestObjects_Whole(t *testing.T) {
	f := newObjectsFixture(t)
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": "a", "name": "b"}, "data": map[string]any{"k": "v"},
	}}
	if err := f.dynamic.Tracker().Create(resourceOf(configMaps), object, "a"); err != nil {
		t.Fatal(err)
	}
	got := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
	if err := f.Get(t.Context(), client.ObjectKey{Namespace: "a", Name: "b"}, got); err != nil {
		t.Fatal(err)
	}
	if value, _, err := unstructured.NestedString(got.Object, "data", "k"); err != nil || value != "v" {
		t.Errorf("it is read as %v (%v)", got.Object, err)
	}
	if verbs := f.metadata.Actions(); len(verbs) != 0 {
		t.Errorf("its metadata were asked for, too: %v", verbs)
	}
}

func TestObjects_Errors(t *testing.T) {
	f := newObjectsFixture(t)
	unknown := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "example.com/v1", Kind: "Widget"}}
	if err := f.Get(t.Context(), client.ObjectKey{Name: "w"}, unknown); !meta.IsNoMatchError(err) {
		t.Errorf("a kind that is not served gives %v", err)
	}
	if err := f.metadata.Tracker().Create(secrets, secret("1"), "mesh"); err != nil {
		t.Fatal(err)
	}
	if err := f.Get(t.Context(), client.ObjectKey{Namespace: "mesh", Name: "tls"}, struct{ *metav1.PartialObjectMetadata }{secret("")}); err == nil || apierrors.IsNotFound(err) {
		t.Error("an object was read as what it is not watched as")
	}
	if err := f.List(t.Context(), &metav1.PartialObjectMetadataList{}); err == nil {
		t.Error("objects were listed")
	}
	f.end()
	if err := f.Get(context.Background(), client.ObjectKey{Namespace: "mesh", Name: "other"}, secret("")); err == nil || apierrors.IsNotFound(err) {
		t.Errorf("after the end it gives %v", err)
	}
}
