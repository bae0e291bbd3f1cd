// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/output"
)

// look is how what is done to an object, or how it differs, is written.
type look struct {
	sign, word string
	style      output.Style
}

// spans are an object on one line, after what is done to it.
func (l look) spans(ref v1alpha1.ObjectReference) []output.Span {
	return []output.Span{{Text: "    " + l.sign + " " + l.word, Style: l.style}, {Text: "  " + ObjectName(ref)}}
}

// phased writes objects under the names of their phases.
type phased struct {
	*output.Printer

	phase string
}

// object writes the line of an object, below the name of its phase where that begins.
func (w *phased) object(phase string, spans ...output.Span) {
	if phase != w.phase {
		w.phase = phase
		w.Line(output.Span{Text: "  phase " + phase})
	}
	w.Line(spans...)
}

// labels writes texts beside their labels, and nothing for no text.
func labels(p *output.Printer) func(label string, style output.Style, text string) {
	return func(label string, style output.Style, text string) {
		if text != "" {
			p.Labelled(output.Span{Text: "  " + label, Style: output.Faint}, labelColumn, output.Span{Text: text, Style: style})
		}
	}
}

// writeStaying writes a list of what stays, if there is anything.
func writeStaying(p *output.Printer, head string, names []string) {
	if len(names) > 0 {
		p.Line(output.Span{Text: head})
	}
	for _, name := range names {
		p.Line(output.Span{Text: "  = ", Style: output.Faint}, output.Span{Text: name})
	}
}
