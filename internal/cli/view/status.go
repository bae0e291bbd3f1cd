// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/history"
)

// Verdict says how a rollout stands.
type Verdict string

// The verdicts.
const (
	// VerdictRolledOut: the target is rolled out and has succeeded, and the
	// controller has seen all that was asked for.
	VerdictRolledOut Verdict = "RolledOut"
	// VerdictInProgress: it is not, and can become so by itself.
	VerdictInProgress Verdict = "InProgress"
	// VerdictFailed: a user has to act.
	VerdictFailed Verdict = "Failed"
)

// Status is the document of `strata status`: how the rollout of a package's
// target stands and what blocks it.
type Status struct {
	metav1.TypeMeta `json:",inline"`

	// Package is the package.
	Package PackageSummary `json:"package"`
	// Verdict is RolledOut, InProgress or Failed.
	Verdict Verdict `json:"verdict"`
	// Message says why, in words.
	Message string `json:"message,omitempty"`
	// Target is the revision that rolls out, or has rolled out last.
	Target *RevisionSummary `json:"target,omitempty"`
	// Phases are those of the target.
	Phases []PhaseProgress `json:"phases"`
	// Blocking is the first object that blocks the rollout.
	Blocking *TreeObject `json:"blocking,omitempty"`
	// Flaps are the objects of the target that were ready and ceased to be so.
	Flaps []v1alpha1.Flap `json:"flaps,omitempty"`
	// Serving is the revision before the target, while it still has objects.
	Serving *Handover `json:"serving,omitempty"`
	// LastProgressAt is when the rollout moved last.
	LastProgressAt *metav1.Time `json:"lastProgressAt,omitempty"`
	// DeadlineSeconds is how long it may go without progress.
	DeadlineSeconds int64 `json:"deadlineSeconds,omitempty"`
	// RollbackRefused is why the package's rollback request was refused.
	RollbackRefused string `json:"rollbackRefused,omitempty"`
}

// Handover counts what an older revision has handed over to the target.
type Handover struct {
	// Revision is the older revision.
	Revision int64 `json:"revision"`
	// Objects is how many objects it contains.
	Objects int `json:"objects"`
	// HandedOver is how many of them the target has in place.
	HandedOver int `json:"handedOver"`
}

// Status is the document of a package and its revisions.
func (v Snapshot) Status() Status {
	s := Status{TypeMeta: DocumentType("Status"), Package: SummarisePackage(v.Package, v.Revisions), Phases: []PhaseProgress{}}
	h := HistoryOf(v.Package, v.Revisions)
	s.Verdict, s.Message = Judge(v.Package, h.Target)
	if v.Package.Spec.ProgressDeadline != nil {
		s.DeadlineSeconds = int64(v.Package.Spec.ProgressDeadline.Duration / time.Second)
	}
	if handled := v.Package.Status.Rollback; handled != nil && handled.Revision == 0 && v.Package.Spec.Rollback != nil && history.IsHandled(v.Package) {
		s.RollbackRefused = handled.Message
	}
	if h.Target == nil {
		return s
	}
	tree := v.treeRevision(h.Target, s.Package)
	s.Target = &tree.RevisionSummary
	for _, phase := range tree.Phases {
		s.Phases = append(s.Phases, phase.PhaseProgress)
	}
	s.LastProgressAt = h.Target.Status.LastProgressTime
	s.Blocking, s.Flaps = v.blocking(h.Target, tree), h.Target.Status.Flaps
	s.Serving = v.handover(h.Serving, s.Package)
	return s
}

// Judge says how a rollout stands.
func Judge(pkg *v1alpha1.Package, target *v1alpha1.Revision) (Verdict, string) {
	state, message := PackageState(pkg)
	switch {
	case !pkg.DeletionTimestamp.IsZero():
		return VerdictFailed, "the package is being deleted: " + message
	case pkg.Status.ObservedGeneration < pkg.Generation:
		return VerdictInProgress, "the controller has not seen the package's latest change yet"
	case !history.IsHandled(pkg):
		return VerdictInProgress, "the rollback that was asked for has not been handled yet"
	case target == nil:
		return VerdictInProgress, message
	case pkg.Status.TargetRevision != target.Spec.Revision:
		return VerdictInProgress, NotLookedAt(target.Spec.Revision)
	case len(target.Status.Conditions) == 0 && state == v1alpha1.ReasonRollingOut:
		return VerdictInProgress, state + ": " + message // the revision follows with its details
	case target.Status.ObservedGeneration < target.Generation:
		return VerdictInProgress, NotLookedAt(target.Spec.Revision)
	}
	c := meta.FindStatusCondition(target.Status.Conditions, v1alpha1.ConditionProgressing)
	switch {
	case c == nil:
		return VerdictInProgress, NotLookedAt(target.Spec.Revision)
	case history.ReasonOf(c.Reason).IsTerminal:
		return VerdictFailed, c.Reason + ": " + c.Message
	case c.Reason == v1alpha1.ReasonRolledOut && history.Succeeded(target) && state == c.Reason:
		return VerdictRolledOut, message
	case c.Reason == v1alpha1.ReasonRolledOut && history.Succeeded(target):
		return VerdictInProgress, fmt.Sprintf("revision %d is rolled out; the package's status is not up to date yet (%s)", target.Spec.Revision, state)
	}
	return VerdictInProgress, c.Reason + ": " + c.Message
}

// blocking is the first object that blocks the rollout: one that collides when a
// collision has stopped it, else the first that is not ready.
func (v Snapshot) blocking(target *v1alpha1.Revision, tree TreeRevision) *TreeObject {
	if len(target.Status.Objects) == 0 {
		return nil
	}
	first := target.Status.Objects[0]
	for _, object := range target.Status.Objects {
		if tree.Outcome == v1alpha1.ReasonObjectCollisions && object.Reason == "Collision" {
			first = object
			break
		}
	}
	for _, phase := range tree.Phases {
		for i := range phase.Items {
			if IdentityOf(phase.Items[i].ObjectReference) == IdentityOf(first.ObjectReference) {
				return &phase.Items[i]
			}
		}
	}
	// Its slice could not be read.
	return &TreeObject{
		ObjectReference: first.ObjectReference, State: objectNotReady,
		Reason: first.Reason, Message: first.Message, Since: &first.Since, Hint: first.Hint, ObjectTimes: ObjectTimes{DueAt: first.DueAt},
	}
}

func (v Snapshot) handover(serving []*v1alpha1.Revision, p PackageSummary) *Handover {
	if len(serving) == 0 {
		return nil
	}
	h := &Handover{Revision: serving[0].Spec.Revision}
	for _, phase := range v.treeRevision(serving[0], p).Phases {
		for _, object := range phase.Items {
			h.Objects++
			if object.State == objectHandedOver {
				h.HandedOver++
			}
		}
	}
	return h
}

// ProgressOf is how far a rollout is, as a text that changes whenever it moves.
func ProgressOf(s Status) string {
	var text strings.Builder
	fmt.Fprint(&text, s.Package.TargetRevision)
	for _, phase := range s.Phases {
		fmt.Fprintf(&text, " %s:%d:%d", phase.State, phase.Ready, phase.written())
	}
	return text.String()
}
