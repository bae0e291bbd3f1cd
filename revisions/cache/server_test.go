// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"fmt"
	goruntime "runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	kubewatch "k8s.io/apimachinery/pkg/watch"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	kubetesting "k8s.io/client-go/testing"

	"github.com/strata-run/strata/revisions"
)

const label = "strata.run/package"

var (
	configMaps  = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	deployments = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	namespaces  = schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}
)

// server answers lists and watches of three kinds, of labelled objects only, as an
// API server does: a watch tells of what comes after the resourceVersion that it
// names.
type server struct {
	mu      sync.Mutex
	version int
	objects map[schema.GroupVersionResource]map[string]*unstructured.Unstructured
	history []change
	watches []*watcher
	refused map[schema.GroupVersionResource]error
	// late keeps the watches of kinds, but not those of single objects, from being sent
	// anything.
	late bool
	// held keeps lists from being answered until it is closed.
	held chan struct{}
}

type change struct {
	version  int
	resource schema.GroupVersionResource
	event    kubewatch.Event
}

type watcher struct {
	resource     schema.GroupVersionResource
	metadataOnly bool
	// name is that of the one object that is watched, labelled or not; empty for all
	// that are labelled.
	name string
	fake *kubewatch.RaceFreeFakeWatcher
}

func resourceOf(gvk schema.GroupVersionKind) schema.GroupVersionResource {
	resource, _ := meta.UnsafeGuessKindToResource(gvk)
	return resource
}

// put creates or changes an object, and returns its resourceVersion.
func (s *server) put(object *unstructured.Unstructured) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	resource := resourceOf(object.GroupVersionKind())
	if s.objects[resource] == nil {
		s.objects[resource] = map[string]*unstructured.Unstructured{}
	}
	key := object.GetNamespace() + "/" + object.GetName()
	before := s.objects[resource][key]
	object = object.DeepCopy()
	s.version++
	object.SetResourceVersion(strconv.Itoa(s.version))
	s.objects[resource][key] = object
	if before == nil {
		s.tellNamed(resource, kubewatch.Added, object)
	} else {
		s.tellNamed(resource, kubewatch.Modified, object)
	}
	was := before != nil && before.GetLabels()[label] != ""
	is := object.GetLabels()[label] != ""
	switch {
	case was && is:
		s.tell(resource, kubewatch.Modified, object)
	case is:
		s.tell(resource, kubewatch.Added, object)
	case was:
		before = before.DeepCopy()
		before.SetResourceVersion(strconv.Itoa(s.version))
		s.tell(resource, kubewatch.Deleted, before)
	}
	return object.GetResourceVersion()
}

// delay keeps the watches of kinds from being sent anything from now on.
func (s *server) delay() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.late = true
}

// advance lets other kinds take resourceVersions up to the one given.
func (s *server) advance(version int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version = version
}

func (s *server) remove(object *unstructured.Unstructured) {
	s.mu.Lock()
	defer s.mu.Unlock()
	resource := resourceOf(object.GroupVersionKind())
	key := object.GetNamespace() + "/" + object.GetName()
	last := s.objects[resource][key].DeepCopy()
	delete(s.objects[resource], key)
	s.version++
	last.SetResourceVersion(strconv.Itoa(s.version))
	s.tellNamed(resource, kubewatch.Deleted, last)
	if last.GetLabels()[label] != "" {
		s.tell(resource, kubewatch.Deleted, last)
	}
}

// tellNamed tells those who watch one object alone.
func (s *server) tellNamed(resource schema.GroupVersionResource, kind kubewatch.EventType, object *unstructured.Unstructured) {
	for _, w := range s.watches {
		if w.resource == resource && w.name == object.GetName() && !w.fake.IsStopped() {
			w.send(kubewatch.Event{Type: kind, Object: object})
		}
	}
}

func (s *server) tell(resource schema.GroupVersionResource, kind kubewatch.EventType, object *unstructured.Unstructured) {
	event := kubewatch.Event{Type: kind, Object: object}
	s.history = append(s.history, change{version: s.version, resource: resource, event: event})
	for _, w := range s.watches {
		if w.resource == resource && w.name == "" && !w.fake.IsStopped() && !s.late {
			w.send(event)
		}
	}
}

func (w *watcher) send(event kubewatch.Event) {
	object, ok := event.Object.DeepCopyObject().(*unstructured.Unstructured)
	if !ok {
		return
	}
	if w.metadataOnly {
		w.fake.Action(event.Type, metadataOf(object))
		return
	}
	w.fake.Action(event.Type, object)
}

func metadataOf(object *unstructured.Unstructured) *metav1.PartialObjectMetadata {
	partial := &metav1.PartialObjectMetadata{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, partial); err != nil {
		return nil
	}
	partial.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("PartialObjectMetadata"))
	return partial
}

// refuse answers lists of a kind with an error from now on, nil to stop that.
func (s *server) refuse(gvk schema.GroupVersionKind, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused[resourceOf(gvk)] = err
}

// watching is how many watches are open.
func (s *server) watching() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(slices.DeleteFunc(slices.Clone(s.watches), func(w *watcher) bool { return w.fake.IsStopped() }))
}

func (s *server) list(action kubetesting.Action, metadataOnly bool) (bool, runtime.Object, error) {
	if s.held != nil {
		<-s.held
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.refused[action.GetResource()]; err != nil {
		return true, nil, err
	}
	whole := &unstructured.UnstructuredList{}
	whole.SetAPIVersion("v1")
	whole.SetKind("List")
	whole.SetResourceVersion(strconv.Itoa(s.version))
	partial := &metav1.List{ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(s.version)}}
	name := ""
	if details, ok := action.(kubetesting.ListAction); ok {
		name, _ = details.GetListRestrictions().Fields.RequiresExactMatch("metadata.name")
	}
	for _, object := range s.objects[action.GetResource()] {
		if name != "" && object.GetName() != name || name == "" && object.GetLabels()[label] == "" {
			continue
		}
		whole.Items = append(whole.Items, *object.DeepCopy())
		partial.Items = append(partial.Items, runtime.RawExtension{Object: metadataOf(object)})
	}
	if metadataOnly {
		return true, partial, nil
	}
	return true, whole, nil
}

func (s *server) watch(action kubetesting.Action, metadataOnly bool) (bool, kubewatch.Interface, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &watcher{resource: action.GetResource(), metadataOnly: metadataOnly, fake: kubewatch.NewRaceFreeFake()}
	s.watches = append(s.watches, w)
	if details, ok := action.(kubetesting.WatchAction); ok {
		w.name, _ = details.GetWatchRestrictions().Fields.RequiresExactMatch("metadata.name")
	}
	if w.name != "" {
		return true, w.fake, nil // the tests change nothing between list and watch
	}
	from := 0
	if details, ok := action.(kubetesting.WatchActionImpl); ok {
		from, _ = strconv.Atoi(details.ListOptions.ResourceVersion)
	}
	for _, c := range s.history {
		if c.resource == w.resource && c.version > from {
			w.send(c.event)
		}
	}
	return true, w.fake, nil
}

// fixture is a set of informers on a server.
type fixture struct {
	t         *testing.T
	server    *server
	informers *Informers
	notified  chan string
}

// newFixture is a fixture whose informers end with the test, and have left no
// goroutine behind then.
func newFixture(t *testing.T) *fixture {
	t.Helper()
	before := goruntime.NumGoroutine()
	s := &server{version: 100, objects: map[schema.GroupVersionResource]map[string]*unstructured.Unstructured{}, refused: map[schema.GroupVersionResource]error{}}
	kinds := map[schema.GroupVersionResource]string{}
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, gvk := range []schema.GroupVersionKind{configMaps, deployments, namespaces} {
		kinds[resourceOf(gvk)] = gvk.Kind + "List"
		scope := meta.RESTScopeNamespace
		if gvk == namespaces {
			scope = meta.RESTScopeRoot
		}
		mapper.Add(gvk, scope)
	}
	whole := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds)
	whole.PrependReactor("list", "*", func(a kubetesting.Action) (bool, runtime.Object, error) { return s.list(a, false) })
	whole.PrependWatchReactor("*", func(a kubetesting.Action) (bool, kubewatch.Interface, error) { return s.watch(a, false) })
	partial := metadatafake.NewSimpleMetadataClient(metadatafake.NewTestScheme())
	partial.PrependReactor("list", "*", func(a kubetesting.Action) (bool, runtime.Object, error) { return s.list(a, true) })
	partial.PrependWatchReactor("*", func(a kubetesting.Action) (bool, kubewatch.Interface, error) { return s.watch(a, true) })
	f := &fixture{t: t, server: s, notified: make(chan string, 100)}
	f.informers = New(t.Context(), Config{
		Dynamic: whole, Metadata: partial, Mapper: mapper, Label: label, Notify: func(value string) { f.notified <- value },
	})
	t.Cleanup(func() {
		f.eventually("no goroutine is left behind", func() bool { return goruntime.NumGoroutine() <= before })
	})
	return f
}

// ensure watches the kinds for a user.
func (f *fixture) ensure(user string, kinds ...revisions.Kind) {
	f.t.Helper()
	if err := f.informers.Ensure(f.t.Context(), user, kinds); err != nil {
		f.t.Fatal(err)
	}
}

// value is what the informers know of a ConfigMap: its value and UID, empty when
// they know of none.
func (f *fixture) value(name string) string {
	f.t.Helper()
	object, err := f.informers.Get(configMaps, types.NamespacedName{Namespace: "app", Name: name})
	if err != nil {
		f.t.Fatal(err)
	}
	if object == nil {
		return ""
	}
	value, _, _ := unstructured.NestedString(object.Object, "data", "value")
	return value + " " + string(object.GetUID())
}

// patience is for a machine that has much else to do.
const patience = time.Minute

// eventually waits for a condition.
func (f *fixture) eventually(what string, is func() bool) {
	f.t.Helper()
	err := wait.PollUntilContextTimeout(context.Background(), time.Millisecond, patience, true, func(context.Context) (bool, error) { return is(), nil })
	if err != nil {
		f.t.Fatalf("waiting until %s: %v", what, err)
	}
}

// expect waits for the notifications given, in order, and for no other before them.
func (f *fixture) expect(reason string, names ...string) {
	f.t.Helper()
	for _, name := range names {
		select {
		case got := <-f.notified:
			if got != name {
				f.t.Errorf("%s: %q was notified, want %q", reason, got, name)
			}
		case <-time.After(patience):
			f.t.Fatalf("%s: %q was not notified", reason, name)
		}
	}
}

// sentinel makes an event that is notified after all that came before.
func (f *fixture) sentinel(reason string) {
	f.t.Helper()
	f.server.put(configMap("sentinel", fmt.Sprint(time.Now().UnixNano()), "s", "sentinel"))
	f.expect(reason, "sentinel")
}

func configMap(name, value, uid, pkg string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{
			"name": name, "namespace": "app", "uid": uid,
			"managedFields": []any{map[string]any{
				"manager": "strata", "operation": "Apply", "apiVersion": "v1", "time": "2026-01-01T00:00:00Z",
				"fieldsType": "FieldsV1", "fieldsV1": map[string]any{"f:data": map[string]any{"f:value": map[string]any{}}},
			}},
		},
		"data": map[string]any{"value": value},
	}}
	if pkg != "" {
		object.SetLabels(map[string]string{label: pkg})
	}
	return object
}

// own is the state that a write of ours has returned.
func own(object *unstructured.Unstructured, version string) *unstructured.Unstructured {
	object = object.DeepCopy()
	object.SetResourceVersion(version)
	revisions.Trim(object, revisions.DefaultFieldOwner)
	return object
}

var errForbidden = apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", fmt.Errorf("no rights"))
