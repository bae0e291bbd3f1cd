// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
	"strings"

	"github.com/strata-run/strata/internal/cli/output"
)

// dotWriter writes a Tree as a graph: the package, its revisions, their phases, objects
// and failing pods. The numbers of nodes follow from their order.
type dotWriter struct {
	p     *output.Printer
	nodes int
}

// WriteDot writes the graph.
func WriteDot(p *output.Printer, t Tree) {
	w := &dotWriter{p: p}
	w.line("digraph strata {")
	w.line("  rankdir=LR;")
	w.line(`  node [shape=box, style=rounded, fontname="sans-serif"];`)
	root := w.node(0, t.Package.Name+"\n"+t.Package.State, t.Package.State == "" || t.Package.Available != "True")
	for _, r := range t.Revisions {
		w.revision(root, r)
	}
	w.line("}")
}

func (w *dotWriter) revision(root int, r TreeRevision) {
	text := fmt.Sprintf("revision %d", r.Revision)
	if len(r.Roles) > 0 {
		text += " (" + strings.Join(r.Roles, ", ") + ")"
	}
	revision := w.node(root, text+Prefixed("\n", r.Version)+Prefixed("\n", r.Outcome), false)
	for _, phase := range r.Phases {
		parent := w.node(revision, fmt.Sprintf("phase %s\n%d/%d%s", phase.Name, phase.Ready, phase.Objects, Prefixed(" ", phase.State)), false)
		for i := range phase.Items {
			object := &phase.Items[i]
			isBad := object.State == objectNotReady
			node := w.node(parent, treeObjectName(*object)+"\n"+object.State+Prefixed(": ", object.Reason), isBad)
			for _, pod := range object.Pods {
				w.node(node, "Pod "+pod.Name+"\n"+pod.Reason, true)
			}
		}
	}
}

// node writes a node below another one, 0 for none, and returns its number.
func (w *dotWriter) node(parent int, text string, isBad bool) int {
	w.nodes++
	more := ""
	if isBad {
		more = ", color=red"
	}
	w.line(fmt.Sprintf("  n%d [label=%s%s];", w.nodes, DotQuote(text), more))
	if parent > 0 {
		w.line(fmt.Sprintf("  n%d -> n%d;", parent, w.nodes))
	}
	return w.nodes
}

func (w *dotWriter) line(text string) { w.p.Line(output.Span{Text: text}) }

// DotQuote is a text as a quoted string of the language, in which a backslash has a
// meaning, too.
func DotQuote(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(text) + `"`
}
