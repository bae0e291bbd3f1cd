// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/revisions"
)

// Values of --cascade.
const (
	CascadeOrphan     = "orphan"
	CascadeBackground = "background"
	CascadeForeground = "foreground"
)

// TerminalTeardowns are the states of a teardown that a user has to end.
var TerminalTeardowns = map[string]bool{v1alpha1.ReasonTeardownStuck: true, v1alpha1.ReasonPermissionDenied: true}

// Deletion is the document of `strata delete`: what goes with a package, what stays,
// and which data would be lost.
type Deletion struct {
	metav1.TypeMeta `json:",inline"`

	// Package is the package's name.
	Package string `json:"package"`
	// Cascade is orphan, background or foreground.
	Cascade string `json:"cascade"`
	// DryRun is none, client or server.
	DryRun string `json:"dryRun"`
	// Delete are the objects that are deleted, in the order in which they go.
	Delete []DoomedObject `json:"delete"`
	// Retain are the objects that stay on purpose.
	Retain []DoomedObject `json:"retain"`
	// DeleteUnused are the CustomResourceDefinitions that are deleted when no custom resource of
	// them exists, and stay otherwise.
	DeleteUnused []DoomedObject `json:"deleteUnused,omitempty"`
	// AtRisk is what is lost with the objects that are deleted, and that no
	// revision can bring back; what is protected has to be deleted by hand first.
	AtRisk []DataAtRisk `json:"atRisk"`
	// Unknown says what could not be looked at.
	Unknown []string `json:"unknown,omitempty"`
	// Front is the front that made the package, and makes it again as long as its
	// custom resource exists; empty when none did.
	Front string `json:"front,omitempty"`
	// Deleted is true once the package is gone; with --wait only.
	Deleted bool `json:"deleted,omitempty"`
}

// DoomedObject is an object of a package that is to be deleted.
type DoomedObject struct {
	v1alpha1.ObjectReference `json:",inline"`

	// Phase is the phase that it stands in, empty when that is not known.
	Phase string `json:"phase,omitempty"`
	// UID is that of the object.
	UID string `json:"uid,omitempty"`
}

// DataAtRisk is what is lost with an object.
type DataAtRisk struct {
	// Object is the object that is deleted.
	Object v1alpha1.ObjectReference `json:"object"`
	// What is lost, in plural, such as "gateways.gateway.networking.k8s.io" or
	// "PersistentVolumeClaims".
	What string `json:"what"`
	// Count is how many; -1 when they could not be counted.
	Count int64 `json:"count"`
	// Protected is true for what is not lost: the teardown waits until a user has
	// deleted it.
	Protected bool `json:"protected,omitempty"`
}

// BuildDeletion sorts what a package has in place into what goes and what stays.
func BuildDeletion(v Snapshot, cascade string) Deletion {
	pkg := v.Package
	d := Deletion{
		TypeMeta: DocumentType("Deletion"), Package: pkg.Name, Cascade: cascade, Front: pkg.Labels[v1alpha1.LabelFront],
		Delete: []DoomedObject{}, Retain: []DoomedObject{}, AtRisk: []DataAtRisk{},
	}
	orphan := cascade == CascadeOrphan || pkg.Spec.DeletionPolicy == v1alpha1.DeletionPolicyOrphan
	seen := map[revisions.ObjectID]bool{}
	for _, r := range HistoryOf(pkg, v.Revisions).Standing() {
		if LifecycleOf(r) == v1alpha1.LifecycleArchived {
			continue // what only it contains is being deleted already
		}
		known := placesIn(r, v.Manifests)
		entries := slices.Clone(r.Status.Inventory)
		slices.SortStableFunc(entries, func(a, b v1alpha1.InventoryEntry) int {
			return known[IdentityOf(b.ObjectReference)].phase - known[IdentityOf(a.ObjectReference)].phase
		})
		for _, entry := range entries {
			id := IdentityOf(entry.ObjectReference)
			if seen[id] {
				continue
			}
			seen[id] = true
			doomed := DoomedObject{ObjectReference: entry.ObjectReference, UID: entry.UID}
			place, found := known[id]
			retained := place.item.Retained
			if found {
				doomed.Phase = r.Spec.Phases[place.phase].Name
			} else {
				retained = isRetainedKind(entry.ObjectReference)
			}
			switch {
			case orphan || retained:
				d.Retain = append(d.Retain, doomed)
			case place.item.Unused:
				d.DeleteUnused = append(d.DeleteUnused, doomed)
			default:
				d.Delete = append(d.Delete, doomed)
			}
		}
	}
	return d
}

// placeOf is where an object stands in a revision.
type placeOf struct {
	phase int
	item  Item
}

func placesIn(r *v1alpha1.Revision, held Manifests) map[revisions.ObjectID]placeOf {
	known := map[revisions.ObjectID]placeOf{}
	for i, items := range ItemsOf(r, held) {
		for _, it := range items {
			known[IdentityOf(it.Ref)] = placeOf{phase: i, item: it}
		}
	}
	return known
}

// isRetainedKind says whether objects of a kind stay when nothing else is known of
// them.
func isRetainedKind(ref v1alpha1.ObjectReference) bool {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: ref.Group, Version: ref.Version, Kind: ref.Kind})
	return content.Retains(u, "")
}

// WriteDeletion writes what goes and what stays.
func WriteDeletion(p *output.Printer, d Deletion) {
	for _, risk := range d.AtRisk {
		if risk.Protected {
			p.Wrapped("", output.Busy, "Blocked by "+RiskText(risk)+": they are not deleted, and the package stays until you delete them.")
		}
	}
	if lost := d.Lost(); len(lost) > 0 {
		p.Line(output.Span{Text: "Data that is lost:", Style: output.Bad})
		for _, risk := range lost {
			p.Labelled(output.Span{Text: "  !", Style: output.Bad}, 4, output.Span{Text: RiskText(risk), Style: output.Bad})
		}
	}
	list := func(title, sign string, style output.Style, objects []DoomedObject) {
		if len(objects) == 0 {
			return
		}
		p.Line(output.Span{Text: fmt.Sprintf("%s (%s):", title, CountOf(len(objects), "object"))})
		phase := ""
		for _, o := range objects {
			if o.Phase != phase && o.Phase != "" {
				phase = o.Phase
				p.Line(output.Span{Text: "  phase " + phase, Style: output.Faint})
			}
			p.Line(output.Span{Text: "    " + sign + " ", Style: style}, output.Span{Text: ObjectName(o.ObjectReference)})
		}
	}
	list("Deleted", "-", output.Bad, d.Delete)
	list("Deleted when no custom resource of it exists", "-", output.Busy, d.DeleteUnused)
	list("Stay in place", "=", output.Faint, d.Retain)
	if len(d.Delete)+len(d.DeleteUnused)+len(d.Retain) == 0 {
		p.Line(output.Span{Text: "The package has no object in place."})
	}
	for _, text := range d.Unknown {
		p.Wrapped("Not known: ", output.Busy, text)
	}
	if d.Front != "" {
		p.Wrapped("Note: ", output.Plain, fmt.Sprintf("the front %s makes the package again as long as its custom resource exists: delete that resource instead.", d.Front))
	}
}

// Lost is what the deletion destroys.
func (d *Deletion) Lost() []DataAtRisk {
	return slices.DeleteFunc(slices.Clone(d.AtRisk), func(r DataAtRisk) bool { return r.Protected })
}

// RiskText says what is lost, how much of it, and with which object.
func RiskText(r DataAtRisk) string {
	count := "an unknown number of"
	if r.Count >= 0 {
		count = fmt.Sprint(r.Count)
	}
	what := r.What
	if r.Count == 1 && !strings.Contains(what, ".") { // a definition is not a kind
		what = strings.TrimSuffix(what, "s")
	}
	return fmt.Sprintf("%s %s, with %s", count, what, ObjectName(r.Object))
}
