// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/cli/view"
)

// answer makes the cluster answer rollback requests as the controller would:
// with what a function returns for the Package that asks.
func (tm *terminal) answer(handle func(pkg *v1alpha1.Package) *v1alpha1.RollbackStatus) {
	tm.server.afterPatch = func() {
		pkg := tm.pkg()
		if pkg.Spec.Rollback == nil {
			return
		}
		pkg.Status.Rollback = handle(pkg)
		pkg.Status.ObservedGeneration = pkg.Generation
		tm.server.put(packagesPath, pkg)
	}
}

func (tm *terminal) pkg() *v1alpha1.Package {
	tm.t.Helper()
	pkg := &v1alpha1.Package{}
	tm.server.read(packagesPath, fixturePackage, pkg)
	return pkg
}

func makes(revision int64) func(*v1alpha1.Package) *v1alpha1.RollbackStatus {
	return func(pkg *v1alpha1.Package) *v1alpha1.RollbackStatus {
		return &v1alpha1.RollbackStatus{
			RequestedAt: pkg.Spec.Rollback.RequestedAt, FromRevision: 3, ToRevision: pkg.Spec.Rollback.ToRevision, Revision: revision,
		}
	}
}

func TestRollback(t *testing.T) {
	tm := newTerminal(t, fixtureNamed(t, "bad_image"))
	tm.answer(makes(4))
	r := tm.run("rollback", fixturePackage, "--yes", "--reason", "cannot be pulled", "--pin")
	r.wants(t, CodeOK, "Revision 4 has the content of revision 2 and rolls out.", "")
	golden(t, "rollback", r.out)
	want := &v1alpha1.Rollback{ToRevision: 2, Reason: "cannot be pulled", Pin: true, RequestedAt: metav1.NewTime(fixtureNow.Local())}
	if diff := cmp.Diff(want, tm.pkg().Spec.Rollback); diff != "" {
		t.Errorf("spec.rollback: -want, +got:\n%s", diff)
	}
	t.Run("Again", func(t *testing.T) {
		tm.run("rollback", fixturePackage, "--yes", "--to", "1").wants(t, CodeOK, "content of revision 1", "")
		want := &v1alpha1.Rollback{ToRevision: 1, RequestedAt: metav1.NewTime(fixtureNow.Add(time.Second))}
		if diff := cmp.Diff(want, tm.pkg().Spec.Rollback); diff != "" {
			t.Errorf("nothing of the first request may be left, and its time must be another: -want, +got:\n%s", diff)
		}
	})
}

func TestRollback_Refusals(t *testing.T) {
	failed := func(f *fixture) {
		fixtureRolledBack(f)
		f.view.Revisions[3].Spec.ContentDigest = "sha256:other"
	}
	bounded := func(f *fixture) {
		fixtureBadImage(f)
		f.view.Revisions[2].Spec.Origin.RollbackMinors = new(int32(1))
	}
	cases := map[string]struct {
		reason  string
		fixture func(f *fixture)
		args    []string
		code    Code
		err     string
	}{
		"NoSuchRevision": {reason: "The revisions that exist are named.", args: []string{"--to", "9", "--yes"}, code: CodeNotFound, err: "there are: 1, 2, 3"},
		"Negative":       {reason: "Numbers begin at 1.", args: []string{"--to", "-1"}, code: CodeUsage, err: "not a revision"},
		"NeverSucceeded": {reason: "A bad revision is not what one wants back.", fixture: failed, args: []string{"--to", "3", "--yes"}, code: CodeTerminal, err: "has never succeeded (RolledBack): choose another, or give --allow-failed"},
		"TooFarBack":     {reason: "What the manager would refuse is refused before anything is asked.", fixture: bounded, args: []string{"--to", "1"}, code: CodeTerminal, err: "version 1.28.2 of revision 1 is too far back"},
		"NoEarlier":      {reason: "A first revision has no predecessor.", fixture: fixtures()["first_rollout"], args: []string{"--yes"}, code: CodeNotFound, err: "no earlier revision"},
		"NoTarget":       {reason: "There is nothing to roll back.", fixture: fixtures()["no_revision"], args: []string{"--yes"}, code: CodeTerminal, err: "no active revision"},
		"Deleting":       {reason: "What goes is not rolled back.", fixture: fixtures()["deleting"], args: []string{"--yes"}, code: CodeTerminal, err: "is being deleted"},
		"NoTerminal":     {reason: "A script must say --yes.", args: nil, code: CodeUsage, err: "give --yes"},
		"DryRunAndWait":  {reason: "There is nothing to wait for.", args: []string{"--dry-run=client", "--wait"}, code: CodeUsage, err: "--wait"},
		"WrongDryRun":    {reason: "Like kubectl's, the flag has three values.", args: []string{"--dry-run=yes"}, code: CodeUsage, err: "none, client or server"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.fixture == nil {
				tc.fixture = fixtureBadImage
			}
			f := newFixture(t)
			tc.fixture(f)
			tm := newTerminal(t, f)
			tm.run(append([]string{"rollback", fixturePackage}, tc.args...)...).wants(t, tc.code, "", tc.err)
			if tm.pkg().Spec.Rollback != nil {
				t.Errorf("%s Nothing may be written, got %+v", tc.reason, tm.pkg().Spec.Rollback)
			}
		})
	}
	for name, number := range map[string]string{"TheTarget": "4", "SameContent": "2"} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			fixtureRolledBack(f)
			tm := newTerminal(t, f)
			tm.run("rollback", fixturePackage, "--to", number, "--yes", "--wait").wants(t, CodeOK, "Nothing to roll back in package "+fixturePackage+": revision 4", "")
			if tm.pkg().Spec.Rollback != nil {
				t.Error("what runs was asked for once more")
			}
		})
	}
	t.Run("AllowFailed", func(t *testing.T) {
		f := newFixture(t)
		failed(f)
		tm := newTerminal(t, f)
		tm.answer(makes(5))
		tm.run("rollback", fixturePackage, "--to", "3", "--yes", "--allow-failed").wants(t, CodeOK, "Revision 5", "")
	})
	t.Run("ByTheController", func(t *testing.T) {
		tm := newTerminal(t, fixtureNamed(t, "bad_image"))
		tm.answer(func(pkg *v1alpha1.Package) *v1alpha1.RollbackStatus {
			return &v1alpha1.RollbackStatus{RequestedAt: pkg.Spec.Rollback.RequestedAt, Message: "a stored version would go"}
		})
		tm.run("rollback", fixturePackage, "--yes").wants(t, CodeTerminal, "", "was refused: a stored version would go")
	})
}

func TestRollback_Asks(t *testing.T) {
	for answer, code := range map[string]Code{"y\n": CodeOK, "Yes\n": CodeOK, "n\n": CodeInterrupted, "\n": CodeInterrupted, "": CodeInterrupted} {
		t.Run(fmt.Sprintf("%q", answer), func(t *testing.T) {
			tm := newTerminal(t, fixtureNamed(t, "bad_image"))
			tm.answer(makes(4))
			tm.in, tm.isTerminal = strings.NewReader(answer), true
			tm.run("rollback", fixturePackage).wants(t, code, "update", "Go on? [y/N]")
			if asked := tm.pkg().Spec.Rollback != nil; asked != (code == CodeOK) {
				t.Errorf("the request was sent: %t", asked)
			}
		})
	}
}

func TestRollback_DryRun(t *testing.T) {
	for _, mode := range []string{"client", "server"} {
		t.Run(mode, func(t *testing.T) {
			tm := newTerminal(t, fixtureNamed(t, "bad_image"))
			tm.answer(makes(4))
			tm.run("rollback", fixturePackage, "--dry-run="+mode).wants(t, CodeOK, "Nothing was changed (--dry-run="+mode+").", "")
			var doc view.Rollback
			parse(t, tm.run("rollback", fixturePackage, "--dry-run="+mode, "-o", "json"), &doc)
			if doc.Kind != "Rollback" || doc.FromRevision != 3 || doc.ToRevision != 2 || doc.Revision != 0 || len(doc.Changes) != 4 {
				t.Errorf("got %+v", doc)
			}
			if (doc.RequestedAt != nil) != (mode == "server") {
				t.Errorf("requestedAt: got %v", doc.RequestedAt)
			}
			if tm.pkg().Spec.Rollback != nil {
				t.Error("a dry run has written")
			}
		})
	}
}

func TestRollback_Conflicts(t *testing.T) {
	conflict := func(tm *terminal, meanwhile func(pkg *v1alpha1.Package)) {
		tm.server.beforePatch = func() {
			pkg := tm.pkg()
			meanwhile(pkg)
			tm.server.put(packagesPath, pkg)
		}
	}
	t.Run("StatusWritten", func(t *testing.T) {
		tm := newTerminal(t, fixtureNamed(t, "bad_image"))
		tm.answer(makes(4))
		conflict(tm, func(pkg *v1alpha1.Package) { pkg.Annotations = map[string]string{"a": "b"} })
		tm.run("rollback", fixturePackage, "--yes").wants(t, CodeOK, "Revision 4", "")
	})
	t.Run("SpecChanged", func(t *testing.T) {
		tm := newTerminal(t, fixtureNamed(t, "bad_image"))
		tm.answer(makes(4))
		conflict(tm, func(pkg *v1alpha1.Package) {
			pkg.Generation++
			pkg.Spec.Rollback = &v1alpha1.Rollback{ToRevision: 1, RequestedAt: metav1.NewTime(fixtureNow)}
		})
		tm.run("rollback", fixturePackage, "--yes").wants(t, CodeSuperseded, "", "has changed: check it again")
		if got := tm.pkg().Spec.Rollback.ToRevision; got != 1 {
			t.Errorf("another user's request to revision 1 was written over with one to %d", got)
		}
	})
}

func TestChangesBetween(t *testing.T) {
	f := fixtureNamed(t, "bad_image")
	from, to := &f.view.Revisions[2], &f.view.Revisions[1]
	changes, same := view.ChangesBetween(from, to, f.view.Manifests)
	got := map[string]string{}
	for _, c := range changes {
		got[view.ObjectName(c.ObjectReference)] = c.Action
	}
	want := map[string]string{
		"ConfigMap openshift-ingress/istio-openshift-gateway":                  "Update",
		"ConfigMap openshift-ingress/istio-sidecar-injector-openshift-gateway": "Update",
		"Deployment openshift-ingress/istiod-openshift-gateway":                "Update",
		"ConfigMap openshift-ingress/only-in-1.29":                             "Create",
	}
	if diff := cmp.Diff(want, got); diff != "" || same != 15 {
		t.Errorf("%d unchanged, want 15; -want, +got:\n%s", same, diff)
	}
	back, _ := view.ChangesBetween(to, from, f.view.Manifests)
	if last := back[len(back)-1]; last.Action != "Delete" || last.Name != "only-in-1.29" {
		t.Errorf("what the content does not hold is deleted, got %s %s", last.Action, last.Name)
	}
}

func TestChangesBetween_KeepsWhatNeverGoesBack(t *testing.T) {
	revision := func(crd, namespace string) *v1alpha1.Revision {
		f := newFixture(t)
		r := f.revision(1, "1.29.1", 0)
		r.Spec.Phases = []v1alpha1.Phase{{Name: "crds"}}
		add := func(text string) {
			r.Spec.Phases[0].Objects = append(r.Spec.Phases[0].Objects, v1alpha1.Object{Object: raw(text)})
		}
		add(fmt.Sprintf(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"a.b"},"spec":%q}`, crd))
		if namespace != "" {
			add(fmt.Sprintf(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":%q}}`, namespace))
		}
		return r
	}
	changes, _ := view.ChangesBetween(revision("new", "istio-system"), revision("old", ""), nil)
	for _, c := range changes {
		if c.Action != view.ChangeKeep {
			t.Errorf("%s: got %s, want Keep", view.ObjectName(c.ObjectReference), c.Action)
		}
	}
	if len(changes) != 2 {
		t.Errorf("got %d changes, want 2", len(changes))
	}
	golden(t, "rollback_keep", text(t, 80, func(p *output.Printer) { view.WriteChanges(p, changes, 0) }))
}
