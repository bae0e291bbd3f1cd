// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayclass

import (
	"testing"

	"github.com/strata-run/strata/internal/istio"
)

// BenchmarkRender is a render of both packages with the charts parsed already.
// 2026-11: 25-45 ms on one core of a small virtual machine; the ceiling we want
// to stay below is 300 ms.
func BenchmarkRender(b *testing.B) {
	for _, version := range istio.Minors() {
		b.Run(version, func(b *testing.B) {
			in := input(version)
			mustRender(b, in)
			b.ReportAllocs()
			for b.Loop() {
				mustRender(b, in)
			}
		})
	}
}
