// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/check/diff"
	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/revisions"
)

// Trace is the document of `strata trace`: which revisions and which package an
// object comes from, and who has set its fields.
type Trace struct {
	metav1.TypeMeta `json:",inline"`

	// Object is the object that was asked for.
	Object v1alpha1.ObjectReference `json:"object"`
	// UID is its UID.
	UID string `json:"uid"`
	// Via are the controllers between it and the object of the package, such as the
	// ReplicaSet and the Deployment of a pod; empty for an object of a package.
	Via []v1alpha1.ObjectReference `json:"via,omitempty"`
	// Managed is true when a package has it.
	Managed bool `json:"managed"`
	// Package is that package.
	Package *PackageSummary `json:"package,omitempty"`
	// Revisions are those that contain the object, the newest first.
	Revisions []TraceRevision `json:"revisions"`
	// Origin is where the content of the revision comes from that has it in place.
	Origin *v1alpha1.Origin `json:"origin,omitempty"`
	// Controller is who controls an object that no package has.
	Controller string `json:"controller,omitempty"`
	// Managers are who has set which fields of the object that was asked for.
	Managers []FieldManager `json:"managers"`
}

// TraceRevision is a revision that contains an object.
type TraceRevision struct {
	RevisionSummary `json:",inline"`

	// PhaseName is the phase that the object stands in.
	PhaseName string `json:"phaseName,omitempty"`
	// Placed is true when the revision has put it in place, and not another one
	// since.
	Placed bool `json:"placed"`
	// Action is what the revision did to it.
	Action string `json:"action,omitempty"`
	// Problem is why it is not ready.
	Problem string `json:"problem,omitempty"`
	// Interference is how another manager keeps changing it.
	Interference string `json:"interference,omitempty"`
}

// FieldManager is one entry of an object's managed fields.
type FieldManager struct {
	// Manager is its name.
	Manager string `json:"manager"`
	// Operation is Apply or Update.
	Operation string `json:"operation"`
	// Subresource is that which it wrote, such as status.
	Subresource string `json:"subresource,omitempty"`
	// Time is when it wrote last.
	Time *metav1.Time `json:"time,omitempty"`
	// Ours is true for the package's.
	Ours bool `json:"ours,omitempty"`
	// Fields are the paths of the fields.
	Fields []string `json:"fields"`
}

// ManagersOf are the field managers of an object: ours first, then the one that wrote
// last.
func ManagersOf(object metav1.Object) []FieldManager {
	managers := []FieldManager{}
	for _, m := range diff.Managers(object) {
		managers = append(managers, FieldManager{
			Manager: m.Name, Operation: m.Operation, Subresource: m.Subresource, Time: m.Time, Fields: append([]string{}, m.Fields...), Ours: isOurs(m),
		})
	}
	slices.SortStableFunc(managers, func(a, b FieldManager) int {
		switch {
		case a.Ours != b.Ours && a.Ours:
			return -1
		case a.Ours != b.Ours:
			return 1
		case a.Time != nil && b.Time != nil:
			return cmp.Or(b.Time.Compare(a.Time.Time), cmp.Compare(a.Manager, b.Manager))
		}
		return cmp.Compare(a.Manager, b.Manager)
	})
	return managers
}

// TraceRevisions are the revisions that contain an object, the newest first.
func (v Snapshot) TraceRevisions(id revisions.ObjectID) []TraceRevision {
	found := []TraceRevision{}
	summary := SummarisePackage(v.Package, v.Revisions)
	taken := false
	for i := len(v.Revisions) - 1; i >= 0; i-- {
		r := &v.Revisions[i]
		next, contains := v.traceRevision(r, id)
		if !contains {
			continue
		}
		if next.Action != "" {
			next.Placed, taken = !taken, true
		}
		next.RevisionSummary = SummariseRevision(r, v.Revisions, summary)
		found = append(found, next)
	}
	return found
}

// traceRevision is what a revision says of an object, and whether it contains it.
func (v Snapshot) traceRevision(r *v1alpha1.Revision, id revisions.ObjectID) (next TraceRevision, contains bool) {
	for phase, items := range ItemsOf(r, v.Manifests) {
		if slices.ContainsFunc(items, func(it Item) bool { return IdentityOf(it.Ref) == id }) {
			contains, next.PhaseName = true, r.Spec.Phases[phase].Name
		}
	}
	for _, entry := range r.Status.Inventory {
		if IdentityOf(entry.ObjectReference) == id {
			contains, next.Action = true, entry.Action
		}
	}
	for _, object := range r.Status.Objects {
		if IdentityOf(object.ObjectReference) == id {
			contains, next.Problem, next.PhaseName = true, object.Reason+Prefixed(": ", object.Message), object.Phase
		}
	}
	for _, found := range r.Status.Interference {
		if IdentityOf(found.ObjectReference) == id {
			next.Interference = interferenceText(found)
		}
	}
	return next, contains
}

// mostFields is how many fields of a manager are listed unasked.
const mostFields = 6

// WriteTrace writes the way from the object to its origin, and who has set what.
func WriteTrace(p *output.Printer, t Trace, all bool, now time.Time) {
	line := labels(p)
	p.Line(output.Span{Text: ObjectName(t.Object), Style: output.Bold})
	for _, via := range t.Via {
		line("of", output.Plain, ObjectName(via))
	}
	if !t.Managed {
		line("package", output.Busy, "none: no package has it"+Prefixed("; it is controlled by ", t.Controller))
	} else if t.Package != nil {
		line("package", stateStyle(t.Package.State), t.Package.Name+": "+t.Package.State+", "+servingText(*t.Package))
	}
	for _, r := range t.Revisions {
		writeTraceRevision(line, r, now)
	}
	if o := t.Origin; o != nil {
		line("origin", output.Plain, originWords(*o))
	}
	for _, m := range t.Managers {
		who := m.Manager + " (" + m.Operation + Prefixed(" of ", m.Subresource) + ")"
		if m.Time != nil {
			who += ", " + Age(now, *m.Time) + " ago"
		}
		fields, more := m.Fields, ""
		if (m.Ours || len(fields) > mostFields) && !all {
			fields, more = nil, ": "+CountOf(len(m.Fields), "field")
		}
		line("fields", output.Plain, who+more+Prefixed(": ", strings.Join(fields, " ")))
	}
}

func writeTraceRevision(line func(string, output.Style, string), r TraceRevision, now time.Time) {
	words := r.withRoles(WithVersion(r.Revision, r.Version)) + Prefixed(", phase ", r.PhaseName) + ": "
	switch {
	case r.Placed:
		words += strings.ToLower(r.Action) + ", in place"
	case r.Action != "":
		words += strings.ToLower(r.Action) + ", handed over"
	case r.Lifecycle == string(v1alpha1.LifecycleArchived):
		words += "archived"
	default:
		words += "not applied yet"
	}
	line("revision", output.Plain, words+", made "+Age(now, r.CreatedAt)+" ago")
	line("", output.Bad, r.Problem)
	line("", output.Busy, r.Interference)
}

func originWords(o v1alpha1.Origin) string {
	words := string(o.Kind) + Prefixed(" ", o.Reference) + Prefixed(", chart ", o.Chart) + Prefixed(", version ", o.AppVersion) +
		Prefixed(", by ", o.CreatedBy)
	return words + Prefixed(": ", o.Reason)
}
