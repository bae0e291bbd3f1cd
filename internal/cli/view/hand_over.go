// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/internal/cli/output"
)

// HandOver is the document of `strata hand-over`.
type HandOver struct {
	metav1.TypeMeta `json:",inline"`

	// Packages are released: their objects stay, without owner.
	Packages []string `json:"packages"`
	// Classes are the GatewayClasses that lose the finalizer and the conditions of Strata.
	Classes []string `json:"classes"`
	// By is who does it: manager, or strata where no manager runs the front.
	By string `json:"by"`
	// DryRun is none, client or server.
	DryRun string `json:"dryRun"`
}

// WriteHandOver writes what is handed over, and by whom.
func WriteHandOver(p *output.Printer, d HandOver) {
	list := func(head string, names []string) {
		if len(names) > 0 {
			p.Line(output.Span{Text: head})
		}
		for _, name := range names {
			p.Line(output.Span{Text: "  = ", Style: output.Faint}, output.Span{Text: name})
		}
	}
	list("Packages that are released; all of their objects stay:", d.Packages)
	list("GatewayClasses that lose the finalizer and the conditions of Strata:", d.Classes)
	if d.By == "manager" {
		p.Line(output.Span{Text: "The manager releases them."})
	} else {
		p.Line(output.Span{Text: "No manager runs the front gatewayclass: this command releases them."})
	}
}
