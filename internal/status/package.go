// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/history"
	"github.com/strata-run/strata/revisions"
	"github.com/strata-run/strata/revisions/probes"
)

// ForPackage is the status of a package, from its history with their
// new statuses and from whether the operand serves.
func ForPackage(pkg *v1alpha1.Package, h history.History, serves probes.Result, err error, now metav1.Time) v1alpha1.PackageStatus {
	next := *pkg.Status.DeepCopy()
	next.ObservedGeneration = pkg.Generation
	next.HighestRevision = max(next.HighestRevision, h.Highest)
	next.CurrentRevision, next.TargetRevision, next.Version = 0, 0, ""
	if h.Current != nil {
		next.CurrentRevision = h.Current.Spec.Revision
		next.Version = VersionOf(h.Current)
	}
	if h.Target == nil {
		next.Phase, next.Probes = "", ""
		Set(pkg.Generation, now, &next.Conditions, without(err)...)
		return next
	}
	next.TargetRevision = h.Target.Spec.Revision
	next.Phase, next.Probes = h.Target.Status.Phase, h.Target.Status.Probes
	progressing := withRefusal(pkg, fromTarget(h.Target))
	if serves.Status == "" {
		serves = probes.Result{Status: probes.Unknown, Message: "the objects could not be checked: " + progressing.Message}
	}
	Set(pkg.Generation, now, &next.Conditions, progressing, availableOf(h, serves))
	Set(pkg.Generation, now, &next.Conditions, ready(next, h, now))
	return next
}

func without(err error) []metav1.Condition {
	message := "the package has no active revision: create a Revision, or wait for the front that makes them"
	if err != nil {
		message = err.Error()
	}
	return []metav1.Condition{
		Condition(v1alpha1.ConditionProgressing, metav1.ConditionFalse, v1alpha1.ReasonNoRevision, message),
		Condition(v1alpha1.ConditionAvailable, metav1.ConditionFalse, v1alpha1.ReasonNoRevision, message),
		Condition(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonNoRevision, message),
	}
}

func fromTarget(target *v1alpha1.Revision) metav1.Condition {
	c := meta.FindStatusCondition(target.Status.Conditions, v1alpha1.ConditionProgressing)
	if c == nil {
		return Condition(v1alpha1.ConditionProgressing, metav1.ConditionTrue, v1alpha1.ReasonRollingOut, "revision "+Describe(target)+" is checked")
	}
	message := c.Message
	if c.Reason != v1alpha1.ReasonRolledOut {
		message = "revision " + Describe(target) + ": " + message
	}
	return Condition(v1alpha1.ConditionProgressing, c.Status, c.Reason, message)
}

// withRefusal adds to the condition that a rollback request was refused. It does not
// replace the condition of a rollout that goes on or has failed.
func withRefusal(pkg *v1alpha1.Package, c metav1.Condition) metav1.Condition {
	handled := pkg.Status.Rollback
	if c.Reason != v1alpha1.ReasonRolledOut || pkg.Spec.Rollback == nil || !history.IsHandled(pkg) || handled.Revision != 0 {
		return c
	}
	return Condition(v1alpha1.ConditionProgressing, metav1.ConditionFalse, v1alpha1.ReasonRollbackRefused,
		c.Message+"; the rollback that was asked for was refused: "+handled.Message)
}

// availableOf says whether the operand serves, from whichever revision.
func availableOf(h history.History, serves probes.Result) metav1.Condition {
	c := available(serves, v1alpha1.ReasonProbeFailed)
	rolling := !history.Succeeded(h.Target)
	switch {
	case rolling && c.Status == metav1.ConditionTrue && h.Current != nil && h.Current != h.Target:
		c.Reason = v1alpha1.ReasonServing
		c.Message = fmt.Sprintf("revision %d serves while revision %d %s", h.Current.Spec.Revision, h.Target.Spec.Revision, doing(h.Target))
	case rolling && c.Status != metav1.ConditionTrue && h.Current == nil:
		c.Status, c.Reason = metav1.ConditionFalse, v1alpha1.ReasonRollingOut
		c.Message = "the first revision has not been rolled out yet"
	}
	return c
}

// doing says what a revision that has not succeeded is about.
func doing(target *v1alpha1.Revision) string {
	c := meta.FindStatusCondition(target.Status.Conditions, v1alpha1.ConditionProgressing)
	if c != nil && c.Reason == v1alpha1.ReasonAwaitingApproval {
		return "waits for approval"
	}
	return "is rolled out"
}

// ready says whether what runs is what is wanted, and stays so. An object that another
// client keeps from that is named; it makes the package unready where it is a right. Where
// a probe depends on it, that has the say already.
func ready(next v1alpha1.PackageStatus, h history.History, now metav1.Time) metav1.Condition {
	progressing := meta.FindStatusCondition(next.Conditions, v1alpha1.ConditionProgressing)
	availability := meta.FindStatusCondition(next.Conditions, v1alpha1.ConditionAvailable)
	switch {
	case progressing.Reason != v1alpha1.ReasonRolledOut && progressing.Reason != v1alpha1.ReasonRollbackRefused:
		return Condition(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonNotReady, progressing.Message)
	case availability.Status != metav1.ConditionTrue:
		return Condition(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonNotReady, availability.Message)
	}
	if c := readyDespite(h, now); c != nil {
		return *c
	}
	for _, back := range []*v1alpha1.RollbackStatus{next.Rollback, next.AutomaticRollback} {
		if back != nil && back.Revision != 0 && back.Revision == h.Target.Spec.Revision {
			return Condition(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonRolledBack,
				fmt.Sprintf("the content of revision %d runs; that of revision %d was rejected", back.ToRevision, back.FromRevision))
		}
	}
	return Condition(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonReady, "revision "+Describe(h.Target)+" is rolled out and serves")
}

// readyDespite says what is ready although objects of what runs do not stay as they are
// wanted; nil when all do.
func readyDespite(h history.History, now metav1.Time) *metav1.Condition {
	found := conflicts(h.Target, now)
	for _, revision := range h.Serving {
		found = append(found, conflicts(revision, now)...)
	}
	if len(found) == 0 {
		return nil
	}
	if i := slices.IndexFunc(found, func(entry v1alpha1.Interference) bool { return isRight(entry.ObjectReference) }); i >= 0 {
		c := Condition(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonRightsDiffer,
			conflictText(found[i:i+1])+", so rights differ from what is wanted")

		return &c
	}
	c := Condition(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonInterference,
		"revision "+Describe(h.Target)+" is rolled out and serves; but "+conflictText(found))

	return &c
}

// ForError is the status of a package whose revisions could not be read, or whose
// rollback could not be started. What was found before stays.
func ForError(pkg *v1alpha1.Package, err error, now metav1.Time) v1alpha1.PackageStatus {
	next := *pkg.Status.DeepCopy()
	next.ObservedGeneration = pkg.Generation
	wanted := []metav1.Condition{
		Condition(v1alpha1.ConditionProgressing, metav1.ConditionFalse, errorReason(err), err.Error()),
		Condition(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonNotReady, err.Error()),
	}
	if known := meta.FindStatusCondition(next.Conditions, v1alpha1.ConditionAvailable); known != nil {
		wanted = append(wanted, *known)
	} else {
		wanted = append(wanted, available(probes.Result{Status: probes.Unknown, Message: err.Error()}, ""))
	}
	Set(pkg.Generation, now, &next.Conditions, wanted...)
	return next
}

// ForTeardown is the status of a package that is being deleted.
func ForTeardown(pkg *v1alpha1.Package, result revisions.TeardownResult, err error, now metav1.Time) v1alpha1.PackageStatus {
	next := *pkg.Status.DeepCopy()
	next.ObservedGeneration = pkg.Generation
	message := teardownMessage(result, err)
	progressing := Condition(v1alpha1.ConditionProgressing, metav1.ConditionTrue, v1alpha1.ReasonTearingDown, message)
	if isDenied(err) {
		message += ": grant the right to the package's identity, or name another one in spec.serviceAccount, or none, which stands for the manager's own"
		progressing = Condition(v1alpha1.ConditionProgressing, metav1.ConditionFalse, v1alpha1.ReasonPermissionDenied, message)
	}
	Set(pkg.Generation, now, &next.Conditions, progressing,
		Condition(v1alpha1.ConditionAvailable, metav1.ConditionFalse, v1alpha1.ReasonTearingDown, message),
		Condition(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonTearingDown, message))
	markStuck(pkg, next, now)
	return next
}
