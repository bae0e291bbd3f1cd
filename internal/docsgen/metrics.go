// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/strata-run/strata/internal/telemetry"
)

// metricsPage lists metrics with their labels and meaning.
func metricsPage(catalog []telemetry.Description) string {
	page := &strings.Builder{}
	heading(page, "Metrics", "the catalog in internal/telemetry")
	page.WriteString("\n| metric | type | labels | meaning |\n|---|---|---|---|\n")
	for _, d := range catalog {
		labels := ""
		if len(d.Labels) > 0 {
			labels = "`" + strings.Join(d.Labels, "`, `") + "`"
		}
		fmt.Fprintf(page, "| `%s` | %s | %s | %s |\n", d.Name, d.Type, labels, cell(d.Help))
	}
	return page.String()
}
