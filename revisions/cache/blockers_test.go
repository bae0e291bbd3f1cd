// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-run/strata/revisions"
)

func blocker(name, version string) revisions.Blocker {
	return revisions.Blocker{
		ID:      revisions.ObjectID{GroupKind: configMaps.GroupKind(), Namespace: "app", Name: name},
		Version: "v1", ResourceVersion: version,
	}
}

// watchingFor waits until that many watches are open, so that changes are seen.
func (f *fixture) watchingFor(count int) {
	f.t.Helper()
	f.eventually("the watches are open", func() bool { return f.server.watching() == count })
}

func TestInformers_Block(t *testing.T) {
	f := newFixture(t)
	f.ensure("web", wholeConfigMaps)
	mine := configMap("a", "theirs", "u1", "") // without our label
	seen := f.server.put(mine)
	block := func(blockers ...revisions.Blocker) {
		t.Helper()
		if err := f.informers.Block("web", "web", blockers); err != nil {
			t.Fatal(err)
		}
	}
	block(blocker("a", seen))
	f.watchingFor(2)
	f.sentinel("what was seen already is no news")

	// The watches are open before the informer has taken in what they begin with.
	f.eventually("the metadata of what is in the way is known, at "+seen, func() bool {
		state, err := f.informers.Get(configMaps, types.NamespacedName{Namespace: "app", Name: "a"})
		return err == nil && state != nil && state.GetResourceVersion() == seen
	})
	f.server.put(configMap("b", "1", "u2", ""))
	f.sentinel("other objects are not watched")

	f.server.put(configMap("a", "changed", "u1", ""))
	f.sentinel("another value of it changes nothing for us")
	theirs := configMap("a", "changed", "u1", "")
	theirs.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "o", UID: "o"}})
	f.server.put(theirs)
	f.expect("it has another owner", "web")
	f.server.put(configMap("a", "changed", "u3", ""))
	f.expect("it is another object", "web")
	block(blocker("a", "older"))
	f.sentinel("a watch that runs is not started again")

	f.server.remove(mine)
	f.expect("it is gone", "web")
	if state, err := f.informers.Get(configMaps, types.NamespacedName{Namespace: "app", Name: "a"}); err != nil || state != nil {
		t.Errorf("Get() = %v, %v, and the object is gone", state, err)
	}

	block()
	f.watchingFor(1)
	f.server.put(mine)
	f.sentinel("what blocks nothing is not watched")
}

// TestInformers_BlockOfLabelled has an object of another package in the way, so that the
// informer of its kind sees it as well, and later than the watch that notifies.
func TestInformers_BlockOfLabelled(t *testing.T) {
	f := newFixture(t)
	f.ensure("web", wholeConfigMaps)
	theirs := configMap("a", "theirs", "u1", "other")
	seen := f.server.put(theirs)
	f.expect("the informer of the kind sees it", "other")
	if err := f.informers.Block("web", "web", []revisions.Blocker{blocker("a", seen)}); err != nil {
		t.Fatal(err)
	}
	f.watchingFor(2)
	known := func() string {
		t.Helper()
		state, err := f.informers.Get(configMaps, types.NamespacedName{Namespace: "app", Name: "a"})
		if err != nil || state == nil {
			return ""
		}
		return state.GetResourceVersion()
	}
	if got := known(); got != seen {
		t.Errorf("it is known at %s, want %s", got, seen)
	}
	if state, err := f.informers.Get(configMaps, types.NamespacedName{Namespace: "app", Name: "a"}); err != nil || state.Object["data"] == nil {
		t.Errorf("Get() = %v, %v, want the whole object as long as the two watches agree", state, err)
	}
	f.server.delay()
	theirs.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "o", UID: "o"}})
	changed := f.server.put(theirs)
	f.expect("it has another owner", "web")
	if got := known(); got != changed {
		t.Errorf("it is known at %s, want %s, which was notified", got, changed)
	}
	f.server.remove(theirs)
	f.expect("it is gone", "web")
	if got := known(); got != "" {
		t.Errorf("it is known at %s, and is gone", got)
	}
}

// TestInformers_BlockTooLate has changes between what the user has seen and the
// start of the watch.
func TestInformers_BlockTooLate(t *testing.T) {
	f := newFixture(t)
	seen := f.server.put(configMap("a", "1", "u1", ""))
	f.server.put(configMap("a", "2", "u1", ""))
	if err := f.informers.Block("web", "web", []revisions.Blocker{blocker("a", seen)}); err != nil {
		t.Fatal(err)
	}
	f.expect("it had changed", "web")
	if err := f.informers.Block("other", "other", []revisions.Blocker{blocker("gone", "7")}); err != nil {
		t.Fatal(err)
	}
	f.expect("it had gone", "other")
	f.informers.Release("web")
	f.informers.Release("other")
	f.watchingFor(0)
}

func TestInformers_BlockUnknownKind(t *testing.T) {
	f := newFixture(t)
	unknown := revisions.Blocker{ID: revisions.ObjectID{GroupKind: schema.GroupKind{Group: "example.org", Kind: "Thing"}, Name: "a"}, Version: "v1"}
	if err := f.informers.Block("web", "web", []revisions.Blocker{unknown, blocker("a", "1")}); err == nil {
		t.Error("a kind that is not served cannot be watched, and nothing says so")
	}
	f.expect("the others are watched", "web")
	f.informers.Release("web")
}
