// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/check/diff"
	"github.com/strata-run/strata/internal/cli/view"
)

// TestHistory_Who: the table names who made each revision, and what differs.
func TestHistory_Who(t *testing.T) {
	tm := newTerminal(t, fixtureNamed(t, "rolled_back"))
	var h view.History
	parse(t, tm.run("history", fixturePackage, "-o", "json"), &h)
	type row struct {
		who, changes string
		with         int64
	}
	var got []row
	for _, r := range h.Revisions {
		got = append(got, row{r.Who, r.Changes, r.ComparedWith})
	}
	const image = "Deployment istiod-openshift-gateway: image; ConfigMap istio-openshift-gateway: mesh, and "
	want := []row{{"manager", "", 0}, {"manager", image + "2 more", 1}, {"manager", image + "2 more", 2}, {"bob", image + "2 more", 3}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(row{})); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	tm.run("history", fixturePackage).wants(t, CodeOK, "bob       Deployment istiod-openshift-gateway: image;", "")
}

// TestHistory_SliceGone: what can be said is said.
func TestHistory_SliceGone(t *testing.T) {
	f := fixtureNamed(t, "rolled_back")
	tm := newTerminal(t, f)
	for i := range f.objs {
		tm.server.remove(slicesPath, f.objs[i].Name)
	}
	tm.run("history", fixturePackage).wants(t, CodeOK, "4 current", "not all changes are known: ")
}

func TestHistory_Revision(t *testing.T) {
	f := fixtureNamed(t, "rolled_back")
	f.view.Package.Spec.ApprovedDigest, f.view.Package.Spec.ApprovedBy = f.view.Revisions[3].Spec.ContentDigest, "carol"
	f.view.Package.Spec.Gates = []v1alpha1.Gate{{Name: "check", ApprovedDigest: f.view.Revisions[3].Spec.ContentDigest, ApprovedBy: "dave"}, {Name: "closed"}}
	tm := newTerminal(t, f)
	shown := tm.run("history", fixturePackage, "--revision", "4")
	shown.wants(t, CodeOK, "approved  by dave with gate check", "")
	golden(t, "history_revision", shown.out)

	var d view.RevisionDetails
	parse(t, tm.run("history", fixturePackage, "--revision", "4", "-o", "json"), &d)
	want := []view.Approval{{By: "carol"}, {Gate: "check", By: "dave"}}
	if diff := cmp.Diff(want, d.Approvals); diff != "" || d.Revision.Who != "bob" || d.Diff == nil || d.Diff.FromRevision != 3 || len(d.Phases) != 3 {
		t.Errorf("got %+v, approvals -want, +got:\n%s", d, diff)
	}
	tm.run("history", fixturePackage, "--revision", "1", "-o", "jsonpath={.diff}").wants(t, CodeOK, "\n", "")
	tm.run("history", fixturePackage, "--revision", "9").wants(t, CodeNotFound, "", "there are: 1, 2, 3, 4")
	tm.run("history", fixturePackage, "--revision", "-1").wants(t, CodeUsage, "", `"-1" is not a revision`)
}

func TestShortField(t *testing.T) {
	for path, want := range map[string]string{
		".spec.template.spec.containers[name=main].image":                 "image",
		".spec.template.spec.containers[name=main].args[0]":               "args",
		".spec.template.spec.containers[name=main].env[name=LEVEL].value": "env LEVEL",
		".spec.ports[port=80,protocol=TCP]":                               "ports 80/TCP",
		`.data["app.yaml"]`:                                               "app.yaml",
		`.metadata.annotations["a.b/c"]`:                                  "a.b/c",
		".data.level":                                                     "level",
		"(collisionProtection)":                                           "(collisionProtection)",
		".":                                                               ".",
	} {
		if got := view.ShortField(path); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
}

// TestChangesText: two objects are named and the others counted; Secrets are compared by
// the names of what they are stored in.
func TestChangesText(t *testing.T) {
	one := func(kind diff.Kind, name string, paths ...string) diff.Difference {
		d := diff.Difference{Kind: kind, After: &diff.Object{Manifest: manifest("v1", "ConfigMap", "", name, nil)}}
		for _, path := range paths {
			d.Changes = append(d.Changes, diff.Change{Path: path})
		}
		return d
	}
	sealed := &v1alpha1.Revision{Spec: v1alpha1.RevisionSpec{Phases: []v1alpha1.Phase{{Objects: []v1alpha1.Object{{Secret: &v1alpha1.SecretReference{Name: "x"}}}}}}}
	none := &v1alpha1.Revision{}
	cases := map[string]struct {
		after  *v1alpha1.Revision
		result diff.Result
		want   string
	}{
		"Nothing": {none, diff.Result{}, "nothing"},
		"Ignored": {none, diff.Result{Ignored: 1}, "labels of the chart's version"},
		"Two":     {none, diff.Result{Differences: []diff.Difference{one(diff.Added, "a"), one(diff.Removed, "b")}}, "+ ConfigMap a; - ConfigMap b"},
		"Image":   {none, diff.Result{Differences: []diff.Difference{one(diff.Moved, "a"), one(diff.Changed, "b", ".spec.image", ".a", ".b", ".c", ".d")}}, "ConfigMap b: image, a, b, 2 more; ConfigMap a: phase"},
		"Secrets": {sealed, diff.Result{}, "Secrets"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := view.ChangesText(none, tc.after, tc.result); !strings.EqualFold(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
