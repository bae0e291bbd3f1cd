// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/output"
)

// Rollback is the document of `strata rollback`: what was asked for, what it
// changes, and what came of it.
type Rollback struct {
	metav1.TypeMeta `json:",inline"`

	// Package is the package's name.
	Package string `json:"package"`
	// FromRevision is the target that is rolled back.
	FromRevision int64 `json:"fromRevision"`
	// ToRevision is the revision whose content is wanted.
	ToRevision int64 `json:"toRevision"`
	// Revision is the revision that was made for it, 0 when none was.
	Revision int64 `json:"revision,omitempty"`
	// Reason is why, for the history.
	Reason string `json:"reason,omitempty"`
	// Pin is true when the front makes no further revision until it is unpinned.
	Pin bool `json:"pin,omitempty"`
	// RequestedAt identifies the request; unset for a client-side dry run.
	RequestedAt *metav1.Time `json:"requestedAt,omitempty"`
	// DryRun is none, client or server.
	DryRun string `json:"dryRun"`
	// Changes are the objects whose content differs, phase by phase. Drift has no
	// part in it.
	Changes []Change `json:"changes"`
	// Warnings say what does not go back with the content.
	Warnings []string `json:"warnings,omitempty"`
	// Rollout is how the rollout stands at the end; with --wait only.
	Rollout *Status `json:"rollout,omitempty"`
}

// Change is what a rollback does to one object.
type Change struct {
	// ObjectReference names the object.
	v1alpha1.ObjectReference `json:",inline"`

	// Phase is the phase that it stands in.
	Phase string `json:"phase"`
	// Action is Create, Update, Delete, DeleteUnused or Keep. DeleteUnused is for a
	// CustomResourceDefinition that goes when no custom resource of it exists. Keep is for an object that the
	// earlier revision does not contain and that is retained, and for a
	// CustomResourceDefinition, which never goes back.
	Action string `json:"action"`
	// Fields are those that an update changes: before is what the target has, after what
	// the earlier revision has. Values of Secrets are redacted, and one that may not be
	// read has none.
	Fields []DiffField `json:"fields,omitempty"`
}

// Actions of a Change.
const (
	changeCreate = "Create"
	ChangeUpdate = "Update"
	ChangeDelete = "Delete"
	ChangeKeep   = "Keep"
	// changeDeleteUnused deletes a CustomResourceDefinition when no custom resource of it exists.
	changeDeleteUnused = "DeleteUnused"
)

// CRDKind is that of CustomResourceDefinitions.
var CRDKind = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}

// ChangesBetween are the objects that differ between the target and the content
// that is to come back: first what that content brings, in its phases' order, then
// what it does not contain. It also counts the objects that stay as they are.
func ChangesBetween(from, to *v1alpha1.Revision, held Manifests) ([]Change, int) {
	var changes []Change
	same := 0
	present, wanted := placesIn(from, held), placesIn(to, held)
	for i, items := range ItemsOf(to, held) {
		for _, it := range items {
			before, found := present[IdentityOf(it.Ref)]
			switch {
			case !it.IsNamed():
			case found && before.item.Digest == it.Digest:
				same++
			default:
				changes = append(changes, Change{ObjectReference: it.Ref, Phase: to.Spec.Phases[i].Name, Action: changeTo(it, found)})
			}
		}
	}
	for i, items := range ItemsOf(from, held) {
		for _, it := range items {
			if _, found := wanted[IdentityOf(it.Ref)]; found || !it.IsNamed() {
				continue
			}
			change := Change{ObjectReference: it.Ref, Phase: from.Spec.Phases[i].Name, Action: ChangeDelete}
			switch {
			case it.Retained:
				change.Action = ChangeKeep
			case it.Unused:
				change.Action = changeDeleteUnused
			}
			changes = append(changes, change)
		}
	}
	return changes, same
}

// changeTo is what is done to an object that is wanted with other content than it has.
func changeTo(it Item, exists bool) string {
	switch {
	case !exists:
		return changeCreate
	case IdentityOf(it.Ref).GroupKind == CRDKind:
		return ChangeKeep
	}
	return ChangeUpdate
}

// WarningsOf say what does not go back with a revision's content.
func WarningsOf(from, to *v1alpha1.Revision, changes []Change, held Manifests) []string {
	var warnings []string
	names := map[string][]string{}
	add := func(why string, c Change) { names[why] = append(names[why], ObjectName(c.ObjectReference)) }
	const (
		definitions = "CustomResourceDefinitions never go back, and neither do custom resources that were stored by newer versions"
		kept        = "stay in place although that content does not have them: delete by hand what is not wanted"
		claims      = "are volumes or claims: what is stored in them stays as it is, and most of their fields cannot be changed"
		jobs        = "are Jobs: what they have done is not undone, and most of their fields cannot be changed"
		stateful    = "are StatefulSets: what their volumes contain stays as it is, and may be of a newer version"
	)
	for _, c := range changes {
		kind := schema.GroupKind{Group: c.Group, Kind: c.Kind}
		switch {
		case c.Action == ChangeKeep && kind == CRDKind:
			add(definitions, c)
		case c.Action == ChangeKeep:
			add(kept, c)
		case kind == schema.GroupKind{Kind: "PersistentVolumeClaim"}, kind == schema.GroupKind{Kind: "PersistentVolume"}:
			add(claims, c)
		case kind == schema.GroupKind{Group: "batch", Kind: "Job"}:
			add(jobs, c)
		case kind == schema.GroupKind{Group: "apps", Kind: "StatefulSet"} && c.Action == ChangeUpdate:
			add(stateful, c)
		}
	}
	for _, why := range []string{definitions, kept, claims, jobs, stateful} {
		if len(names[why]) > 0 {
			warnings = append(warnings, Some(names[why])+": "+why)
		}
	}
	if !slices.Equal(secretsOf(from), secretsOf(to)) && (lacksSecrets(from, held) || lacksSecrets(to, held)) {
		warnings = append(warnings, "Secrets of the two revisions differ, and you may not read in which")
	}
	return warnings
}

func lacksSecrets(r *v1alpha1.Revision, held Manifests) bool {
	for _, items := range ItemsOf(r, held) {
		if slices.ContainsFunc(items, func(it Item) bool { return it.Secret != "" && it.Manifest == nil }) {
			return true
		}
	}
	return false
}

const mostNamed = 4

// Some names the first of several, and says how many more there are.
func Some(names []string) string {
	if more := len(names) - mostNamed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:mostNamed], ", "), more)
	}
	return strings.Join(names, ", ")
}

// secretsOf are where the manifests of kind Secret of a revision stand. The names
// follow from what is in them.
func secretsOf(r *v1alpha1.Revision) []string {
	var names []string
	for _, phase := range r.Spec.Phases {
		for _, object := range phase.Objects {
			if object.Secret != nil {
				names = append(names, fmt.Sprintf("%s/%d", object.Secret.Name, object.Secret.Index))
			}
		}
	}
	slices.Sort(names)
	return names
}

// WriteChanges writes what a rollback would do, one object a line, under its phase.
func WriteChanges(p *output.Printer, changes []Change, same int) {
	looks := map[string]look{
		changeCreate: {"+", "create", output.Good}, ChangeUpdate: {"~", "update", output.Busy},
		ChangeDelete: {"-", "delete", output.Bad}, changeDeleteUnused: {"-", "delete when no custom resource of it exists", output.Busy}, ChangeKeep: {"=", "keep as it is", output.Faint},
	}
	w := phased{Printer: p}
	for _, c := range changes {
		w.object(c.Phase, looks[c.Action].spans(c.ObjectReference)...)
		writeFields(p, c.Fields)
	}
	if same > 0 {
		p.Line(output.Span{Text: fmt.Sprintf("  %s unchanged", CountOf(same, "object")), Style: output.Faint})
	}
}
