// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/strata-run/strata/revisions"
	"github.com/strata-run/strata/revisions/probes"
	"github.com/strata-run/strata/revisions/revisionstest"
)

// parts are the configuration of an engine and what it works on.
type parts struct {
	cluster *revisionstest.Cluster
	cache   *revisionstest.Cache
	config  revisions.Config
}

func newParts() parts {
	cluster := revisionstest.New()
	client, cache := cluster.Client("engine"), revisionstest.NewCache(cluster, benchOwner.Label)
	return parts{cluster: cluster, cache: cache, config: revisions.Config{Writer: client, Live: client, Cache: cache, Mapper: cluster.Mapper()}}
}

func (p parts) engine(t *testing.T) *revisions.Engine {
	t.Helper()
	engine, err := revisions.New(p.config)
	if err != nil {
		t.Fatal(err)
	}
	return engine
}

// placed are the objects that a pass found or put in place, by name.
func placed(result revisions.RevisionResult) map[string]bool {
	names := map[string]bool{}
	for _, phase := range result.Phases {
		for _, object := range phase.Objects {
			names[object.ID.Name] = object.InPlace()
		}
	}
	return names
}

func onePhase(number int64, objects ...revisions.Object) revisions.Revision {
	return revisions.Revision{Number: number, Phases: []revisions.Phase{{Name: "one", Objects: objects}}}
}

func secret(name string) revisions.Object {
	return revisions.Object{Manifest: &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": name, "namespace": "app"}, "stringData": map[string]any{"key": "hunter2"},
	}}}
}

// TestNew refuses configurations that cannot work.
func TestNew(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(*revisions.Config)
		want   string
	}{
		"Complete":            {reason: "the listener and the concurrency are optional", change: func(*revisions.Config) {}},
		"NoWriter":            {reason: "it could not write", change: func(c *revisions.Config) { c.Writer = nil }, want: "revisions.Config: required and not set: Writer"},
		"NoLive":              {reason: "nothing could be proven", change: func(c *revisions.Config) { c.Live = nil }, want: "revisions.Config: required and not set: Live"},
		"NoCache":             {reason: "each pass would read everything", change: func(c *revisions.Config) { c.Cache = nil }, want: "revisions.Config: required and not set: Cache"},
		"NoMapper":            {reason: "no kind would be known", change: func(c *revisions.Config) { c.Mapper = nil }, want: "revisions.Config: required and not set: Mapper"},
		"NegativeConcurrency": {reason: "nothing would ever be applied", change: func(c *revisions.Config) { c.Concurrency = -1 }, want: "revisions.Config: Concurrency is -1 and must not be negative"},
		"Nothing":             {reason: "all are named, in the order of the fields", change: func(c *revisions.Config) { *c = revisions.Config{} }, want: "revisions.Config: required and not set: Writer, Live, Cache, Mapper"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			config := newParts().config
			tc.change(&config)
			if _, err := revisions.New(config); (err != nil) != (tc.want != "") || err != nil && err.Error() != tc.want {
				t.Errorf("New() = %v, want %q: %s", err, tc.want, tc.reason)
			}
		})
	}
}

// TestEngine_Owner refuses an owner by whom nothing could be proven.
func TestEngine_Owner(t *testing.T) {
	for name, change := range map[string]func(*revisions.Owner){
		"APIVersion": func(o *revisions.Owner) { o.APIVersion = "" },
		"Kind":       func(o *revisions.Owner) { o.Kind = "" },
		"Name":       func(o *revisions.Owner) { o.Name = "" },
		"UID":        func(o *revisions.Owner) { o.UID = "" },
		"Label":      func(o *revisions.Owner) { o.Label = "" },
	} {
		t.Run(name, func(t *testing.T) {
			p := newParts()
			engine, owner, revision := p.engine(t), benchOwner, onePhase(1, configMap("a", "v1"))
			change(&owner)
			if _, err := engine.Reconcile(t.Context(), revisions.Rollout{Owner: owner, Target: revision}); err == nil {
				t.Error("Reconcile() takes an owner without it")
			}
			if result, err := engine.Teardown(t.Context(), revisions.Teardown{Owner: owner, Revision: revision}); err == nil || result.Complete {
				t.Errorf("Teardown() = complete %t, %v for an owner without it", result.Complete, err)
			}
			if sent := p.cluster.Requests("engine"); len(sent) > 0 {
				t.Errorf("requests were sent: %v", sent)
			}
		})
	}
}

// TestEngine_Canceled sends nothing and says why.
func TestEngine_Canceled(t *testing.T) {
	p := newParts()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	result, err := p.engine(t).Reconcile(ctx, revisions.Rollout{Owner: benchOwner, Target: onePhase(1, configMap("a", "v1"))})
	if !errors.Is(err, context.Canceled) || result.Target.Complete() || result.Target.Phases[0].Reached {
		t.Errorf("Reconcile() = %+v, %v after the context has ended", result.Target, err)
	}
}

// flakyMapper cannot look up one kind.
type flakyMapper struct {
	meta.RESTMapper

	kind string
}

func (m flakyMapper) RESTMapping(gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	if gk.Kind == m.kind {
		return nil, apierrors.NewServiceUnavailable("discovery failed")
	}
	mapping, err := m.RESTMapper.RESTMapping(gk, versions...)
	if err != nil {
		return nil, fmt.Errorf("mapping %s: %w", gk, err)
	}
	return mapping, nil
}

// TestEngine_KindCannotBeLookedUp holds up the objects of that kind only.
func TestEngine_KindCannotBeLookedUp(t *testing.T) {
	p := newParts()
	p.config.Mapper = flakyMapper{RESTMapper: p.config.Mapper, kind: "Secret"}
	result, err := p.engine(t).Reconcile(t.Context(), revisions.Rollout{Owner: benchOwner, Target: onePhase(1, secret("key"), configMap("a", "v1"))})
	if !apierrors.IsServiceUnavailable(err) {
		t.Errorf("Reconcile() = %v, want the mapper's error", err)
	}
	if diff := cmp.Diff(map[string]bool{"key": false, "a": true}, placed(result.Target)); diff != "" {
		t.Errorf("in place (-want +got):\n%s", diff)
	}
}

// pickyCache watches all kinds but one, and notes what it was asked for.
type pickyCache struct {
	*revisionstest.Cache

	not   string
	asked []revisions.Kind
}

func (c *pickyCache) Ensure(ctx context.Context, user string, kinds []revisions.Kind) error {
	c.asked = slices.Clone(kinds)
	kinds = slices.DeleteFunc(slices.Clone(kinds), func(k revisions.Kind) bool { return k.Kind == c.not })
	if err := c.Cache.Ensure(ctx, user, kinds); err != nil || len(kinds) == len(c.asked) {
		return err
	}
	return errors.New("may not watch " + c.not)
}

// TestEngine_KindCannotBeWatched holds up the objects of that kind only.
func TestEngine_KindCannotBeWatched(t *testing.T) {
	p := newParts()
	p.config.Cache = &pickyCache{Cache: p.cache, not: "Secret"}
	result, err := p.engine(t).Reconcile(t.Context(), revisions.Rollout{Owner: benchOwner, Target: onePhase(1, secret("key"), configMap("a", "v1"))})
	if err == nil {
		t.Error("Reconcile() does not tell that a kind cannot be watched")
	}
	if diff := cmp.Diff(map[string]bool{"key": false, "a": true}, placed(result.Target)); diff != "" {
		t.Errorf("in place (-want +got):\n%s", diff)
	}
}

// TestEngine_Watches asks for each kind once, of all revisions, and for the body of
// those that any probe looks into.
func TestEngine_Watches(t *testing.T) {
	p := newParts()
	cache := &pickyCache{Cache: p.cache}
	p.config.Cache = cache
	probed := configMap("b", "v1")
	probed.Probe = probes.Func(func(*unstructured.Unstructured) probes.Result { return probes.Result{Status: probes.True} })
	in := revisions.Rollout{
		Owner: benchOwner, Target: onePhase(2, probed, configMap("a", "v1")),
		Serving: []revisions.Revision{onePhase(1, secret("key"), configMap("c", "v1"))},
	}
	if _, err := p.engine(t).Reconcile(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	want := []revisions.Kind{
		{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}},
		{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, MetadataOnly: true},
	}
	if diff := cmp.Diff(want, cache.asked); diff != "" {
		t.Errorf("watched (-want +got):\n%s", diff)
	}
}

// TestEngine_NeverTakenBack lets a target that has put an object in place become
// invalid, as stricter rules may do. The older revision must not write its content
// over it.
func TestEngine_NeverTakenBack(t *testing.T) {
	p := newParts()
	engine := p.engine(t)
	first, second := onePhase(1, configMap("a", "v1"), configMap("b", "v1")), onePhase(2, configMap("a", "v2"))
	result, err := engine.Reconcile(t.Context(), revisions.Rollout{Owner: benchOwner, Target: first})
	if err != nil {
		t.Fatal(err)
	}
	first.Records, first.Succeeded = result.Target.Records, true
	in := revisions.Rollout{Owner: benchOwner, Target: second, Serving: []revisions.Revision{first}}
	if result, err = engine.Reconcile(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	in.Target.Records = result.Target.Records
	in.Target.Phases[0].Objects = append(in.Target.Phases[0].Objects, revisions.Object{})
	p.cluster.Requests("engine")
	result, err = engine.Reconcile(t.Context(), in)
	if _, invalid := errors.AsType[*revisions.ValidationError](err); !invalid {
		t.Errorf("Reconcile() = %v, want a *ValidationError", err)
	}
	if sent := p.cluster.Requests("engine"); len(sent) > 0 {
		t.Errorf("requests were sent: %v", sent)
	}
	if diff := cmp.Diff(map[string]bool{"b": true}, placed(result.Serving[0])); diff != "" {
		t.Errorf("kept by revision 1 (-want +got):\n%s", diff)
	}
}

// TestEngine_NotStarted does not let a revision begin what it has not reached once
// a newer one has taken its place.
func TestEngine_NotStarted(t *testing.T) {
	p := newParts()
	engine := p.engine(t)
	gate := configMap("gate", "v1")
	gate.Probe = probes.Func(func(*unstructured.Unstructured) probes.Result {
		return probes.Result{Status: probes.False, Message: "shut"}
	})
	first := onePhase(1, gate)
	first.Phases = append(first.Phases, revisions.Phase{Name: "two", Objects: []revisions.Object{configMap("later", "v1")}})
	result, err := engine.Reconcile(t.Context(), revisions.Rollout{Owner: benchOwner, Target: first})
	if err != nil {
		t.Fatal(err)
	}
	first.Records = result.Target.Records
	in := revisions.Rollout{Owner: benchOwner, Target: onePhase(2, configMap("other", "v1")), Serving: []revisions.Revision{first}}
	if result, err = engine.Reconcile(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]bool{"gate": true}, placed(result.Serving[0])); diff != "" {
		t.Errorf("kept by revision 1 (-want +got):\n%s", diff)
	}
	// One that has succeeded has reached everything, whatever became of its records.
	in.Serving[0].Records, in.Serving[0].Succeeded = nil, true
	if result, err = engine.Reconcile(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]bool{"gate": true, "later": true}, placed(result.Serving[0])); diff != "" {
		t.Errorf("kept by revision 1 after it had succeeded (-want +got):\n%s", diff)
	}
}

// TestEngine_ServingWithoutObjects keeps going with an older revision that could
// not be loaded, or holds what names nothing.
func TestEngine_ServingWithoutObjects(t *testing.T) {
	p := newParts()
	in := revisions.Rollout{
		Owner: benchOwner, Target: onePhase(3, configMap("a", "v1")),
		Serving: []revisions.Revision{{Number: 2}, onePhase(1, revisions.Object{}, revisions.Object{Manifest: &unstructured.Unstructured{}})},
	}
	in.Serving[1].Succeeded = true
	result, err := p.engine(t).Reconcile(t.Context(), in)
	if err != nil || !result.Target.Complete() {
		t.Errorf("Reconcile() = complete %t, %v", result.Target.Complete(), err)
	}
	removed, err := p.engine(t).Teardown(t.Context(), revisions.Teardown{Owner: benchOwner, Revision: in.Serving[1]})
	if err != nil || !removed.Complete {
		t.Errorf("Teardown() = %+v, %v", removed, err)
	}
}

// TestEngine_RemovesWhatMayNotBeRead without a watch, as after a restart: an object
// without a record may be another revision's work.
func TestEngine_RemovesWhatMayNotBeRead(t *testing.T) {
	for name, tc := range map[string]struct {
		reason    string
		ownerGoes bool
		want      revisions.Removal
	}{
		"OwnerStays": {reason: "what may be there is not left without an owner", want: revisions.RemovalWaiting},
		"OwnerGoes":  {reason: "the garbage collector takes what is there", ownerGoes: true, want: revisions.RemovalForeign},
	} {
		t.Run(name, func(t *testing.T) {
			p := newParts()
			p.cluster.Fail(revisionstest.Fault{Verb: revisionstest.VerbGet, Code: 403})
			in := revisions.Teardown{Owner: benchOwner, Revision: onePhase(1, configMap("a", "v1")), OwnerGoes: tc.ownerGoes}
			result, err := p.engine(t).Teardown(t.Context(), in)
			if len(result.Objects) != 1 || result.Objects[0].State != tc.want || (err == nil) != tc.ownerGoes {
				t.Errorf("%s: got %+v, %v", tc.reason, result.Objects, err)
			}
		})
	}
}

// TestEngine_Listener tells of every object, in the phase that it stands in.
func TestEngine_Listener(t *testing.T) {
	var lock sync.Mutex
	var reported []string
	tell := func(phase string, id revisions.ObjectID) {
		lock.Lock()
		defer lock.Unlock()
		reported = append(reported, phase+": "+id.String())
	}
	p := newParts()
	p.config.Listener = revisions.Listener{
		Object: func(_ revisions.Owner, phase string, object revisions.ObjectResult) { tell("apply "+phase, object.ID) },
		Removed: func(_ revisions.Owner, phase string, object revisions.RemovedObject) {
			tell("remove "+phase, object.ID)
		},
	}
	engine, revision := p.engine(t), onePhase(1, configMap("a", "v1"), configMap("b", "v1"))
	if _, err := engine.Reconcile(t.Context(), revisions.Rollout{Owner: benchOwner, Target: revision}); err != nil {
		t.Fatal(err)
	}
	if _, err := engine.Teardown(t.Context(), revisions.Teardown{Owner: benchOwner, Revision: revision}); err != nil {
		t.Fatal(err)
	}
	want := []string{"apply one: ConfigMap app/a", "apply one: ConfigMap app/b", "remove one: ConfigMap app/a", "remove one: ConfigMap app/b"}
	if diff := cmp.Diff(want, slices.Sorted(slices.Values(reported))); diff != "" {
		t.Errorf("reported (-want +got):\n%s", diff)
	}
}

// TestEngine_NoSecretLeaves lets the API server quote a Secret in every answer.
func TestEngine_NoSecretLeaves(t *testing.T) {
	const value = "hunter2"
	for _, verb := range []string{revisionstest.VerbApply, revisionstest.VerbDelete, revisionstest.VerbPatch} {
		t.Run(verb, func(t *testing.T) {
			p := newParts()
			engine, revision := p.engine(t), onePhase(1, secret("key"))
			if verb != revisionstest.VerbApply {
				if _, err := engine.Reconcile(t.Context(), revisions.Rollout{Owner: benchOwner, Target: revision}); err != nil {
					t.Fatal(err)
				}
			}
			p.cluster.Fail(revisionstest.Fault{Verb: verb, Code: 422, Message: "Invalid value: " + value})
			result, err := engine.Reconcile(t.Context(), revisions.Rollout{Owner: benchOwner, Target: revision})
			removed, removeErr := engine.Teardown(t.Context(), revisions.Teardown{Owner: benchOwner, Revision: revision, Orphan: verb == revisionstest.VerbPatch})
			all := errors.Join(err, removeErr)
			if !apierrors.IsInvalid(all) {
				t.Errorf("got %v, want the API server's refusal", all)
			}
			for _, text := range []string{all.Error(), fmt.Sprint(result.Target.Phases[0].Objects), fmt.Sprint(removed.Objects)} {
				if strings.Contains(text, value) {
					t.Errorf("a value of a Secret is reported: %s", text)
				}
			}
		})
	}
}
