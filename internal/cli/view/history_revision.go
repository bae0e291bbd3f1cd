// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
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

// Names is the revision.
func (d RevisionDetails) Names() []string {
	return History{Revisions: []HistoryRevision{d.Revision}}.Names()
}

// Approval is the approval of a content.
type Approval struct {
	// Gate is the gate that lets it through, empty for spec.approvedDigest.
	Gate string `json:"gate,omitempty"`
	// By is the user who approved it, empty when that is not known.
	By string `json:"by,omitempty"`
}

// RevisionDetails is the document without the comparison.
func (v Snapshot) RevisionDetails(r *v1alpha1.Revision) RevisionDetails {
	summary := SummarisePackage(v.Package, v.Revisions)
	tree := v.treeRevision(r, summary)
	return RevisionDetails{
		TypeMeta: DocumentType("RevisionDetails"), Package: summary, Phases: tree.Phases, Approvals: approvalsOf(v.Package, DigestOf(r)),
		Revision: HistoryRevision{RevisionSummary: tree.RevisionSummary, Who: whoMade(r)},
	}
}

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

// WriteRevisionDetails writes one revision as a screen.
func WriteRevisionDetails(p *output.Printer, d RevisionDetails, now time.Time) {
	r := d.Revision
	var origin v1alpha1.Origin
	if r.Origin != nil {
		origin = *r.Origin
	}
	p.Line(output.Span{Text: d.Package.Name + ", revision " + WithVersion(r.Revision, r.Version), Style: output.Bold}, output.Span{Text: Prefixed("  ", strings.Join(r.Roles, ", "))})
	line := labels(p)
	line("made", output.Plain, Stamp(r.CreatedAt.Time)+", "+Age(now, r.CreatedAt)+" ago"+Prefixed(", by ", r.Who))
	line("why", output.Plain, origin.Reason)
	line("from", output.Plain, strings.TrimSpace(originText(r.RevisionSummary, origin)+" "+origin.Reference))
	line("outcome", stateStyle(r.Outcome), r.Outcome+Prefixed(" after ", tookText(r.RevisionSummary)))
	if !r.Succeeded {
		line("", output.Plain, r.Message)
	}
	for _, approval := range d.Approvals {
		line("approved", output.Plain, strings.TrimSpace(Prefixed("by ", approval.By)+Prefixed(" with gate ", approval.Gate)))
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

const longestValue = 60

// writeDifference writes what differs from the revision before, a field on a line. Values
// that are long are left to `strata diff`.
func writeDifference(p *output.Printer, d Diff) {
	p.Wrapped("  ", output.Plain, fmt.Sprintf("compared with revision %d: %s; `strata diff %s %d %d` shows all", d.FromRevision, d.Summary, d.Package, d.FromRevision, d.ToRevision))
	for i := range d.Objects {
		object := &d.Objects[i]
		p.Line(differenceLook[object.Difference].spans(object.ObjectReference)...)
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

func writePhaseObjects(p *output.Printer, phase TreePhase) {
	p.Line(output.Span{Text: "  phase " + phase.Name}, output.Span{Text: "  " + CountOf(phase.Objects, "object"), Style: output.Faint})
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
