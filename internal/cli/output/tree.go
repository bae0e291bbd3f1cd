// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package output

import "unicode/utf8"

// Node is one entry of a tree.
type Node struct {
	// Line is what the entry says.
	Line Line
	// Below is text about the entry, wrapped below its line.
	Below []Span
	// Children stand under the entry.
	Children []Node
}

// Tree writes a node and what is under it, with lines that show what belongs to
// what.
func (p *Printer) Tree(root Node) {
	p.node(root, "", "")
}

// node writes a node: first stands before its line, rest before what follows.
func (p *Printer) node(n Node, first, rest string) {
	p.Line(append(Line{{Text: first, Style: Faint}}, n.Line...)...)
	for _, text := range n.Below {
		p.below(rest, len(n.Children) > 0, text)
	}
	for i, child := range n.Children {
		if i == len(n.Children)-1 {
			p.node(child, rest+"└─ ", rest+"   ")
			continue
		}
		p.node(child, rest+"├─ ", rest+"│  ")
	}
}

func (p *Printer) below(rest string, open bool, text Span) {
	prefix := rest + "   "
	if open {
		prefix = rest + "│  "
	}
	for _, line := range p.wrap(utf8.RuneCountInString(prefix), text.Text) {
		p.Line(Span{Text: prefix, Style: Faint}, Span{Text: line, Style: text.Style})
	}
}
