// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/strata-run/strata/api/v1alpha1"
)

// TestWorker_ForgetsOwnWrites: what a write has returned is kept until the cache has
// it, and no longer, although no pass comes by.
func TestWorker_ForgetsOwnWrites(t *testing.T) {
	revision := func(version string, generation int64) *v1alpha1.Revision {
		return &v1alpha1.Revision{ObjectMeta: metav1.ObjectMeta{
			Name: "web-1", UID: "r", ResourceVersion: version, Generation: generation,
			OwnerReferences: []metav1.OwnerReference{{Kind: "Package", Name: "web", UID: "p", Controller: new(true)}},
		}}
	}
	w := &Worker{}
	written := revision("7", 1)
	w.own.Wrote(written)
	cases := []struct {
		reason        string
		before, after *v1alpha1.Revision
		kept          bool
	}{
		{"older news keeps it", revision("4", 1), revision("6", 1), true},
		{"its own news ends it", revision("6", 1), revision("7", 1), false},
		{"later news ends it", revision("7", 1), revision("8", 2), false},
	}
	for _, c := range cases {
		w.own.CaughtUp().Update(event.UpdateEvent{ObjectOld: c.before, ObjectNew: c.after})
		if kept := w.own.Newest(revision("1", 1)) == written; kept != c.kept {
			t.Errorf("%s: kept: %t", c.reason, kept)
		}
	}
}

// TestWorker_RemembersLittleAtRest: what the statuses of a line hold is not kept beside
// them.
func TestWorker_RemembersLittleAtRest(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{})
	l.revise(1, phase(configMap("a", "1")), phase(deployment("plane", "v1")))
	l.mustSettle(2 * progressDelay)
	w, ok := l.loop.Worker.(*Worker)
	if !ok {
		t.Fatalf("the loop's worker is a %T", l.loop.Worker)
	}
	remembered := func() *revisionState {
		state := w.states.read(l.pkg())
		return state.of(l.revision(1))
	}
	if state := remembered(); state.records == nil || state.unwritten == nil {
		t.Errorf("while its status is deferred, records %v and status %v are kept, want those of the revision", state.records, state.unwritten)
	}
	l.ready("plane", true)
	l.mustSettle(10 * time.Second)
	want(t, "it is rolled out", "conditions", readyLine, l.conditions())
	if state := remembered(); state.records != nil || state.unwritten != nil {
		t.Errorf("at rest, records %v and status %v are kept", state.records, state.unwritten)
	}
}
