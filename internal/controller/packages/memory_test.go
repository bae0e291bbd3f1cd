// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/strata-run/strata/api/v1alpha1"
)

// TestWorker_ForgetsOwnWrites: what a write has returned is kept until the cache has
// it, and no longer, although no pass comes by.
func TestWorker_ForgetsOwnWrites(t *testing.T) {
	pkg := &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "p"}}
	revision := func(version string, generation int64) *v1alpha1.Revision {
		return &v1alpha1.Revision{ObjectMeta: metav1.ObjectMeta{
			Name: "web-1", UID: "r", ResourceVersion: version, Generation: generation,
			OwnerReferences: []metav1.OwnerReference{{Kind: "Package", Name: "web", UID: "p", Controller: new(true)}},
		}}
	}
	w := &Worker{}
	known := w.memory.of(pkg)
	written := revision("7", 1)
	known.own.Wrote(written)
	cases := []struct {
		reason        string
		before, after *v1alpha1.Revision
		kept, passes  bool
	}{
		{"older news keeps it", revision("4", 1), revision("6", 1), true, false},
		{"its own news ends it", revision("6", 1), revision("7", 1), false, false},
		{"another spec asks for a pass", revision("7", 1), revision("8", 2), false, true},
	}
	for _, c := range cases {
		if passes := w.caughtUp().Update(event.UpdateEvent{ObjectOld: c.before, ObjectNew: c.after}); passes != c.passes {
			t.Errorf("%s: a pass is asked for: %t", c.reason, passes)
		}
		if kept := known.own.Newest(revision("1", 1)) == written; kept != c.kept {
			t.Errorf("%s: kept: %t", c.reason, kept)
		}
	}
}
