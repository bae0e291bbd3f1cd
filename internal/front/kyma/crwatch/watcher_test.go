// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package crwatch

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/internal/front/kyma/servicemesh"
	"github.com/strata-run/strata/revisions/cache"
)

const module = "kyma-project.io/module"

var (
	routeKind = schema.GroupKind{Group: "networking.istio.io", Kind: "VirtualService"}
	kinds     = []servicemesh.BlockingKind{
		{GroupKind: routeKind, Resource: "virtualservices"},
		{GroupKind: schema.GroupKind{Group: "networking.istio.io", Kind: "ProxyConfig"}, Resource: "proxyconfigs"},
	}
	routes = schema.GroupVersionResource{Group: "networking.istio.io", Version: "v1beta1", Resource: "virtualservices"}
)

// definitions are the names of those that are in place.
type definitions struct {
	client.Reader

	names []string
	err   error
}

func (d *definitions) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	if d.err != nil {
		return d.err
	}
	if !slices.Contains(d.names, key.Name) {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	return nil
}

type fixture struct {
	*Watcher

	definitions *definitions
	metadata    *metadatafake.FakeMetadataClient
	changed     chan struct{}
	// end ends the informers.
	end func()
}

// newFixture has routes defined, and versions of their group; none stands for discovery that fails.
func newFixture(t *testing.T, versions ...string) *fixture {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	f := &fixture{
		definitions: &definitions{names: []string{"virtualservices.networking.istio.io"}},
		metadata:    metadatafake.NewSimpleMetadataClient(scheme), changed: make(chan struct{}, 100),
	}
	ctx, end := context.WithCancel(t.Context())
	f.end = end
	f.Watcher = New(Config{
		Kinds: kinds, Definitions: f.definitions, Metadata: f.metadata, Label: module,
		Objects: cache.New(ctx, cache.Config{Metadata: f.metadata}).Objects(func() { f.changed <- struct{}{} }),
		Versions: func(context.Context, string) ([]string, error) {
			if len(versions) == 0 {
				return nil, errors.New("discovery fails")
			}
			return versions, nil
		},
		SyncLimit: time.Minute,
	})
	return f
}

func (f *fixture) create(t *testing.T, name string, labels map[string]string) {
	t.Helper()
	o := &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "networking.istio.io/v1beta1", Kind: "VirtualService"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: labels, Annotations: map[string]string{"large": "text"}},
	}
	if err := f.metadata.Tracker().Create(routes, o, "shop"); err != nil {
		t.Fatal(err)
	}
}

// gone answers reads of a version as an API server does that does not serve it.
func (f *fixture) gone(version string) {
	f.metadata.PrependReactor("list", "virtualservices", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if action.GetResource().Version != version {
			return false, nil, nil
		}
		return true, nil, apierrors.NewGenericServerResponse(404, "list", schema.GroupResource{}, "", "", 0, true)
	})
}

func route(name string, labels map[string]string) servicemesh.CustomResource {
	return servicemesh.CustomResource{Kind: "VirtualService", Namespace: "shop", Name: name, Labels: labels}
}

func (f *fixture) want(t *testing.T, reason string, want ...servicemesh.CustomResource) {
	t.Helper()
	for name, read := range map[string]func(context.Context) ([]servicemesh.CustomResource, error){"Look": f.Look, "Confirm": f.Confirm} {
		got, err := read(t.Context())
		slices.SortFunc(got, func(a, b servicemesh.CustomResource) int { return strings.Compare(a.Name, b.Name) })
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %s: %v\n%s", reason, name, err, diff)
		}
	}
}

func (f *fixture) awaitChange(t *testing.T, of string) {
	t.Helper()
	select {
	case <-f.changed:
	case <-time.After(time.Minute):
		t.Fatalf("%s was not reported", of)
	}
}

func TestWatcher(t *testing.T) {
	f := newFixture(t, "v1beta1")
	f.create(t, "a", nil)
	f.want(t, "the kind without a definition has no objects", route("a", nil))
	f.create(t, "b", map[string]string{module: "istio", "app": "b"})
	f.awaitChange(t, "an object that has come")
	f.want(t, "of labels one is kept", route("a", nil), route("b", map[string]string{module: "istio"}))
	if err := f.metadata.Tracker().Delete(routes, "shop", "a"); err != nil {
		t.Fatal(err)
	}
	f.awaitChange(t, "an object that has gone")
	if got, err := f.Look(t.Context()); err != nil || len(got) != 1 || got[0].Name != "b" {
		t.Errorf("watched: got %v, %v", got, err)
	}
	f.Stop()
	f.want(t, "stopped and looked at again", route("b", map[string]string{module: "istio"}))
	f.definitions.names = nil
	f.want(t, "nothing is defined")
	f.end()
	f.definitions.names = []string{"virtualservices.networking.istio.io"}
	if _, err := f.Look(t.Context()); err == nil {
		t.Error("a closed watcher watches")
	}
}

// A kind that is defined is never taken for missing.
func TestWatcher_Unknown(t *testing.T) {
	cases := map[string]struct {
		reason   string
		versions []string
		gone     []string
		err      error
		want     string
		found    int
	}{
		"OtherVersion": {reason: "the preferred version of the group does not have it", versions: []string{"v1", "v1beta1"}, gone: []string{"v1"}, found: 1},
		"NoVersion":    {reason: "no version has it", versions: []string{"v1beta1"}, gone: []string{"v1beta1"}, want: "virtualservices.networking.istio.io are served, which are defined: none of the versions [v1beta1]"},
		"Discovery":    {reason: "discovery fails", want: "virtualservices.networking.istio.io are served, which are defined: discovery fails"},
		"NoDefinition": {reason: "whether it is defined is not known", versions: []string{"v1beta1"}, err: errors.New("no cache"), want: "no cache"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, tc.versions...)
			f.create(t, "a", nil)
			f.definitions.err = tc.err
			for _, version := range tc.gone {
				f.gone(version)
			}
			for _, read := range []func(context.Context) ([]servicemesh.CustomResource, error){f.Look, f.Confirm} {
				got, err := read(t.Context())
				if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) || len(got) != tc.found {
					t.Errorf("%s: got %v, %v", tc.reason, got, err)
				}
			}
		})
	}
}

// A watch that does not come up is an error, and is begun anew.
func TestWatcher_NotSynced(t *testing.T) {
	f := newFixture(t, "v1beta1")
	f.create(t, "a", nil)
	var repaired atomic.Bool
	var lists atomic.Int32
	f.metadata.PrependReactor("list", "virtualservices", func(clienttesting.Action) (bool, runtime.Object, error) {
		if lists.Add(1) > 1 && !repaired.Load() { // the first finds out the version
			return true, nil, apierrors.NewForbidden(schema.GroupResource{}, "", nil)
		}
		return false, nil, nil
	})
	f.config.SyncLimit = 100 * time.Millisecond
	if _, err := f.Look(t.Context()); err == nil || !strings.Contains(err.Error(), "watching objects of kind VirtualService") {
		t.Errorf("got %v", err)
	}
	if _, err := f.Confirm(t.Context()); err == nil {
		t.Error("a list that is refused is taken for an empty one")
	}
	f.Stop()
	repaired.Store(true)
	f.config.SyncLimit = time.Minute
	f.want(t, "as soon as it is allowed", route("a", nil))
}
