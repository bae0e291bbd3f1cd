// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/cli/view"
)

func TestStats(t *testing.T) {
	var packages []v1alpha1.Package
	var revisions []v1alpha1.Revision
	for _, name := range slices.Sorted(maps.Keys(fixtures())) {
		f := fixtureNamed(t, name)
		f.view.Package.Name = name
		for i := range f.view.Revisions {
			f.view.Revisions[i].Spec.Package = name
		}
		packages = append(packages, *f.view.Package)
		revisions = append(revisions, f.view.Revisions...)
	}
	s := view.BuildStats(packages, revisions, fixtureNow)
	if diff := cmp.Diff([]string{"collision", "deadline"}, s.Failed); diff != "" {
		t.Errorf("failed: -want, +got:\n%s", diff)
	}
	if len(s.Paused) != 1 || s.Paused[0].By != "alice" || s.States["RolledOut"] != 2 || s.Packages != len(packages) || s.Revisions != len(revisions) {
		t.Errorf("got %+v", s)
	}
	if s.HistoryBytes < 10_000 || s.HistoryBytes != sum(packages, revisions) {
		t.Errorf("history: %d bytes, want %d", s.HistoryBytes, sum(packages, revisions))
	}
	// The rest depends on how large the fixtures are.
	s.HistoryBytes, s.Slices, s.Largest = 1234567, 3, []view.PackageSize{{Name: "web", Revisions: 2, Bytes: 2345}}
	golden(t, "stats", text(t, 80, func(p *output.Printer) { view.WriteStats(p, s) }))
}

func sum(packages []v1alpha1.Package, revisions []v1alpha1.Revision) int64 {
	var total int64
	for i := range revisions {
		if slices.ContainsFunc(packages, func(p v1alpha1.Package) bool { return p.Name == revisions[i].Spec.Package }) {
			total += view.SizeOf(&revisions[i])
		}
	}
	return total
}

func TestStats_Command(t *testing.T) {
	tm := newTerminal(t, fixtureNamed(t, "paused"))
	tm.run("stats").wants(t, CodeOK, "by alice: change freeze", "")
	tm.run("stats", "-o", "jsonpath={.states.Paused} {.slices}").wants(t, CodeOK, "1 3\n", "")
	newTerminal(t, nil).run("stats").wants(t, CodeOK, "packages      0", "")
}

func TestGet_State(t *testing.T) {
	tm := newTerminal(t, fixtureNamed(t, "deadline"))
	for state, found := range map[string]bool{"Failed": true, "progressdeadlineexceeded": true, "RolledOut": false, "Paused": false, "Paused,Failed": true} {
		r := tm.run("get", "--state", state, "-o", "name")
		if got := strings.Contains(r.out, fixturePackage); got != found || r.code != CodeOK {
			t.Errorf("--state %s: shown %t, code %d", state, got, r.code)
		}
	}
	tm.run("get", "--state", "Bogus").wants(t, CodeUsage, "", `there is no state "Bogus"; there are: Failed, `)
	back := newTerminal(t, fixtureNamed(t, "rolled_back"))
	back.run("get", "--state", "RolledBack").wants(t, CodeOK, "RolledOut", "is rolled back: the content of revision 2 runs")
	paused := newTerminal(t, fixtureNamed(t, "paused"))
	paused.run("get", "--state", "paused").wants(t, CodeOK, "", "Note: "+fixturePackage+" is paused by alice: change freeze")
	paused.run("get", "-o", "wide").wants(t, CodeOK, "alice: change freeze", "")
	paused.run("get", "-o", "jsonpath={.items[0].spec.paused.by}").wants(t, CodeOK, "alice\n", "")
	paused.run("get", "-o", "jsonpath={.items[").wants(t, CodeUsage, "", "reading the template")
	paused.run("history", fixturePackage, "-o", "name").wants(t, CodeOK, "revision.strata.run/"+fixturePackage+"-3\n", "")
}

func TestWarningsOf(t *testing.T) {
	ref := func(group, kind, name string) v1alpha1.ObjectReference {
		return v1alpha1.ObjectReference{Group: group, Version: "v1", Kind: kind, Namespace: "a", Name: name}
	}
	revision := func(secret string) *v1alpha1.Revision {
		r := &v1alpha1.Revision{}
		r.Spec.Phases = []v1alpha1.Phase{{Name: "x", Objects: []v1alpha1.Object{{Secret: &v1alpha1.SecretReference{Name: secret}}}}}
		return r
	}
	got := view.WarningsOf(revision("one"), revision("two"), []view.Change{
		{ObjectReference: ref("apiextensions.k8s.io", "CustomResourceDefinition", "c"), Action: view.ChangeKeep},
		{ObjectReference: ref("", "Namespace", "n"), Action: view.ChangeKeep},
		{ObjectReference: ref("", "PersistentVolumeClaim", "p"), Action: view.ChangeUpdate},
		{ObjectReference: ref("batch", "Job", "j"), Action: view.ChangeDelete},
		{ObjectReference: ref("apps", "StatefulSet", "s"), Action: view.ChangeUpdate},
		{ObjectReference: ref("apps", "Deployment", "d"), Action: view.ChangeUpdate},
	}, view.Manifests{})
	for i, want := range []string{"CustomResourceDefinition a/c", "Namespace a/n", "PersistentVolumeClaim a/p", "Job a/j", "StatefulSet a/s", "Secrets of the two"} {
		if i >= len(got) || !strings.HasPrefix(got[i], want) {
			t.Errorf("warning %d is not about %s: %q", i, want, got)
		}
	}
	if len(got) != 6 {
		t.Errorf("got %q", got)
	}
	if same := view.WarningsOf(revision("one"), revision("one"), nil, view.Manifests{}); len(same) != 0 {
		t.Errorf("nothing differs: %q", same)
	}
}

func TestAdoptable(t *testing.T) {
	f := fixtureNamed(t, "collision")
	target := &f.view.Revisions[2]
	cases := map[string]struct {
		named []string
		want  string
		code  Code
	}{
		"Colliding": {want: "Deployment openshift-ingress/istiod-openshift-gateway"},
		"Named":     {named: []string{"clusterrole.rbac.authorization.k8s.io/istio-reader-3"}, want: "ClusterRole istio-reader-3"},
		"Plural":    {named: []string{"deployments/openshift-ingress/istiod-openshift-gateway"}, want: "Deployment openshift-ingress/istiod-openshift-gateway"},
		"Elsewhere": {named: []string{"deployment/other/istiod-openshift-gateway"}, code: CodeNotFound},
		"NoKind":    {named: []string{"istio-reader-3"}, code: CodeNotFound},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			items, err := adoptable(target, f.view.Manifests, tc.named)
			if codeOf(err) != tc.code {
				t.Fatalf("got %v", err)
			}
			if tc.code == CodeOK && (len(items) != 1 || view.ObjectName(items[0].Ref) != tc.want) {
				t.Errorf("got %v, want %s", items, tc.want)
			}
		})
	}
	target.Status.Objects = nil
	if _, err := adoptable(target, f.view.Manifests, nil); codeOf(err) != CodeNotFound {
		t.Errorf("nothing collides: got %v", err)
	}
}

func TestAdoption_Text(t *testing.T) {
	doc := view.Adoption{Package: fixturePackage, Revision: 3, Objects: []view.AdoptedObject{
		{ObjectReference: istiod, From: "HelmRelease istiod"},
		{ObjectReference: v1alpha1.ObjectReference{Version: "v1", Kind: "Namespace", Name: "a"}, Retained: true},
	}}
	golden(t, "adopt", text(t, 80, func(p *output.Printer) { view.WriteAdoption(p, doc) }))
}
