// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"runtime/metrics"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-run/strata/internal/chart"
)

// What the templates of a chart may take.
const (
	chartTime   = time.Minute
	chartMemory = 1 << 30
	// chartLook is how often is looked.
	chartLook = 10 * time.Millisecond
)

// renderChart renders a chart within limits: a template may recurse or repeat without end,
// and Go can neither stop it nor survive when the memory is gone. The rendering then goes
// on until the process ends, which the error makes it do.
func renderChart(loaded *chart.Chart, release chart.Release) ([]*unstructured.Unstructured, error) {
	type result struct {
		objects []*unstructured.Unstructured
		err     error
	}
	done := make(chan result, 1)
	most := memoryInUse() + chartMemory
	go func() {
		objects, err := loaded.Render(release)
		done <- result{objects, err}
	}()
	over := time.After(chartTime)
	look := time.NewTicker(chartLook)
	defer look.Stop()
	for {
		select {
		case r := <-done:
			return r.objects, r.err
		case <-over:
			return nil, exitf(CodeTerminal, "rendering chart %s takes more than %s: a template may repeat without end", loaded.Name(), chartTime)
		case <-look.C:
			if memoryInUse() > most {
				return nil, exitf(CodeTerminal, "rendering chart %s takes more than %d MiB of memory: a template may call itself, or repeat, without end", loaded.Name(), chartMemory>>20)
			}
		}
	}
}

// memoryInUse is how much memory objects and stacks take.
func memoryInUse() uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64() + samples[1].Value.Uint64()
}
