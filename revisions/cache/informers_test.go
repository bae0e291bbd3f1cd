// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/strata-run/strata/revisions"
)

var (
	wholeConfigMaps = revisions.Kind{GroupVersionKind: configMaps}
	metaConfigMaps  = revisions.Kind{GroupVersionKind: configMaps, MetadataOnly: true}
)

// A read is never older than our own writes, and never older than what the
// informer has seen.
func TestInformers_ReadsItsOwnWrites(t *testing.T) {
	f := newFixture(t)
	f.server.put(configMap("a", "first", "u1", "web")) // 101
	f.ensure("web", wholeConfigMaps)
	if got := f.value("a"); got != "first u1" {
		t.Fatalf("after Ensure the state is %q, want what was listed", got)
	}
	f.informers.Observe(own(configMap("a", "mine", "u1", "web"), "103"))
	if got := f.value("a"); got != "mine u1" {
		t.Errorf("after our write the state is %q", got)
	}
	f.server.put(configMap("a", "older", "u1", "web")) // 102
	f.expect("it was listed, and changed", "web", "web")
	if got := f.value("a"); got != "mine u1" {
		t.Errorf("an event from before our write has made the state %q", got)
	}
	f.server.advance(103)
	f.server.put(configMap("a", "newer", "u1", "web")) // 104
	f.eventually("a newer event counts", func() bool { return f.value("a") == "newer u1" })
}

func TestInformers_OwnCreation(t *testing.T) {
	f := newFixture(t)
	f.ensure("web", wholeConfigMaps)
	f.informers.Observe(own(configMap("a", "mine", "u1", "web"), "105"))
	if got := f.value("a"); got != "mine u1" {
		t.Errorf("what we have created is known at once, got %q", got)
	}
	f.server.put(configMap("other", "x", "u2", "other")) // 101
	f.expect("another owner's object", "other")
	if got := f.value("a"); got != "mine u1" {
		t.Errorf("an event from before our write has made the state %q", got)
	}
	f.server.advance(105)
	f.server.put(configMap("other", "y", "u2", "other")) // 106
	f.expect("another owner's object", "other")
	if got := f.value("a"); got != "" {
		t.Errorf("the informer is past our write and has no object, which came and went unseen, got %q", got)
	}
}

func TestInformers_DeletionForgets(t *testing.T) {
	f := newFixture(t)
	f.ensure("web", wholeConfigMaps)
	first := configMap("a", "mine", "u1", "web")
	version := f.server.put(first)
	f.informers.Observe(own(first, version))
	f.server.remove(first)
	f.eventually("nothing is remembered of a deleted object", func() bool {
		f.informers.lock.Lock()
		defer f.informers.lock.Unlock()
		return len(f.informers.written) == 0
	})
	f.eventually("a deleted object is gone", func() bool { return f.value("a") == "" })

	// The next object of the name is created before the first one's deletion is seen.
	again := configMap("b", "first", "u2", "web")
	f.server.put(again)
	f.eventually("the object is seen", func() bool { return f.value("b") == "first u2" })
	f.informers.Observe(own(configMap("b", "second", "u3", "web"), "999"))
	if got := f.value("b"); got != "second u3" {
		t.Errorf("what we have created in place of an object that is gone is %q", got)
	}
	f.server.remove(again)
	f.eventually("the deletion of another object of the name keeps what we have created", func() bool { return f.value("b") == "second u3" })
}

// A Job that its TTL removes as soon as it has completed is known to have completed.
func TestInformers_Completed(t *testing.T) {
	f := newFixture(t)
	jobs := revisions.Kind{GroupVersionKind: schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}}
	job := func(uid, completed string) *packed {
		object := configMap("migrate", "", uid, "web")
		object.SetGroupVersionKind(jobs.GroupVersionKind)
		object.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Complete", "status": completed}}}
		p, err := pack(object, "strata.run/package")
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	f.informers.handler(jobs).OnDelete(job("u1", "True"))
	key := types.NamespacedName{Namespace: "app", Name: "migrate"}
	if !f.informers.Completed(jobs.GroupVersionKind, key, "u1") || f.informers.Completed(jobs.GroupVersionKind, key, "u2") {
		t.Error("it is not remembered that Job u1, and no other, had completed")
	}
	f.informers.handler(jobs).OnDelete(job("u3", "False"))
	if f.informers.Completed(jobs.GroupVersionKind, key, "u3") {
		t.Error("Job u3 was deleted while it ran, and counts as completed")
	}
}

func TestInformers_Notifications(t *testing.T) {
	f := newFixture(t)
	f.ensure("web", wholeConfigMaps)
	object := configMap("a", "1", "u1", "web")
	f.server.put(object)
	f.expect("a user has created it", "web")

	object = configMap("a", "2", "u1", "web")
	f.informers.Observe(own(object, "102"))
	f.server.put(object) // 102
	f.sentinel("what our own write has returned is no news")

	f.server.put(configMap("a", "3", "u1", "web"))
	f.expect("a user has changed it", "web")

	f.server.put(configMap("a", "3", "u1", "other"))
	f.expect("a change of the label is news for both", "other", "web")

	f.server.put(configMap("a", "3", "u1", ""))
	f.expect("the loss of the label is news for who had it", "other")

	f.server.put(configMap("b", "1", "u2", "web"))
	f.expect("a user has created it", "web")
	f.server.remove(configMap("b", "1", "u2", "web"))
	f.expect("a user has deleted it", "web")
	f.sentinel("nothing else")
}

// A deletion that was missed is one all the same.
func TestInformers_MissedDeletion(t *testing.T) {
	f := newFixture(t)
	f.informers.Observe(own(configMap("a", "mine", "u1", "web"), "101"))
	last, err := pack(configMap("a", "mine", "u1", "web"), label)
	if err != nil {
		t.Fatal(err)
	}
	f.informers.handler(wholeConfigMaps).OnDelete(cache.DeletedFinalStateUnknown{Key: "app/a", Obj: last})
	f.expect("the deletion that was found out later", "web")
	if len(f.informers.written) != 0 {
		t.Error("what our write has returned is still remembered")
	}
}

// An own creation is no news either, and a foreign object of the same version is.
func TestInformers_OwnCreationIsNoNews(t *testing.T) {
	f := newFixture(t)
	f.ensure("web", wholeConfigMaps)
	f.informers.Observe(own(configMap("a", "1", "u1", "web"), "101"))
	f.server.put(configMap("a", "1", "u1", "web")) // 101
	f.sentinel("what our own write has returned is no news")
	f.informers.Observe(own(configMap("b", "1", "u2", "web"), "103"))
	f.server.put(configMap("b", "1", "another", "web")) // 103
	f.expect("another object of the name is news", "web")
}

// Both informers tell the same of an object, as far as both know it.
func TestInformers_MetadataOnly(t *testing.T) {
	f := newFixture(t)
	f.server.put(configMap("a", "first", "u1", "web"))
	f.ensure("meta", metaConfigMaps)
	get := func() *unstructured.Unstructured {
		t.Helper()
		object, err := f.informers.Get(configMaps, types.NamespacedName{Namespace: "app", Name: "a"})
		if err != nil || object == nil {
			t.Fatalf("Get = %v, %v", object, err)
		}
		return object
	}
	partial := get()
	if _, has := partial.Object["data"]; has || partial.GroupVersionKind() != configMaps || partial.GetLabels()[label] != "web" {
		t.Errorf("the metadata of a ConfigMap is %v", partial.Object)
	}
	f.ensure("whole", wholeConfigMaps)
	whole := get()
	if got := f.value("a"); got != "first u1" {
		t.Errorf("who needs the whole object gets it, got %q", got)
	}
	digest := revisions.FieldsDigest(configMap("a", "first", "u1", "web"), revisions.DefaultFieldOwner)
	for name, object := range map[string]*unstructured.Unstructured{"metadata": partial, "whole": whole} {
		if got := revisions.FieldsDigest(object, revisions.DefaultFieldOwner); digest == "" || got != digest {
			t.Errorf("%s: the digest of our managedFields entry is %q, want %q", name, got, digest)
		}
		if len(object.GetManagedFields()) > 0 && object.GetManagedFields()[0].FieldsType == "FieldsV1" {
			t.Errorf("%s: managedFields are kept in memory: %v", name, object.GetManagedFields())
		}
	}
}

// What our write has returned is kept when one of the two informers of a kind is
// stopped, as the other may not have seen it yet.
func TestInformers_GivingUpOneOfTwo(t *testing.T) {
	f := newFixture(t)
	f.ensure("meta", metaConfigMaps)
	f.ensure("whole", wholeConfigMaps)
	f.informers.Observe(own(configMap("a", "mine", "u1", "web"), "500"))
	f.informers.Release("whole")
	if got := f.value("a"); got != "mine u1" {
		t.Errorf("the state is %q, want our own write", got)
	}
	f.informers.Release("meta")
	f.ensure("meta", metaConfigMaps)
	if got := f.value("a"); got != "" {
		t.Errorf("with the last informer of the kind our write is forgotten, got %q", got)
	}
}

func TestInformers_ClusterScoped(t *testing.T) {
	f := newFixture(t)
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{
		"name": "app", "labels": map[string]any{label: "web"},
	}}}
	f.server.put(object)
	f.ensure("web", revisions.Kind{GroupVersionKind: namespaces})
	got, err := f.informers.Get(namespaces, types.NamespacedName{Name: "app"})
	if err != nil || got == nil {
		t.Errorf("Get = %v, %v", got, err)
	}
}

func TestInformers_NotWatched(t *testing.T) {
	f := newFixture(t)
	if _, err := f.informers.Get(configMaps, types.NamespacedName{Namespace: "app", Name: "a"}); err == nil {
		t.Error("a kind that is not watched must not look like one without objects")
	}
	f.server.held = make(chan struct{})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := f.informers.Ensure(ctx, "web", []revisions.Kind{wholeConfigMaps}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Ensure that was cancelled = %v", err)
	}
	if _, err := f.informers.Get(configMaps, types.NamespacedName{Namespace: "app", Name: "a"}); err == nil {
		t.Error("a kind that was not listed yet must not look like one without objects")
	}
	close(f.server.held)
	f.ensure("web", wholeConfigMaps)
	if got := f.value("a"); got != "" {
		t.Errorf("of an object that does not exist the state is %q", got)
	}
}

// A kind that cannot be watched is an error, and keeps none of the others from it.
func TestInformers_KindThatCannotBeWatched(t *testing.T) {
	unknown := revisions.Kind{GroupVersionKind: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Nothing"}}
	f := newFixture(t)
	f.server.put(configMap("a", "x", "u1", "web"))
	f.server.refuse(deployments, errForbidden)
	began := time.Now()
	err := f.informers.Ensure(t.Context(), "web", []revisions.Kind{unknown, {GroupVersionKind: deployments}, wholeConfigMaps})
	if err == nil {
		t.Fatal("two kinds cannot be watched, and no error says so")
	}
	for _, part := range []string{"example.com/v1, Kind=Nothing", "apps/v1, Kind=Deployment", "no rights"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not say %q: %v", part, err)
		}
	}
	if took := time.Since(began); took > syncLimit/2 {
		t.Errorf("a list that is refused was waited for: %v", took)
	}
	if got := f.value("a"); got != "x u1" {
		t.Errorf("the kind that can be watched is not: %q", got)
	}
	f.server.refuse(deployments, nil)
	f.eventually("the list is tried again", func() bool {
		return f.informers.Ensure(t.Context(), "web", []revisions.Kind{{GroupVersionKind: deployments}, wholeConfigMaps}) == nil
	})
}

// An informer is there for its users, and stops with the last.
func TestInformers_Users(t *testing.T) {
	before := runtime.NumGoroutine()
	f := newFixture(t)
	f.ensure("a", wholeConfigMaps, revisions.Kind{GroupVersionKind: deployments, MetadataOnly: true})
	f.ensure("b", wholeConfigMaps)
	f.eventually("two kinds are watched, each once", func() bool { return f.server.watching() == 2 })
	running := runtime.NumGoroutine()

	f.ensure("a", wholeConfigMaps)
	f.eventually("a kind that its last user does not name any more is not watched any more", func() bool { return f.server.watching() == 1 })
	f.informers.Release("a")
	f.informers.Release("unknown")
	if got := f.value("x"); got != "" || f.server.watching() != 1 {
		t.Errorf("%d watches are open, want that of the other user", f.server.watching())
	}
	f.informers.Release("b")
	f.eventually("the last watch is closed", func() bool { return f.server.watching() == 0 })
	if _, err := f.informers.Get(configMaps, types.NamespacedName{Namespace: "app", Name: "a"}); err == nil {
		t.Error("a kind that is not watched any more must not look like one without objects")
	}
	f.eventually("no goroutine is left", func() bool { return runtime.NumGoroutine() <= before })
	if running <= before {
		t.Error("nothing was running, so that nothing could be left")
	}

	f.ensure("a", wholeConfigMaps)
	f.server.put(configMap("a", "again", "u1", "web"))
	f.eventually("a kind can be watched again", func() bool { return f.value("a") == "again u1" })
}

// The informers end with their context.
func TestInformers_Stop(t *testing.T) {
	f := newFixture(t)
	ctx, cancel := context.WithCancel(t.Context())
	f.informers = New(ctx, f.informers.config)
	f.ensure("a", wholeConfigMaps)
	f.eventually("the kind is watched", func() bool { return f.server.watching() == 1 })
	cancel()
	f.eventually("the watch is closed", func() bool { return f.server.watching() == 0 })
}
