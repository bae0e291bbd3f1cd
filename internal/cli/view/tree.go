// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/utils/ptr"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/pods"
	"github.com/strata-run/strata/internal/status"
	"github.com/strata-run/strata/revisions"
)

// Tree is the document of `strata tree`: a package, its revisions, their phases
// and objects.
type Tree struct {
	metav1.TypeMeta `json:",inline"`

	// Package is the package.
	Package PackageSummary `json:"package"`
	// Revisions are the target first, then older ones, newest first.
	Revisions []TreeRevision `json:"revisions"`
}

// TreeRevision is a revision and its phases.
type TreeRevision struct {
	RevisionSummary `json:",inline"`

	// Phases are in the order in which they are rolled out.
	Phases []TreePhase `json:"phases"`
}

// TreePhase is a phase and its objects.
type TreePhase struct {
	PhaseProgress `json:",inline"`

	// Items are the objects, in the order of the revision.
	Items []TreeObject `json:"items"`
}

// PhaseProgress says how far a phase is, and what was done for it.
type PhaseProgress struct {
	// Name is the phase's.
	Name string `json:"name"`
	// State is Pending, Progressing or Complete. It is empty for a revision that
	// was never looked at.
	State string `json:"state,omitempty"`
	// Objects is how many objects the phase has.
	Objects int `json:"objects"`
	// Ready is how many of them are in place with their probes passing.
	Ready int `json:"ready"`
	// CompletedAt is when the phase was complete first.
	CompletedAt *metav1.Time `json:"completedAt,omitempty"`
	// Created, Updated, Unchanged and Adopted count what the revision did to the
	// objects that it has in place.
	Created   int `json:"created"`
	Updated   int `json:"updated"`
	Unchanged int `json:"unchanged"`
	Adopted   int `json:"adopted"`
	// FromPackage is true while the Revision's status does not have its phases yet: the
	// state is that of the Package's status, which is written first, and no count is known.
	FromPackage bool `json:"fromPackage,omitempty"`
}

// written is how many objects of the phase the revision has in place.
func (p *PhaseProgress) written() int { return p.Created + p.Updated + p.Unchanged + p.Adopted }

// States of an object in a tree.
const (
	// objectReady: in place, and its probes pass.
	objectReady = "Ready"
	// objectInPlace: in place; whether its probes pass is not known.
	objectInPlace = "InPlace"
	// objectNotReady: reason and message say why.
	objectNotReady = "NotReady"
	// objectPending: the rollout has not reached it.
	objectPending = "Pending"
	// objectHandedOver: the target has it now.
	objectHandedOver = "HandedOver"
	// objectServing: an older revision's, until the target reaches it.
	objectServing = "Serving"
	// objectLeaving: an older revision's that the target does not contain. It goes
	// once the target has succeeded, unless it is retained.
	objectLeaving = "Leaving"
	// objectArchived: content of a revision that is history.
	objectArchived = "Archived"
)

// TreeObject is one object of a phase.
type TreeObject struct {
	// ObjectReference names the object. It is empty when the slice or Secret that
	// contains the manifest could not be read, and the status does not name it.
	v1alpha1.ObjectReference `json:",inline"`
	ObjectTimes              `json:",inline"`

	// Slice is the ObjectSlice that contains the manifest, empty for an inline one.
	Slice string `json:"slice,omitempty"`
	// Secret is the Secret that contains the manifest, which is of that kind itself.
	Secret string `json:"secret,omitempty"`
	// State is Ready, InPlace, NotReady, Pending, HandedOver, Serving, Leaving or
	// Archived.
	State string `json:"state"`
	// Retained objects stay when no revision contains them any more.
	Retained bool `json:"retained,omitempty"`
	// Unused CustomResourceDefinitions are deleted then when no custom resource of them exists.
	Unused bool `json:"unused,omitempty"`
	// Action is what the revision did to it: Created, Updated, Unchanged or
	// Adopted; empty while it has done nothing.
	Action string `json:"action,omitempty"`
	// UID is that of the object.
	UID string `json:"uid,omitempty"`
	// Content is a short digest of the manifest that was applied last.
	Content string `json:"content,omitempty"`
	// IgnoredFields are fields of the manifest that are left to another manager.
	IgnoredFields []string `json:"ignoredFields,omitempty"`
	// Reason is why it is not ready.
	Reason string `json:"reason,omitempty"`
	// Message says what is expected and what was found.
	Message string `json:"message,omitempty"`
	// Since is when the reason was seen first.
	Since *metav1.Time `json:"since,omitempty"`
	// Hint is what to do about it.
	Hint string `json:"hint,omitempty"`
	// Pods are the pods that keep a workload from being ready.
	Pods []pods.Trouble `json:"pods,omitempty"`
}

// Snapshot is what trees and statuses are built from.
type Snapshot struct {
	Package *v1alpha1.Package
	// Revisions are all of the package, in ascending order.
	Revisions []v1alpha1.Revision
	// Manifests are the manifests that do not stand in the revisions.
	Manifests Manifests
	// Pods are the failing pods of workloads, by the workload's UID.
	Pods map[string][]pods.Trouble
}

// Tree is the document of a package with the given revisions of it.
func (v Snapshot) Tree(shown []*v1alpha1.Revision) Tree {
	t := Tree{TypeMeta: DocumentType("Tree"), Package: SummarisePackage(v.Package, v.Revisions), Revisions: []TreeRevision{}}
	for _, r := range shown {
		t.Revisions = append(t.Revisions, v.treeRevision(r, t.Package))
	}
	return t
}

// ShownRevisions are the revisions that a tree shows: the target, older ones that
// are not torn down, and history if asked for.
func (v Snapshot) ShownRevisions(all bool) []*v1alpha1.Revision {
	h := HistoryOf(v.Package, v.Revisions)
	shown := slices.Clone(h.Waiting)
	if h.Target != nil {
		shown = append(shown, h.Target)
	}
	shown = append(append(shown, h.Serving...), h.Archiving...)
	if all {
		shown = append(shown, h.Archived...)
	}
	return shown
}

func (v Snapshot) treeRevision(r *v1alpha1.Revision, p PackageSummary) TreeRevision {
	out := TreeRevision{RevisionSummary: SummariseRevision(r, v.Revisions, p), Phases: []TreePhase{}}
	states := v.statesOf(r, p)
	for i, items := range ItemsOf(r, v.Manifests) {
		phase := TreePhase{
			PhaseProgress: PhaseProgress{Name: r.Spec.Phases[i].Name, Objects: len(items)},
			Items:         []TreeObject{},
		}
		for _, s := range r.Status.Phases {
			if s.Name == phase.Name {
				phase.State, phase.Ready, phase.CompletedAt = string(s.State), int(s.Ready), s.CompletedAt
			}
		}
		v.takeFromPackage(r, i, &phase.PhaseProgress)
		for _, it := range items {
			object := states.object(it, phase.PhaseProgress)
			phase.count(object.Action)
			phase.Items = append(phase.Items, object)
		}
		out.Phases = append(out.Phases, phase)
	}
	return out
}

// takeFromPackage takes the state of a phase from how many phases the Package's status
// counts as complete, while the Revision's status does not have them.
func (v Snapshot) takeFromPackage(r *v1alpha1.Revision, place int, phase *PhaseProgress) {
	counted, all, _ := strings.Cut(v.Package.Status.Phase, "/")
	complete, err := strconv.Atoi(counted)
	if err != nil || all != strconv.Itoa(len(r.Spec.Phases)) || len(r.Status.Phases) > 0 || r.Spec.Revision != v.Package.Status.TargetRevision {
		return
	}
	state := v1alpha1.PhasePending
	switch {
	case place < complete:
		state, phase.Ready = v1alpha1.PhaseComplete, phase.Objects
	case place == complete:
		state = v1alpha1.PhaseProgressing
	}
	phase.State, phase.FromPackage = string(state), true
}

func (p *PhaseProgress) count(action string) {
	switch action {
	case "Created":
		p.Created++
	case "Updated":
		p.Updated++
	case "Unchanged":
		p.Unchanged++
	case "Adopted":
		p.Adopted++
	}
}

// states finds the state of each object of one revision.
type states struct {
	role     string
	placed   map[revisions.ObjectID]v1alpha1.InventoryEntry
	notReady map[revisions.ObjectID]v1alpha1.ObjectStatus
	flaps    map[revisions.ObjectID]v1alpha1.Flap
	probes   []v1alpha1.Probe
	// cut is true when there may be more that are not ready than the status lists.
	cut bool
	// target is what the target contains, and whether it has it in place. It
	// is nil for the target itself.
	target map[revisions.ObjectID]bool
	pods   map[string][]pods.Trouble
}

func (v Snapshot) statesOf(r *v1alpha1.Revision, p PackageSummary) states {
	s := states{
		placed:   map[revisions.ObjectID]v1alpha1.InventoryEntry{},
		notReady: map[revisions.ObjectID]v1alpha1.ObjectStatus{},
		flaps:    map[revisions.ObjectID]v1alpha1.Flap{},
		probes:   r.Spec.Probes,
		cut:      len(r.Status.Objects) >= status.MostObjects,
		pods:     v.Pods,
	}
	for _, entry := range r.Status.Inventory {
		s.placed[IdentityOf(entry.ObjectReference)] = entry
	}
	for _, object := range r.Status.Objects {
		s.notReady[IdentityOf(object.ObjectReference)] = object
	}
	for _, flap := range r.Status.Flaps {
		s.flaps[IdentityOf(flap.ObjectReference)] = flap
	}
	switch {
	case LifecycleOf(r) == v1alpha1.LifecycleArchived:
		s.role = objectArchived
	case r.Spec.Revision != p.TargetRevision:
		s.role = roleServing
		s.target = v.targetContents(p)
	}
	return s
}

// targetContents are the objects of the target, and whether they are in place.
func (v Snapshot) targetContents(p PackageSummary) map[revisions.ObjectID]bool {
	contents := map[revisions.ObjectID]bool{}
	for i := range v.Revisions {
		r := &v.Revisions[i]
		if r.Spec.Revision != p.TargetRevision {
			continue
		}
		for _, items := range ItemsOf(r, v.Manifests) {
			for _, it := range items {
				contents[IdentityOf(it.Ref)] = false
			}
		}
		for _, entry := range r.Status.Inventory {
			contents[IdentityOf(entry.ObjectReference)] = true
		}
	}
	return contents
}

func (s states) object(it Item, phase PhaseProgress) TreeObject {
	out := TreeObject{ObjectReference: it.Ref, Slice: it.slice, Secret: it.Secret, Retained: it.Retained, Unused: it.Unused}
	if !it.IsNamed() {
		out.State = objectPending
		if phase.State == string(v1alpha1.PhaseComplete) {
			out.State = objectReady
		}
		return out
	}
	id := IdentityOf(it.Ref)
	entry, placed := s.placed[id]
	if placed {
		out.Action, out.UID, out.Content, out.HeldSince = entry.Action, entry.UID, entry.Content, entry.HeldSince
		out.IgnoredFields = entry.IgnoredFields
	}
	out.take(s.probes, it.Manifest)
	if flap, found := s.flaps[id]; found {
		out.Flaps, out.LastFlap = flap.Count, &flap.LastChange
	}
	if trouble, found := s.notReady[id]; found {
		out.State = objectNotReady
		out.Reason, out.Message, out.Hint = trouble.Reason, trouble.Message, trouble.Hint
		out.Since, out.DueAt = &trouble.Since, trouble.DueAt
		out.Pods = s.pods[out.UID]
		return out
	}
	out.State = s.state(id, placed, phase)
	return out
}

// state is that of an object about which nothing bad is known.
func (s states) state(id revisions.ObjectID, placed bool, phase PhaseProgress) string {
	reached, contained := s.target[id]
	switch {
	case s.role == objectArchived:
		return objectArchived
	case s.role == roleServing && reached:
		return objectHandedOver
	case !placed:
		return objectPending
	case s.role == roleServing && contained:
		return objectServing
	case s.role == roleServing:
		return objectLeaving
	case phase.State == string(v1alpha1.PhaseComplete) || !s.cut:
		return objectReady
	}
	return objectInPlace
}

// ManifestOf is the manifest of an object of a revision, nil if it is not known.
func (v Snapshot) ManifestOf(r *v1alpha1.Revision, ref v1alpha1.ObjectReference) *unstructured.Unstructured {
	return placesIn(r, v.Manifests)[IdentityOf(ref)].item.Manifest
}

// ObjectTimes are the times that matter to an object.
type ObjectTimes struct {
	// WithinSeconds is how long it may take to become ready, as the probes that select
	// it say; 0 when they say nothing.
	WithinSeconds float64 `json:"withinSeconds,omitempty"`
	// DueAt is by when it has to be ready. After that the rollout has failed.
	DueAt *metav1.Time `json:"dueAt,omitempty"`
	// HoldsForSeconds is how long its probes have to hold without interruption.
	HoldsForSeconds float64 `json:"holdsForSeconds,omitempty"`
	// HeldSince is since when they hold, unset while they do not.
	HeldSince *metav1.Time `json:"heldSince,omitempty"`
	// Flaps is how many times it ceased to be ready, and LastFlap when it ceased to be
	// ready, or was ready again, last.
	Flaps    int64        `json:"flaps,omitempty"`
	LastFlap *metav1.Time `json:"lastFlap,omitempty"`
}

func (t *ObjectTimes) take(probes []v1alpha1.Probe, manifest *unstructured.Unstructured) {
	if manifest == nil {
		return
	}
	for _, probe := range probes {
		if probe.Within == nil && probe.HoldsFor == nil {
			continue
		}
		if takes, err := content.Selects(probe.Selector, manifest); err != nil || !takes {
			continue
		}
		if within := ptr.Deref(probe.Within, metav1.Duration{}).Seconds(); within > 0 && (t.WithinSeconds == 0 || within < t.WithinSeconds) {
			t.WithinSeconds = within
		}
		t.HoldsForSeconds = max(t.HoldsForSeconds, ptr.Deref(probe.HoldsFor, metav1.Duration{}).Seconds())
	}
}

// steadyAt is when the object's probes have held for as long as they must, nil when that
// is not under way.
func (t *ObjectTimes) steadyAt() *metav1.Time {
	if t.HeldSince == nil || t.HoldsForSeconds <= 0 {
		return nil
	}
	at := metav1.NewTime(t.HeldSince.Add(secondsOf(t.HoldsForSeconds)))
	return &at
}

// lines are the times in words.
func (t *ObjectTimes) lines(ready bool, now time.Time) []output.Span {
	var lines []output.Span
	if steady := t.steadyAt(); steady != nil && !ready {
		lines = append(lines, output.Span{Text: fmt.Sprintf("holds for %s of %s", Age(now, *t.HeldSince), duration.HumanDuration(secondsOf(t.HoldsForSeconds)))})
	}
	if t.DueAt != nil && !ready {
		text := "was due " + Age(now, *t.DueAt) + " ago"
		if t.DueAt.After(now) {
			text = "due in " + duration.HumanDuration(t.DueAt.Sub(now))
		}
		if t.WithinSeconds > 0 {
			text += ", within " + duration.HumanDuration(secondsOf(t.WithinSeconds))
		}
		lines = append(lines, output.Span{Text: text})
	}
	if t.Flaps > 0 {
		text := "has ceased to be ready " + CountOf(int(t.Flaps), "time")
		if t.LastFlap != nil {
			text += ", last change " + Age(now, *t.LastFlap) + " ago"
		}
		lines = append(lines, output.Span{Text: text, Style: output.Busy})
	}
	return lines
}

func secondsOf(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }
