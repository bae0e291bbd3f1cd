// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package celprobe

import (
	"testing"
)

const readyExpression = `self.status.conditions.exists(c, c.type == "Ready" && c.status == "True")`

func BenchmarkProbe(b *testing.B) {
	p, obj := compile(b, readyExpression, ""), gateway()
	b.ReportAllocs()
	for b.Loop() {
		p.Probe(obj)
	}
}

// BenchmarkProbe_Limit is the worst that an evaluation of many cheap steps can cost.
func BenchmarkProbe_Limit(b *testing.B) {
	p, obj := compile(b, `self.entries.all(a, self.entries.all(b, b.number >= 0))`, ""), hostile()
	b.ReportAllocs()
	for b.Loop() {
		p.Probe(obj)
	}
}

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		compile(b, readyExpression, "")
	}
}
