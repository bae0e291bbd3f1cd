// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istio

import "testing"

// BenchmarkContent is what the first render of a version costs on top: parsing istiod's
// chart and the CRDs.
func BenchmarkContent(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		r := newRelease(Newest().minor, Newest().app, Newest().files)
		if _, err := r.Chart(ChartIstiod); err != nil {
			b.Fatal(err)
		}
		if _, err := r.CRDs(); err != nil {
			b.Fatal(err)
		}
	}
}
