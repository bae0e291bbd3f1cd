// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/front/gateway"
	"github.com/strata-run/strata/internal/front/gatewayclass"
	"github.com/strata-run/strata/internal/front/istiocsr"
	"github.com/strata-run/strata/internal/front/kyma"
)

// frontSource is what a front says on its resources.
type frontSource struct {
	// title is the kind of the resources, and guide the page about them.
	title, guide string
	rows         func() []front.Row
}

// frontSources are the fronts, each with its rows.
var frontSources = []frontSource{
	{"GatewayClass", "gatewayclass.md", gatewayclass.Rows},
	{"Gateway", "gateway-dns.md", gateway.Rows},
	{"IstioCSR", "istiocsr.md", istiocsr.Rows},
	{"Istio", "kyma.md", kyma.Rows},
}

// frontsPage lists what fronts say on their resources.
func frontsPage(sources []frontSource) string {
	page := &strings.Builder{}
	heading(page, "What fronts say on their resources", "the rows of each front below internal/front")
	for _, source := range sources {
		fmt.Fprintf(page, "\n## %s\n\nSee [its guide](../guides/%s).\n", source.title, source.guide)
		condition := ""
		for _, r := range source.rows() {
			if r.Condition != condition {
				condition = r.Condition
				fmt.Fprintf(page, "\n### %s\n\n| status | reason | when | message | what to do |\n|---|---|---|---|---|\n", condition)
			}
			fmt.Fprintf(page, "| %s | `%s` | %s | %s | %s |\n", r.Status, r.Reason, cell(r.When), cell(r.Message), cell(r.Remedy))
		}
	}
	return page.String()
}
