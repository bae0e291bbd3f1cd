// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/history"
)

// ForPackage are the events about what has changed from one status of a package to the next.
func ForPackage(before, after *v1alpha1.Package) []Event {
	var list []Event
	if after.Status.HighestRevision > before.Status.HighestRevision {
		list = append(list, revisionCreated(after, after.Status.HighestRevision))
	}
	list = append(list, ofRollbacks(before, after)...)
	if from, to := before.Status.CurrentRevision, after.Status.CurrentRevision; from > 0 && to > from {
		list = append(list, handedOver(after, from, to))
	}
	was := conditionOf(before.Status.Conditions, v1alpha1.ConditionProgressing)
	is := conditionOf(after.Status.Conditions, v1alpha1.ConditionProgressing)
	switch {
	case is.Reason == was.Reason:
	case is.Reason == v1alpha1.ReasonPaused:
		list = append(list, paused(after, is.Message))
	case is.Reason == v1alpha1.ReasonTeardownStuck:
		list = append(list, teardownStuck(after, is.Message))
	case history.ReasonOf(is.Reason).Event != "" && !ofTarget(is.Message):
		list = append(list, haltedPackage(after, history.ReasonOf(is.Reason).Event, is.Message))
	case was.Reason == v1alpha1.ReasonPaused && is.Reason != v1alpha1.ReasonTearingDown:
		list = append(list, resumed(after))
	}
	return list
}

// ofTarget says that a package's condition is that of its target, which has an
// event of its own.
func ofTarget(message string) bool { return strings.HasPrefix(message, "revision ") }

// ofRollbacks are the events about requests that were answered.
func ofRollbacks(before, after *v1alpha1.Package) []Event {
	var list []Event
	if is := after.Status.Rollback; is != nil && !equality.Semantic.DeepEqual(is, before.Status.Rollback) {
		if is.Revision == 0 {
			list = append(list, rollbackRefused(after, is.Message))
		} else {
			why := "spec.rollback asks for it"
			if asked := after.Spec.Rollback; asked != nil {
				why = cmp.Or(asked.Reason, why)
			}
			list = append(list, rolledBack(after, is, why))
		}
	}
	if is := after.Status.AutomaticRollback; is != nil && is.Revision != 0 && !equality.Semantic.DeepEqual(is, before.Status.AutomaticRollback) {
		list = append(list, rolledBack(after, is, "it has missed its deadline, and spec.onFailure is Rollback"))
	}
	return list
}
