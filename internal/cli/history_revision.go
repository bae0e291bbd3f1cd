// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/output"
)

// RevisionDetails is the document of `strata history --revision`: one revision, how it
// went, how it differs from the one before, and its objects by phase.
type RevisionDetails struct {
	metav1.TypeMeta `json:",inline"`

	// Package is the package.
	Package PackageSummary `json:"package"`
	// Revision is the revision.
	Revision HistoryRevision `json:"revision"`
	// Approvals are those of the Package that name its content at present.
	Approvals []Approval `json:"approvals,omitempty"`
	// Diff is how it differs from the revision before; unset when none is kept.
	Diff *Diff `json:"diff,omitempty"`
	// Phases are in the order in which they are rolled out.
	Phases []TreePhase `json:"phases"`
}

// Approval is the approval of a content.
type Approval struct {
	// Gate is the gate that lets it through, empty for spec.approvedDigest.
	Gate string `json:"gate,omitempty"`
	// By is the user who approved it, empty when that is not known.
	By string `json:"by,omitempty"`
}

// historyOfOne shows one revision.
func (a *app) historyOfOne(ctx context.Context, o historyOptions, name string) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	pkg, revisions, err := c.packageAndRevisions(ctx, name)
	if err != nil {
		return err
	}
	r, err := revisionNumbered(name, revisions, o.revision)
	if err != nil {
		return err
	}
	v := view{pkg: pkg, revisions: revisions, slices: sliceCache{}}
	a.readDetails(ctx, c, &v, []*v1alpha1.Revision{r})
	d := v.revisionDetails(r)
	if before := revisionBefore(r, revisions); before != nil {
		if err := a.compareOne(ctx, c, o, &d, before, r); err != nil {
			return err
		}
	}
	p := a.stdout(o.output.value)
	switch {
	case o.output.isDocument():
		return printDocument(p, o.output.value, d)
	case o.output.value == outputName:
		p.Line(output.Span{Text: "revision." + v1alpha1.GroupVersion.Group + "/" + r.Name})
	default:
		writeRevisionDetails(p, d, a.now())
	}
	return p.Err()
}

// revisionDetails is the document without the comparison.
func (v view) revisionDetails(r *v1alpha1.Revision) RevisionDetails {
	summary := summarisePackage(v.pkg, v.revisions)
	tree := v.treeRevision(r, summary)
	return RevisionDetails{
		TypeMeta: documentType("RevisionDetails"), Package: summary, Phases: tree.Phases, Approvals: approvalsOf(v.pkg, digestOf(r)),
		Revision: HistoryRevision{RevisionSummary: tree.RevisionSummary, Who: whoMade(r)},
	}
}

// approvalsOf are the approvals of a content.
func approvalsOf(pkg *v1alpha1.Package, digest string) []Approval {
	var approvals []Approval
	if digest == "" {
		return nil
	}
	if pkg.Spec.ApprovedDigest == digest {
		approvals = append(approvals, Approval{By: pkg.Spec.ApprovedBy})
	}
	for _, gate := range pkg.Spec.Gates {
		if gate.ApprovedDigest == digest {
			approvals = append(approvals, Approval{Gate: gate.Name, By: gate.ApprovedBy})
		}
	}
	return approvals
}

// compareOne adds how the revision differs from the one before.
func (a *app) compareOne(ctx context.Context, c *cluster, o historyOptions, d *RevisionDetails, before, after *v1alpha1.Revision) error {
	options := diffOptions{managerNamespace: o.managerNamespace, comparison: comparison{context: 3, patterns: noisePatterns()}}
	result, unread, err := a.compareRevisions(ctx, c, options, before, after)
	if err != nil {
		return err
	}
	doc, err := buildDiff(before, after, result, options.comparison)
	if unread {
		doc.addUnread(before, after)
	}
	d.Diff, d.Revision.ComparedWith, d.Revision.Changes = &doc, before.Spec.Revision, changesText(before, after, result)
	return err
}

// writeRevisionDetails writes one revision as a screen.
func writeRevisionDetails(p *output.Printer, d RevisionDetails, now time.Time) {
	r := d.Revision
	var origin v1alpha1.Origin
	if r.Origin != nil {
		origin = *r.Origin
	}
	p.Line(output.Span{Text: d.Package.Name + ", revision " + withVersion(r.Revision, r.Version), Style: output.Bold}, output.Span{Text: prefixed("  ", strings.Join(r.Roles, ", "))})
	line := func(label string, style output.Style, text string) {
		if text != "" {
			p.Labelled(output.Span{Text: "  " + label, Style: output.Faint}, labelColumn, output.Span{Text: text, Style: style})
		}
	}
	line("made", output.Plain, stamp(r.CreatedAt.Time)+", "+age(now, r.CreatedAt)+" ago"+prefixed(", by ", r.Who))
	line("why", output.Plain, origin.Reason)
	line("from", output.Plain, strings.TrimSpace(originText(r.RevisionSummary, origin)+" "+origin.Reference))
	line("outcome", stateStyle(r.Outcome), r.Outcome+prefixed(" after ", tookText(r.RevisionSummary)))
	if !r.Succeeded {
		line("", output.Plain, r.Message)
	}
	for _, approval := range d.Approvals {
		line("approved", output.Plain, strings.TrimSpace(prefixed("by ", approval.By)+prefixed(" with gate ", approval.Gate)))
	}
	line("digest", output.Plain, r.ContentDigest)
	line("images", output.Plain, strings.Join(origin.Images, " "))
	for _, phase := range d.Phases {
		writePhaseObjects(p, phase)
	}
	if d.Diff != nil {
		writeDifference(p, *d.Diff)
	}
}

// longestValue is how many bytes of a value are shown beside its field.
const longestValue = 60

// writeDifference writes what differs from the revision before, a field on a line. Values
// that are long are left to `strata diff`.
func writeDifference(p *output.Printer, d Diff) {
	p.Wrapped("  ", output.Plain, fmt.Sprintf("compared with revision %d: %s; `strata diff %s %d %d` shows all", d.FromRevision, d.Summary, d.Package, d.FromRevision, d.ToRevision))
	for i := range d.Objects {
		object := &d.Objects[i]
		look := differenceLook[object.Difference]
		p.Line(output.Span{Text: "    " + look.sign + " " + look.word, Style: look.style}, output.Span{Text: "  " + objectName(object.ObjectReference)})
		for _, field := range object.Fields {
			before, after := shortValue(field.Before), shortValue(field.After)
			text := field.Path
			if before != "" && after != "" {
				text += ": " + before + " → " + after
			}
			p.Line(output.Span{Text: "        " + text})
		}
	}
	if d.Unread != "" {
		p.Wrapped("  ", output.Plain, d.Unread)
	}
}

// shortValue is a value on one line, empty when it is too long for that; "none" is for no
// value.
func shortValue(value any) string {
	text, isText := value.(string)
	if !isText {
		data, err := json.Marshal(value)
		if err != nil {
			return ""
		}
		text = string(data)
	}
	switch {
	case value == nil:
		return "none"
	case text == "":
		return `""`
	case len(text) > longestValue, strings.Contains(text, "\n"):
		return ""
	}
	return text
}

// writePhaseObjects writes the names of a phase's objects, those of a kind together.
func writePhaseObjects(p *output.Printer, phase TreePhase) {
	p.Line(output.Span{Text: "  phase " + phase.Name}, output.Span{Text: "  " + countOf(phase.Objects, "object"), Style: output.Faint})
	var kinds []string
	named := map[string][]string{}
	for _, object := range phase.Items {
		if object.Kind == "" {
			continue
		}
		if !slices.Contains(kinds, object.Kind) {
			kinds = append(kinds, object.Kind)
		}
		named[object.Kind] = append(named[object.Kind], strings.TrimPrefix(object.Namespace+"/"+object.Name, "/"))
	}
	for _, kind := range kinds {
		p.Wrapped("    ", output.Plain, fmt.Sprintf("%s %s", kind, strings.Join(named[kind], ", ")))
	}
}
