// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package helmimport

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/history"
)

func TestStanding(t *testing.T) {
	imported := v1alpha1.Origin{Kind: v1alpha1.OriginHelmImport, Reference: "HelmRelease/shop/web", Generation: 2}
	cases := map[string]struct {
		reason  string
		change  func(*v1alpha1.Package)
		origin  *v1alpha1.Origin
		version int
		made    bool
		refused string
	}{
		"Empty":       {reason: "an import that was interrupted leaves a package without revisions", version: 2},
		"Same":        {reason: "importing again changes nothing", origin: &imported, version: 2, made: true},
		"AnyVersion":  {reason: "when Helm has no such release any more any version counts", origin: &imported, made: true},
		"Newer":       {reason: "an import makes revision 1 only", origin: &imported, version: 3, refused: "has version 2 of this release"},
		"Foreign":     {reason: "the name is another owner's", origin: &v1alpha1.Origin{Kind: v1alpha1.OriginCLI}, version: 2, refused: "--package"},
		"NoOrigin":    {reason: "the name is another owner's", origin: &v1alpha1.Origin{}, version: 2, refused: "--package"},
		"Front":       {reason: "a front would make its own revision", change: func(p *v1alpha1.Package) { p.Labels = map[string]string{v1alpha1.LabelFront: "gatewayclass"} }, version: 2, refused: "front gatewayclass"},
		"Deleting":    {reason: "what goes takes nothing in", change: func(p *v1alpha1.Package) { now := metav1.Now(); p.DeletionTimestamp = &now }, version: 2, refused: "being deleted"},
		"NumbersUsed": {reason: "numbers are never given twice", change: func(p *v1alpha1.Package) { p.Status.HighestRevision = 4 }, version: 2, refused: "has revisions"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pkg := &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
			if tc.change != nil {
				tc.change(pkg)
			}
			var all []v1alpha1.Revision
			if tc.origin != nil {
				all = append(all, v1alpha1.Revision{Spec: v1alpha1.RevisionSpec{Package: "web", Revision: 1, Origin: tc.origin}})
			}
			made, err := standing(pkg, history.Sort(pkg, all), "shop", "web", tc.version)
			if (made != nil) != tc.made {
				t.Errorf("%s: found a revision: %t", tc.reason, made != nil)
			}
			if tc.refused == "" {
				if err != nil {
					t.Errorf("%s: %v", tc.reason, err)
				}
				return
			}
			wantsAll(t, tc.reason, err, tc.refused, "package web")
			if !isRefusal(err) {
				t.Errorf("error %q is no refusal", err)
			}
		})
	}
}

func TestImporter_Settle(t *testing.T) {
	pkg := &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "u"}}
	first, second := version(t, 1, "superseded", ""), version(t, 2, "deployed", "")
	names := []string{second.Name, first.Name, "sh.helm.release.v1.web.v0"}
	settle := func(t *testing.T, i *Importer, fate Fate) {
		t.Helper()
		for range 2 { // doing it again changes nothing
			if err := i.Settle(t.Context(), "shop", names, "web", fate); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Run("Keep", func(t *testing.T) {
		i := cluster(t, pkg.DeepCopy(), first.DeepCopy())
		settle(t, i, FateKeep)
		if got, _ := secretNamed(t, i, first.Name); got.Labels["owner"] != "helm" || len(got.OwnerReferences) != 0 {
			t.Errorf("it was changed: %v", got.ObjectMeta)
		}
	})
	t.Run("Handover", func(t *testing.T) {
		i := cluster(t, pkg.DeepCopy(), first.DeepCopy(), second.DeepCopy())
		settle(t, i, FateHandover)
		for _, name := range names[:2] {
			got, found := secretNamed(t, i, name)
			if !found || got.Labels["owner"] != "strata" || len(got.OwnerReferences) != 1 || got.OwnerReferences[0].UID != "u" || len(got.Data[secretKey]) == 0 {
				t.Errorf("Secret %s is not the package's: %v", name, got.ObjectMeta)
			}
			if _, ok := got.Labels[v1alpha1.LabelPackage]; ok {
				t.Error("the label would make informers hold the release")
			}
		}
	})
	t.Run("Delete", func(t *testing.T) {
		i := cluster(t, pkg.DeepCopy(), first.DeepCopy(), second.DeepCopy())
		settle(t, i, FateDelete)
		for _, name := range names {
			if _, found := secretNamed(t, i, name); found {
				t.Errorf("Secret %s is still there", name)
			}
		}
	})
	t.Run("PackageGone", func(t *testing.T) {
		i := cluster(t, first.DeepCopy())
		wantsAll(t, "without a package the history is all there is", i.Settle(t.Context(), "shop", names, "web", FateDelete), "package web is gone")
		if _, found := secretNamed(t, i, first.Name); !found {
			t.Error("the history is lost")
		}
	})
}

func TestCheckName(t *testing.T) {
	for name, want := range map[string]string{
		"web": "", "web-2.0": "", strings.Repeat("x", 52): "", strings.Repeat("x", 53): "53 characters", "Web": "lower case", "": "", "a_b": "lower case",
	} {
		err := CheckName(name)
		if name == "" {
			want = "lower case"
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: got %v, want %q", name, err, want)
		}
	}
}
