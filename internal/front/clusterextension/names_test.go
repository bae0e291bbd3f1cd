// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/strata-run/strata/internal/front/clusterextension/resolve"
)

func TestPackageName(t *testing.T) {
	cases := map[string]struct{ name, want string }{
		"Short":       {"argocd-operator", "argocd-operator"},
		"Dots":        {"a.b.c", "a.b.c"},
		"Longest":     {strings.Repeat("a", 52), strings.Repeat("a", 52)},
		"53":          {strings.Repeat("a", 53), strings.Repeat("a", 43) + "-abe346a7"},
		"253":         {strings.Repeat("b", 253), strings.Repeat("b", 43) + "-af5a4872"},
		"DotAtTheCut": {strings.Repeat("a", 42) + "." + strings.Repeat("b", 20), strings.Repeat("a", 42) + "-c7e23293"},
	}
	seen := map[string]string{}
	for name, tc := range cases {
		got := packageName(tc.name)
		if got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
		if problems := validation.IsDNS1123Subdomain(got); len(got) > longestName || len(problems) > 0 {
			t.Errorf("%s: %s has %d characters: %v", name, got, len(got), problems)
		}
		if problems := validation.IsValidLabelValue(got + "-1000000000"); len(problems) > 0 {
			t.Errorf("%s: a revision of %s cannot be a label: %v", name, got, problems)
		}
		if problems := validation.IsValidLabelValue(ownerName(tc.name)); len(problems) > 0 {
			t.Errorf("%s: the owner %s cannot be a label: %v", name, ownerName(tc.name), problems)
		}
		if other, ok := seen[got]; ok {
			t.Errorf("%s and %s share the package %s", name, other, got)
		}
		seen[got] = name
	}
	if a, b := packageName(strings.Repeat("a", 60)), packageName(strings.Repeat("a", 61)); a == b {
		t.Errorf("two long names share the package %s", a)
	}
}

func TestRevisionMetadata(t *testing.T) {
	release := "2"
	bundle := resolve.Identity{Name: "p.v1.0.0", Version: "1.0.0", Release: &release}
	annotations := revisionAnnotations("p", bundle, "registry.example/p@sha256:0", `[{"type":"x","value":1}]`)
	want := map[string]string{
		"olm.operatorframework.io/package-name": "p", "olm.operatorframework.io/bundle-name": "p.v1.0.0", "olm.operatorframework.io/bundle-version": "1.0.0",
		"olm.operatorframework.io/bundle-release": "2", "olm.operatorframework.io/bundle-reference": "registry.example/p@sha256:0", "olm.properties": `[{"type":"x","value":1}]`,
	}
	if diff := cmp.Diff(want, annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&bundle, bundleOf(annotations)); diff != "" {
		t.Errorf("the bundle that is read back (-want +got):\n%s", diff)
	}
	bundle.Release = nil
	if _, ok := revisionAnnotations("p", bundle, "", "")["olm.operatorframework.io/bundle-release"]; ok || bundleOf(nil) != nil {
		t.Error("a release, or a bundle, out of nothing")
	}
	if a, b := identity("p", resolve.Identity{Name: "b", Version: "1"}), identity("p", resolve.Identity{Name: "b", Version: "1", Release: &release}); a == b {
		t.Errorf("the release is no part of the identity %s", a)
	}
	wantLabels := map[string]string{"olm.operatorframework.io/owner-kind": "ClusterExtension", "olm.operatorframework.io/owner-name": "p", "olm.operatorframework.io/owner": "p"}
	if diff := cmp.Diff(wantLabels, revisionLabels("p")); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}
