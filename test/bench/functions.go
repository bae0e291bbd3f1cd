// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math"
	"os/exec"
	"regexp"
	"strconv"
)

// reconcileBenchmark is the pass over a line at rest of package revisions.
const reconcileBenchmark = "BenchmarkReconcile_AtRest/Prepared"

// measureFunctions runs the benchmark of a pass without a cluster, several times: the
// quickest was disturbed the least.
func (b *bench) measureFunctions(ctx context.Context) error {
	b.say("a pass over a line at rest")
	command := exec.CommandContext(ctx, "go", "-C", "revisions", "test", "-run", "^$", "-bench", "^BenchmarkReconcile_AtRest$/^Prepared$", "-benchmem", "-count", "5", ".")
	command.Dir = b.root
	output, err := command.CombinedOutput()
	if err != nil {
		return fmt.Errorf("running %s: %w: %s", reconcileBenchmark, err, output)
	}
	nanoseconds, bytes, err := readBenchmark(string(output))
	if err != nil {
		return err
	}
	b.figures["steady state/µs a pass"] = nanoseconds / 1000
	b.figures["steady state/kB a pass"] = bytes / 1000
	return nil
}

var benchmarkLine = regexp.MustCompile(regexp.QuoteMeta(reconcileBenchmark) + `\S*\s+\d+\s+([0-9.]+) ns/op\s+([0-9.]+) B/op`)

// readBenchmark finds the least time and memory of an operation in the output of
// go test.
func readBenchmark(output string) (nanoseconds, bytes float64, err error) {
	matches := benchmarkLine.FindAllStringSubmatch(output, -1)
	if len(matches) == 0 {
		return 0, 0, fmt.Errorf("reading the result of %s: it is not in: %s", reconcileBenchmark, output)
	}
	nanoseconds, bytes = math.Inf(1), math.Inf(1)
	for _, match := range matches {
		for i, least := range []*float64{&nanoseconds, &bytes} {
			value, err := strconv.ParseFloat(match[i+1], 64)
			if err != nil {
				return 0, 0, fmt.Errorf("reading the result of %s: %w", reconcileBenchmark, err)
			}
			*least = min(*least, value)
		}
	}
	return nanoseconds, bytes, nil
}
