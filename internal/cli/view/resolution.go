// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/front"
)

// ExtensionPlan is the document of `strata extension plan`: which bundle an extension gets, why, and
// what that would change.
type ExtensionPlan struct {
	metav1.TypeMeta `json:",inline"`

	// Resolution says which bundle, and by which rule others were left out.
	Resolution front.Resolution `json:"resolution"`
	// Blocked is why no revision would be made of it, empty when one would.
	Blocked string `json:"blocked,omitempty"`
	// Warnings are those of the bundle.
	Warnings []string `json:"warnings,omitempty"`
	// Plan is what the revision would change; unset when none would be made.
	Plan *Plan `json:"plan,omitempty"`
}

// Names are the objects.
func (d ExtensionPlan) Names() []string {
	if d.Plan == nil {
		return nil
	}
	return d.Plan.Names()
}

// IsBlocked says that the bundle would not be rolled out as things are.
func (d ExtensionPlan) IsBlocked() bool {
	return d.Blocked != "" || d.Plan != nil && d.Plan.IsBlocked()
}

// WriteExtensionPlan writes the resolution, and the objects that would change; wide writes all bundles
// that were left out, and a table of the objects.
func WriteExtensionPlan(p *output.Printer, d ExtensionPlan, wide bool) {
	p.Line(resolutionHead(d.Resolution)...)
	WriteResolution(p, d.Resolution, wide)
	line := labels(p)
	for _, text := range d.Warnings {
		line("warning", output.Busy, text)
	}
	if d.Blocked != "" && d.Blocked != d.Resolution.Message {
		line("blocked", output.Bad, d.Blocked)
	}
	if d.Plan == nil {
		return
	}
	p.Line()
	if wide {
		WritePlanTable(p, *d.Plan)
	} else {
		WritePlanObjects(p, *d.Plan)
	}
	WritePlanNotes(p, *d.Plan)
}

// resolutionHead says in one line what would become of a resource.
func resolutionHead(r front.Resolution) []output.Span {
	head := []output.Span{{Text: r.Resource, Style: output.Bold}, {Text: ": " + r.Package + " "}}
	from := "not installed"
	if r.Installed != nil {
		from = r.Installed.Version
	}
	switch {
	case r.Bundle != nil && r.Installed != nil && r.Bundle.Name == r.Installed.Name:
		return append(head, output.Span{Text: from + " stays", Style: output.Good})
	case r.Bundle != nil && r.Installed == nil:
		return append(head, output.Span{Text: r.Bundle.Version + " would be installed", Style: output.Good})
	case r.Bundle != nil:
		return append(head, output.Span{Text: from + " → " + r.Bundle.Version, Style: output.Good})
	}
	return append(head, output.Span{Text: from}, output.Span{Text: ", " + r.Outcome, Style: output.Bad})
}

// mostLeftOut is how many bundles that were left out are shown.
const mostLeftOut = 8

// WriteResolution writes which bundle a resource gets, and by what others were left out.
func WriteResolution(p *output.Printer, r front.Resolution, all bool) {
	line := labels(p)
	line("asks for", output.Plain, r.Package+Prefixed(" ", r.Version)+Prefixed(" of channel ", strings.Join(r.Channels, ", ")))
	if r.Message != "" {
		line("resolved", output.Bad, r.Outcome+": "+r.Message)
	}
	if b := r.Bundle; b != nil {
		where := " of catalog " + b.Catalog + Prefixed(", channel ", strings.Join(b.Channels, ", "))
		line("bundle", output.Good, b.Name+where)
		line("because it", output.Plain, cmp.Or(b.Edge, "is the best of those that may be installed"))
		line("image", output.Plain, cmp.Or(b.Pinned, b.Image))
		if b.Deprecated {
			line("deprecated", output.Busy, "the catalog deprecates this bundle")
		}
	}
	for _, text := range r.Deprecations {
		line("deprecated", output.Busy, text)
	}
	for _, text := range r.Warnings {
		line("note", output.Busy, text)
	}
	shown := r.LeftOut
	if !all {
		shown = shown[:min(len(shown), mostLeftOut)]
	}
	for i, l := range shown {
		label := ""
		if i == 0 {
			label = "left out"
		}
		line(label, output.Plain, fmt.Sprintf("%s of %s: %s: %s", l.Name, l.Catalog, l.Rule, l.Reason))
	}
	if more := len(r.LeftOut) - len(shown); more > 0 {
		line("", output.Faint, fmt.Sprintf("and %d more", more))
	}
	for _, text := range r.Ignored {
		line("ignored", output.Faint, text)
	}
}
