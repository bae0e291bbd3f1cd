// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/check/diff"
	"github.com/strata-run/strata/internal/check/plan"
	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/history"
)

// Planned is what content for a package would do.
type Planned struct {
	Package *v1alpha1.Package
	History history.History
	Exists  bool
	Packed  content.Packed
	Next    *v1alpha1.Revision
	Need    history.Need
	Plan    plan.Plan
	// Identity is whose rights were asked for, empty when they were not.
	Identity string
}

// Plan is the document of `strata plan`: what applying a content would do.
type Plan struct {
	metav1.TypeMeta `json:",inline"`

	// Package is the package's name.
	Package string `json:"package"`
	// NewPackage is true when the package does not exist yet.
	NewPackage bool `json:"newPackage,omitempty"`
	// FromRevision is the present target, 0 when there is none.
	FromRevision int64 `json:"fromRevision,omitempty"`
	// Revision is the number of the revision that would be made, 0 when none would.
	Revision int64 `json:"revision,omitempty"`
	// Need is Revision when a revision would be made; None when the target has the
	// content already; Rejected when a rollback has rejected it; Pinned when a rollback
	// keeps the package where it is.
	Need string `json:"need"`
	// Digest is that of the content.
	Digest string `json:"digest"`
	// Summary counts what would be done: "2 create, 1 update, 30 unchanged".
	Summary string `json:"summary"`
	// Objects are those that would be touched, in the order of the phases; what would be
	// deleted or retained comes last.
	Objects []PlanObject `json:"objects"`
	// Unchanged is how many objects would not be touched.
	Unchanged int `json:"unchanged"`
	// Findings are what would block the revision before its first write.
	Findings []PlanFinding `json:"findings"`
	// Invalid is why the content can never be rolled out, empty when it can.
	Invalid string `json:"invalid,omitempty"`
	// Unread are revisions that serve and could not be read: what becomes of their
	// objects is not part of the plan.
	Unread []string `json:"unread,omitempty"`
	// Untried are the objects of which a dry run has said nothing, with the reason.
	Untried []string `json:"untried,omitempty"`
	// RightsOf is whose rights were checked, empty when they were not.
	RightsOf string `json:"rightsOf,omitempty"`
	// Waits is why the revision would not be rolled out at once although nothing is wrong
	// with it: a pause, or a missing approval.
	Waits string `json:"waits,omitempty"`
	// Size is how much room the content takes.
	Size ContentSize `json:"size"`
}

// PlanObject is what would be done to one object.
type PlanObject struct {
	v1alpha1.PlannedObject `json:",inline"`

	// Fields are those that an update or an adoption changes: before is what the cluster
	// has, after what a dry run has made of it. Values of Secrets are redacted.
	Fields []DiffField `json:"fields,omitempty"`
}

// PlanFinding is one reason to block a content.
type PlanFinding struct {
	// Check is Shrink, Permission, CRDUpgradeSafety, Immutable or Admission.
	Check string `json:"check"`
	// Message says what is wrong.
	Message string `json:"message"`
	// Remedy says what to do.
	Remedy string `json:"remedy,omitempty"`
}

// Document is the document of what content would do.
func (p *Planned) Document() Plan {
	doc := Plan{
		TypeMeta: DocumentType("Plan"), Package: p.Package.Name, NewPackage: !p.Exists, Need: string(p.Need),
		Digest: p.Packed.Digest, Summary: p.Plan.Summary, Objects: plannedObjects(p.Plan),
		Unchanged: p.Plan.Unchanged, Findings: []PlanFinding{}, Invalid: p.Plan.Invalid, Unread: p.Plan.Unread,
		RightsOf: p.Identity, Size: contentSizeOf(p.Packed),
	}
	if p.History.Target != nil {
		doc.FromRevision = p.History.Target.Spec.Revision
	}
	if p.Need == history.NeedRevision || p.Need == history.NeedRejected {
		doc.Revision = p.Next.Spec.Revision
	}
	for _, finding := range p.Plan.Findings {
		doc.Findings = append(doc.Findings, PlanFinding{Check: string(finding.Check), Message: finding.Message, Remedy: finding.Remedy})
	}
	for i := range p.Plan.Attempts {
		if a := &p.Plan.Attempts[i]; a.Untried != "" {
			doc.Untried = append(doc.Untried, fmt.Sprintf("%s: %s", a.ID, a.Untried))
		}
	}
	switch pause := p.Package.Spec.Paused; {
	case p.Next.Spec.LifecycleState == v1alpha1.LifecyclePaused:
		doc.Waits = p.History.Unapproved(p.Package, p.Next, p.Packed.Digest)
	case pause != nil:
		doc.Waits = "the package is paused: " + pause.Reason
	}
	return doc
}

// plannedObjects are the objects of a plan, with what the dry runs would change of them.
func plannedObjects(p plan.Plan) []PlanObject {
	attempts := map[v1alpha1.ObjectReference]*plan.Attempt{}
	for i := range p.Attempts {
		id := p.Attempts[i].ID
		attempts[v1alpha1.ObjectReference{Group: id.Group, Kind: id.Kind, Namespace: id.Namespace, Name: id.Name}] = &p.Attempts[i]
	}
	objects := make([]PlanObject, len(p.Objects))
	for i := range p.Objects {
		objects[i].PlannedObject = p.Objects[i]
		ref := p.Objects[i].ObjectReference
		ref.Version = ""
		if a := attempts[ref]; a != nil && a.Live != nil && a.Applied != nil {
			objects[i].Fields = fieldsBetween(a.Live, a.Applied)
		}
	}
	return objects
}

// ownMarks are what the engine puts on an object that it adopts.
var ownMarks = []string{".metadata.ownerReferences", ".metadata.labels['" + v1alpha1.LabelPackage + "']"}

// fieldsBetween are the fields that a dry run has changed of an object.
func fieldsBetween(live, applied *unstructured.Unstructured) []DiffField {
	before, after := diff.Object{Manifest: withoutServerFields(live)}, diff.Object{Manifest: withoutServerFields(applied)}
	var fields []DiffField
	for _, d := range diff.Contents([]diff.Object{before}, []diff.Object{after}, diff.Options{Ignore: patternsOf(ownMarks), KeepNames: true}).Differences {
		for _, change := range d.Changes {
			fields = append(fields, DiffField{Change: change})
		}
	}
	return fields
}

// Names are the objects.
func (d Plan) Names() []string {
	names := make([]string, len(d.Objects))
	for i := range d.Objects {
		names[i] = NameOf(d.Objects[i].ObjectReference)
	}
	return names
}

// IsBlocked says that the content would not be rolled out as it is.
func (d Plan) IsBlocked() bool {
	return d.Invalid != "" || len(d.Findings) > 0 || d.Count(v1alpha1.PlanCollide) > 0
}

// FirstObstacle is the first of what keeps the content from being rolled out.
func (d Plan) FirstObstacle() string {
	if len(d.Findings) > 0 {
		return d.Findings[0].Check + ": " + d.Findings[0].Message
	}
	for i := range d.Objects {
		if o := &d.Objects[i]; o.Action == v1alpha1.PlanCollide {
			return ObjectName(o.ObjectReference) + " collides: " + o.Reason
		}
	}
	return d.Invalid
}

// Count is how many objects have an action.
func (d Plan) Count(action v1alpha1.PlannedAction) int {
	n := 0
	for i := range d.Objects {
		if d.Objects[i].Action == action {
			n++
		}
	}
	return n
}

// plannedLook is how an action is written.
var plannedLook = map[v1alpha1.PlannedAction]look{
	v1alpha1.PlanCreate:  {"+", "create", output.Good},
	v1alpha1.PlanUpdate:  {"~", "update", output.Busy},
	v1alpha1.PlanReplace: {"±", "replace", output.Bad},
	v1alpha1.PlanAdopt:   {">", "adopt", output.Busy},
	v1alpha1.PlanCollide: {"!", "collide", output.Bad},
	v1alpha1.PlanDelete:  {"-", "delete", output.Bad},
	v1alpha1.PlanRetain:  {"=", "retain", output.Faint},
	v1alpha1.PlanWait:    {"…", "wait", output.Busy},
	v1alpha1.PlanUnknown: {"?", "unknown", output.Bad},
}

// hasReason are the actions whose reason is more than the action says.
var hasReason = map[v1alpha1.PlannedAction]bool{
	v1alpha1.PlanCollide: true, v1alpha1.PlanUnknown: true, v1alpha1.PlanWait: true, v1alpha1.PlanAdopt: true, v1alpha1.PlanReplace: true, v1alpha1.PlanRetain: true,
}

// WritePlanObjects writes what would be done, one object a line, under its phase.
func WritePlanObjects(p *output.Printer, doc Plan) {
	p.Wrapped("", output.Plain, planHead(doc))
	w := phased{Printer: p}
	for i := range doc.Objects {
		object := &doc.Objects[i]
		look := plannedLook[object.Action]
		w.object(object.Phase, output.Span{Text: fmt.Sprintf("    %s %-8s", look.sign, look.word), Style: look.style}, output.Span{Text: ObjectName(object.ObjectReference)})
		if hasReason[object.Action] && object.Reason != "" {
			p.Wrapped("        ", output.Faint, object.Reason)
		}
		writeFields(p, object.Fields)
	}
	p.Line(output.Span{Text: "  " + doc.Summary})
}

// mostShown is how many fields of an object are shown before a question.
const mostShown = 20

func writeFields(p *output.Printer, fields []DiffField) {
	for _, field := range fields[:min(len(fields), mostShown)] {
		if isLongText(field.Before) || isLongText(field.After) {
			p.Line(output.Span{Text: "        " + field.Path + "  a long text: -o yaml shows it"})
			continue
		}
		writeField(p, field, false)
	}
	if more := len(fields) - mostShown; more > 0 {
		p.Line(output.Span{Text: fmt.Sprintf("        and %d more fields: -o yaml lists them", more), Style: output.Faint})
	}
}

func isLongText(value any) bool {
	text, _ := value.(string)
	return strings.Count(text, "\n") > 2*mostShown
}

func planHead(doc Plan) string {
	switch {
	case doc.Need == string(history.NeedNone):
		return fmt.Sprintf("%s has this content already, as revision %d; drift is repaired by itself:", doc.Package, doc.FromRevision)
	case doc.Need == string(history.NeedPinned):
		return fmt.Sprintf("%s is kept at revision %d by its spec.rollback; without that:", doc.Package, doc.FromRevision)
	case doc.NewPackage:
		return fmt.Sprintf("%s is a new package; its revision %d:", doc.Package, doc.Revision)
	}
	return fmt.Sprintf("%s, revision %d after %d:", doc.Package, doc.Revision, doc.FromRevision)
}

// WritePlanTable writes the same as a table, with the reasons.
func WritePlanTable(p *output.Printer, doc Plan) {
	rows := make([][]output.Cell, len(doc.Objects))
	for i := range doc.Objects {
		object := &doc.Objects[i]
		look := plannedLook[object.Action]
		rows[i] = []output.Cell{
			{Text: look.word, Style: look.style}, {Text: object.Phase}, {Text: object.Kind}, {Text: object.Namespace}, {Text: object.Name}, {Text: object.Reason},
		}
	}
	p.Table([]output.Column{{Head: "ACTION"}, {Head: "PHASE"}, {Head: "KIND"}, {Head: "NAMESPACE"}, {Head: "NAME"}, {Head: "REASON"}}, rows)
	p.Line(output.Span{Text: doc.Summary})
}

// WritePlanNotes writes what is to be known besides the objects.
func WritePlanNotes(p *output.Printer, doc Plan) {
	if doc.Invalid != "" {
		p.Wrapped("  ", output.Bad, "It can never be rolled out: "+doc.Invalid)
	}
	if len(doc.Findings) > 0 {
		p.Line(output.Span{Text: "  It would not be rolled out as it is:", Style: output.Bad})
		for _, finding := range doc.Findings {
			p.Wrapped("    ", output.Bad, finding.Check+": "+finding.Message)
			if finding.Remedy != "" {
				p.Wrapped("      ", output.Plain, "remedy: "+finding.Remedy)
			}
		}
	}
	if doc.Count(v1alpha1.PlanCollide) > 0 {
		p.Wrapped("  ", output.Bad, "What collides is left as it is, and blocks its phase: remove it, or give --collision-protection IfNoController to adopt it.")
	}
	if doc.Need == string(history.NeedRejected) {
		p.Wrapped("  ", output.Bad, "A rollback has rejected this content: applying it takes --allow-rejected.")
	}
	for _, unread := range doc.Unread {
		p.Wrapped("  ", output.Bad, "What becomes of the objects of a revision is not known: "+unread)
	}
	switch n := len(doc.Untried); {
	case n == 1:
		p.Wrapped("  ", output.Busy, "Not tried out at the API server: "+doc.Untried[0])
	case n > 1:
		p.Wrapped("  ", output.Busy, fmt.Sprintf("%d objects were not tried out at the API server, the first: %s", n, doc.Untried[0]))
	}
	if doc.Waits != "" {
		p.Wrapped("  ", output.Busy, "It would not begin at once: "+doc.Waits)
	}
	p.Line(output.Span{Text: "  size: " + doc.Size.String(), Style: output.Faint})
	p.Line(output.Span{Text: "  rights of " + cmp.Or(doc.RightsOf, "the package's identity: not checked"), Style: output.Faint})
}
