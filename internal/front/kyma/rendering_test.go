// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package kyma

import (
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/front/kyma/servicemesh"
)

func inputOf(change func(*v1alpha2.Istio, *observed)) groupInput {
	istio := &v1alpha2.Istio{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha2.Namespace, Name: "default"}}
	in := groupInput{Group: front.Group[*v1alpha2.Istio]{Resources: []*v1alpha2.Istio{istio}}, Facts: observed{Oldest: "default", Cluster: servicemesh.Cluster{Size: servicemesh.Evaluation}}}
	if change != nil {
		change(istio, &in.Facts)
	}
	return in
}

// digests tell packages apart, with what holds them and where they come from.
func digests(t *testing.T, packages []content.Package) []string {
	t.Helper()
	var all []string
	for _, pkg := range packages {
		packed, err := content.Pack(pkg.Phases, pkg.Probes)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, pkg.Name, packed.Digest, pkg.Blocked, pkg.Origin.Reason, pkg.Origin.Reference)
	}
	return all
}

// What is kept is what would be rendered, whatever has changed in between.
func TestRendering(t *testing.T) {
	two := 2
	inputs := map[string]groupInput{
		"Plain":    inputOf(nil),
		"Spec":     inputOf(func(istio *v1alpha2.Istio, _ *observed) { istio.Spec.Config.NumTrustedProxies = &two }),
		"Name":     inputOf(func(istio *v1alpha2.Istio, _ *observed) { istio.Name = "other" }),
		"Cluster":  inputOf(func(_ *v1alpha2.Istio, facts *observed) { facts.Cluster.Size = servicemesh.Production }),
		"Features": inputOf(func(_ *v1alpha2.Istio, facts *observed) { facts.Cluster.Features.DisableCNI = true }),
		"CRDs":     inputOf(func(_ *v1alpha2.Istio, facts *observed) { facts.CRDVersion = "9.9.9" }),
		"Foreign":  inputOf(func(_ *v1alpha2.Istio, facts *observed) { facts.ForeignCRDs = true }),
		"Gate": inputOf(func(istio *v1alpha2.Istio, _ *observed) {
			istio.Annotations = map[string]string{v1alpha2.AnnotationLastApplied: `{"IstioTag":"1.2.3"}`}
		}),
		"Allowed": inputOf(func(istio *v1alpha2.Istio, _ *observed) {
			istio.Annotations = map[string]string{v1alpha2.AnnotationLastApplied: `{"IstioTag":"1.2.3"}`, v1alpha2.AnnotationAllowVersion: "1.31.0"}
		}),
	}
	kept := &rendering{settings: settingsOf(t)}
	for name, in := range inputs {
		for range 2 {
			got, err := kept.render(in)
			if err != nil {
				t.Fatal(err)
			}
			fresh, err := (&rendering{settings: settingsOf(t)}).render(in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(digests(t, fresh), digests(t, got)); diff != "" {
				t.Errorf("%s: what was kept is not what is asked for\n%s", name, diff)
			}
		}
	}
}

// News of something else does not render again, and nothing is kept without a resource.
func TestRendering_Kept(t *testing.T) {
	kept := &rendering{settings: settingsOf(t)}
	rendered := func(in groupInput) []content.Package {
		packages, err := kept.render(in)
		if err != nil {
			t.Fatal(err)
		}
		return packages
	}
	first := rendered(inputOf(nil))
	before := heap()
	allocated := testing.AllocsPerRun(3, func() {
		again := rendered(inputOf(func(istio *v1alpha2.Istio, facts *observed) {
			istio.ResourceVersion, istio.Status.State, facts.Warning = "7", v1alpha2.StateReady, "new"
			istio.Annotations = map[string]string{annotationClusterSize: "Evaluation"}
		}))
		if !slices.EqualFunc(first, again, func(a, b content.Package) bool { return &a.Phases[0] == &b.Phases[0] }) {
			t.Error("the same was rendered again")
		}
	})
	if allocated > 1000 {
		t.Errorf("a pass makes %.0f allocations", allocated)
	}
	if packages := rendered(groupInput{}); packages != nil {
		t.Errorf("without a resource: %v", packages)
	}
	runtime.KeepAlive(&first[0])
	first = nil
	if held := before - heap(); held < 1_000_000 || held > 8_000_000 {
		t.Errorf("what is kept takes %d bytes, and took 3 MB when this was written", held)
	}
	if _, err := kept.render(inputOf(func(istio *v1alpha2.Istio, _ *observed) {
		istio.Spec.Config.ProxyStatsMatcher = &v1alpha2.ProxyStatsMatcher{InclusionRegexps: []string{"("}}
	})); err == nil {
		t.Error("what cannot be rendered is")
	}
}

// heap is how many bytes are in use.
func heap() int64 {
	stats := runtime.MemStats{}
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
