// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayclass

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/strata-run/strata/internal/content"
)

func TestRender_Canary(t *testing.T) {
	const image = "example.com/pilot:next"
	asks := func(version string) map[string]string {
		return map[string]string{AnnotationCanaryVersion: version, AnnotationCanaryImage: image}
	}
	cases := map[string]struct {
		reason      string
		version     string
		running     string
		annotations map[string]string
		existing    []string
		gateways    []string
		// held is a part of why nothing new is published; "-" says that there is no
		// package, empty that there is one that is not held back.
		held string
	}{
		"NotAsked":          {reason: "no canary without the annotation", version: "1.31", held: "-"},
		"SideBySide":        {reason: "from 1.31 a Gateway can be moved without loss", version: "1.31", annotations: asks("1.31")},
		"OldSideTooOld":     {reason: "before 1.31 the old istiod drops a Gateway that is moved", version: "1.29", annotations: asks("1.31"), held: "upgrade in place"},
		"OldSideRunsStill":  {reason: "what runs counts, and the upgrade to what is asked for hangs", version: "1.31", running: "1.29.1", annotations: asks("1.31"), held: "beside 1.29.1"},
		"OldSideRunsAgain":  {reason: "what may run next counts as well", version: "1.29", running: "1.31.0", annotations: asks("1.31"), held: "beside 1.29.1"},
		"RunsIt":            {reason: "it runs already", version: "1.31", running: "1.31.0", annotations: asks("1.31")},
		"RunsAnother":       {reason: "a version that this binary does not know", version: "1.31", running: "1.30.2", annotations: asks("1.31"), held: "beside 1.30.2"},
		"Older":             {reason: "a canary is no way back", version: "1.31", annotations: asks("1.29"), held: "may not be older"},
		"Unknown":           {reason: "a version that is not there", version: "1.31", annotations: asks("1.30"), held: AnnotationCanaryVersion},
		"BadImage":          {reason: "an image that is none", version: "1.31", annotations: map[string]string{AnnotationCanaryVersion: "1.31", AnnotationCanaryImage: "x"}, held: AnnotationCanaryImage},
		"Aborted":           {reason: "without Gateways it goes", version: "1.31", existing: []string{PackageCanary}, held: "-"},
		"AbortedInUse":      {reason: "Gateways would have no other istiod", version: "1.31", existing: []string{PackageCanary}, gateways: []string{"a/b", "c/d"}, held: "set the label istio.io/rev of a/b, c/d to openshift-gateway"},
		"LabelledOnly":      {reason: "a label alone makes no canary", version: "1.31", gateways: []string{"a/b"}, held: "-"},
		"RefusedWhileInUse": {reason: "what is refused stays while it is there", version: "1.29", annotations: asks("1.31"), existing: []string{PackageCanary}, gateways: []string{"a/b"}, held: "upgrade in place"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := input(tc.version)
			in.Classes[0].Annotations = tc.annotations
			in.Existing, in.CanaryGateways, in.Running = tc.existing, tc.gateways, tc.running
			packages := mustRender(t, in)
			i := slices.IndexFunc(packages, func(p content.Package) bool { return p.Name == PackageCanary })
			switch {
			case tc.held == "-":
				if i >= 0 {
					t.Fatalf("%s: there is one, held for %q", tc.reason, packages[i].Blocked)
				}
			case i < 0:
				t.Fatalf("%s: there is none", tc.reason)
			case tc.held == "" && packages[i].Blocked != "", !strings.Contains(packages[i].Blocked, tc.held):
				t.Fatalf("%s: held for %q, want %q", tc.reason, packages[i].Blocked, tc.held)
			case tc.held == "" && !slices.Contains(packages[i].Origin.Images, image):
				t.Errorf("its images are %v", packages[i].Origin.Images)
			}
			if packages[1].Name != PackageControlPlane || packages[1].Blocked != "" {
				t.Errorf("the first control plane goes on: %s is held for %q", packages[1].Name, packages[1].Blocked)
			}
		})
	}
}

// Two control planes beside each other share no object, and the canary changes nothing
// of the first one.
func TestRender_CanarySharesNothing(t *testing.T) {
	in := input("1.31")
	in.Classes = append(in.Classes, class("edge", 3, nil))
	alone := mustRender(t, in)
	in.Classes[0].Annotations = map[string]string{AnnotationCanaryVersion: "1.31"}
	both := mustRender(t, in)
	if diff := cmp.Diff(string(contentOf(t, alone)), string(contentOf(t, both[:2]))); diff != "" {
		t.Errorf("the canary changes the first control plane:\n%s", diff)
	}
	names := func(p content.Package) []string {
		var all []string
		each([]content.Package{p}, func(o *unstructured.Unstructured) {
			all = append(all, o.GetKind()+" "+o.GetNamespace()+"/"+o.GetName())
		})
		return all
	}
	first := names(both[1])
	for _, name := range names(both[2]) {
		if slices.Contains(first, name) {
			t.Errorf("both have %s", name)
		}
		if strings.Contains(name, "gatewayclass") {
			t.Errorf("the canary has %s; istiod takes the defaults of the first one", name)
		}
	}
	each(both[2:], func(o *unstructured.Unstructured) {
		if got := o.GetAnnotations()[annotationReleaseName]; got != "openshift-gateway-canary-istiod" {
			t.Errorf("%s %s would be adopted by Helm release %q", o.GetKind(), o.GetName(), got)
		}
	})
	if diff := cmp.Diff([]string{PackageCRDs}, both[2].After); diff != "" {
		t.Errorf("what the canary comes after:\n%s", diff)
	}
}

func TestRender_Images(t *testing.T) {
	cases := map[string]struct {
		reason      string
		version     string
		annotations map[string]string
		want        []string
		history     []string
	}{
		"AllVersions": {reason: "settings for every version", version: "1.29", want: []string{"a.io/istiod:all", "a.io/proxy:all"},
			history: []string{"istiod image a.io/istiod:all is set by flag --istiod-image", "proxy image a.io/proxy:all is set by the manager's settings"}},
		"OneVersion": {reason: "those of a version win, component by component", version: "1.31", want: []string{"a.io/istiod:131", "a.io/proxy:all"},
			history: []string{"istiod image a.io/istiod:131 is set by file x"}},
		"Class": {reason: "a class wins over all settings", version: "1.31", annotations: map[string]string{AnnotationIstiodImage: "b.io/istiod:class"},
			want: []string{"a.io/proxy:all", "b.io/istiod:class"}, history: []string{"asks for istiod image b.io/istiod:class"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := input(tc.version)
			in.Classes = []gatewayv1.GatewayClass{class("a", 1, tc.annotations)}
			in.Images = Images{Istiod: "a.io/istiod:all", IstiodSource: "flag --istiod-image", Proxy: "a.io/proxy:all"}
			in.VersionImages = map[string]Images{"1.31": {Istiod: "a.io/istiod:131", IstiodSource: "file x"}}
			plane := mustRender(t, in)[1]
			if diff := cmp.Diff(tc.want, plane.Origin.Images); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			for _, part := range tc.history {
				if !strings.Contains(plane.Origin.Reason, part) {
					t.Errorf("%s: the revision says %q, which lacks %q", tc.reason, plane.Origin.Reason, part)
				}
			}
		})
	}
}
