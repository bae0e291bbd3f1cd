// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/revisions"
)

// Values of the labels operation and result.
const (
	operationApply  = "apply"
	operationDelete = "delete"

	resultSuccess = "success"
)

// operations are the labels of actions that write.
var operations = map[revisions.Action]string{
	revisions.ActionCreated: "create", revisions.ActionUpdated: "update", revisions.ActionAdopted: "adopt",
}

// Listener counts what an engine reports.
func (m *Metrics) Listener() revisions.Listener {
	return revisions.Listener{Object: m.object, Removed: m.removed}
}

func (m *Metrics) object(owner revisions.Owner, _ string, result revisions.ObjectResult) {
	switch {
	case result.Err != nil:
		m.applies.WithLabelValues(operationApply, resultOf(result.Err)).Inc()
		return
	case result.TakenOver:
		m.conflict(result.Backoff.Manager, v1alpha1.InterferenceTakenOver, 1)
		return
	case !result.Wrote():
		return
	}
	m.applies.WithLabelValues(operations[result.Action], resultSuccess).Inc()
	if result.Repaired {
		m.repaired.WithLabelValues(owner.Name).Inc()
		m.conflict(result.Backoff.Manager, v1alpha1.InterferenceCause(result.Backoff.Cause), 1)
	}
}

// conflict counts that an object was found not to be as it was left.
func (m *Metrics) conflict(manager string, cause v1alpha1.InterferenceCause, times int64) {
	m.conflicts.WithLabelValues(m.managers.value(manager), string(cause)).Add(float64(times))
}

func (m *Metrics) removed(_ revisions.Owner, _ string, result revisions.RemovedObject) {
	switch {
	case result.Err != nil:
		m.applies.WithLabelValues(operationDelete, resultOf(result.Err)).Inc()
	case result.Deleted:
		m.applies.WithLabelValues(operationDelete, resultSuccess).Inc()
	}
}

// resultOf sorts an error by what has to happen before another try can succeed.
func resultOf(err error) string {
	switch {
	case apierrors.IsConflict(err):
		return "conflict"
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return "denied"
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return "invalid"
	default:
		return "error"
	}
}
