// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/strata-run/strata/internal/front"
)

// frontsPage lists what fronts say on their resources.
func frontsPage(fronts []front.Registration) string {
	page := &strings.Builder{}
	heading(page, "What fronts say on their resources", "the rows of each front below internal/front")
	for _, f := range fronts {
		fmt.Fprintf(page, "\n## %s\n\nSee [its guide](../guides/%s).\n", f.Kind.Kind, f.Guide)
		condition := ""
		for _, r := range f.Rows() {
			if r.Condition != condition {
				condition = r.Condition
				fmt.Fprintf(page, "\n### %s\n\n| status | reason | when | message | what to do |\n|---|---|---|---|---|\n", condition)
			}
			fmt.Fprintf(page, "| %s | `%s` | %s | %s | %s |\n", r.Status, r.Reason, cell(r.When), cell(r.Message), cell(r.Remedy))
		}
	}
	return page.String()
}
