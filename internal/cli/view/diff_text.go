// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/check/diff"
	"github.com/strata-run/strata/internal/cli/output"
)

var differenceLook = map[string]look{
	string(diff.Added):   {"+", "added", output.Good},
	string(diff.Removed): {"-", "removed", output.Bad},
	string(diff.Changed): {"~", "changed", output.Busy},
	string(diff.Moved):   {">", "moved", output.Busy},
	string(diff.Renamed): {">", "renamed", output.Busy},
	differenceDrifted:    {"~", "drifted", output.Bad},
	differenceMissing:    {"-", "missing", output.Bad},
	differenceCollides:   {"!", "collides", output.Bad},
	differenceUnknown:    {"?", "unknown", output.Bad},
	DifferenceForeign:    {"=", "as wanted", output.Faint},
}

// WriteDiff writes what differs, under its phase.
func WriteDiff(p *output.Printer, doc Diff) {
	head := fmt.Sprintf("%s, revision %d → %d:", doc.Package, doc.FromRevision, doc.ToRevision)
	if doc.Live {
		head = fmt.Sprintf("%s, revision %d → the cluster:", doc.Package, doc.FromRevision)
	}
	p.Line(output.Span{Text: head})
	w := phased{Printer: p}
	for i := range doc.Objects {
		writeDiffObject(&w, &doc.Objects[i], doc.Live)
	}
	p.Wrapped("  ", output.Plain, doc.Summary)
}

func writeDiffObject(w *phased, object *DiffObject, live bool) {
	p, line := w.Printer, differenceLook[object.Difference].spans(object.ObjectReference)
	line[1].Style = output.Bold
	switch {
	case object.FromName != "":
		line = append(line, output.Span{Text: "  from " + strings.TrimPrefix(object.FromNamespace+"/"+object.FromName, "/")})
	case object.FromPhase != "":
		line = append(line, output.Span{Text: "  from phase " + object.FromPhase})
	}
	w.object(object.Phase, line...)
	if object.Message != "" {
		p.Wrapped("        ", output.Plain, object.Message)
	}
	for _, field := range object.Fields {
		writeField(p, field, live)
	}
	for _, foreign := range object.NotOurs {
		text := fmt.Sprintf("not ours: %s has set %s", foreign.Manager, strings.Join(foreign.Fields[:min(len(foreign.Fields), 3)], ", "))
		if more := foreign.Count - min(len(foreign.Fields), 3); more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		p.Wrapped("        ", output.Faint, text)
	}
}

func writeField(p *output.Printer, field DiffField, live bool) {
	line := output.Line{{Text: "        " + field.Path}}
	switch {
	case live && field.ChangedBy == v1alpha1.FieldOwner:
		line = append(line, output.Span{Text: "  set by another revision", Style: output.Faint})
	case live && field.ChangedBy != "":
		line = append(line, output.Span{Text: "  changed by " + field.ChangedBy, Style: output.Bad})
	case live:
		line = append(line, output.Span{Text: "  changed, managedFields do not say by which manager", Style: output.Bad})
	}
	p.Line(line...)
	was, wasText := field.Before.(string)
	is, isText := field.After.(string)
	if wasText && isText && strings.ContainsRune(was+is, '\n') {
		for _, edit := range strings.Split(udiff.Unified("", "", ended(was), ended(is)), "\n")[2:] {
			writeUnifiedLine(p, "          ", edit)
		}
		return
	}
	if field.Before != nil {
		writeValue(p, "          - ", output.Bad, field.Before)
	}
	if field.After != nil {
		writeValue(p, "          + ", output.Good, field.After)
	}
}

func ended(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

func writeValue(p *output.Printer, prefix string, style output.Style, value any) {
	text, isText := value.(string)
	if !isText {
		data, err := json.Marshal(value)
		if err != nil {
			data = []byte(err.Error())
		}
		text = string(data)
	}
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if i > 0 {
			prefix = strings.Repeat(" ", len(prefix))
		}
		p.Line(output.Span{Text: prefix + line, Style: style})
	}
}

// WriteUnified writes the lines of a unified difference.
func WriteUnified(p *output.Printer, unified string) {
	if unified == "" {
		return
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(unified, "\n"), "\n") {
		writeUnifiedLine(p, "", line)
	}
}

func writeUnifiedLine(p *output.Printer, prefix, line string) {
	style := output.Plain
	switch {
	case line == "":
		return
	case strings.HasPrefix(line, "---"), strings.HasPrefix(line, "+++"):
		style = output.Bold
	case line[0] == '+':
		style = output.Good
	case line[0] == '-':
		style = output.Bad
	case line[0] == '@':
		style = output.Faint
	}
	p.Line(output.Span{Text: prefix + line, Style: style})
}
