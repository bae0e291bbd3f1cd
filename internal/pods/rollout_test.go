// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestRolloutOf(t *testing.T) {
	type fields = map[string]any
	workload := func(kind string, spec, status fields) *unstructured.Unstructured {
		status["observedGeneration"] = int64(2)
		return &unstructured.Unstructured{Object: fields{"kind": kind, "metadata": fields{"generation": int64(2)}, "spec": spec, "status": status}}
	}
	three := fields{"replicas": int64(3)}
	counts := func(replicas, updated, available int64) fields {
		return fields{"replicas": replicas, "updatedReplicas": updated, "availableReplicas": available}
	}
	exceeded := counts(4, 1, 3)
	exceeded["conditions"] = []any{fields{"type": "Progressing", "reason": "ProgressDeadlineExceeded"}}
	unseen := workload("Deployment", three, exceeded)
	unseen.SetGeneration(3)
	available, revisions := counts(3, 3, 2), func(current, update string) fields {
		f := counts(3, 3, 2)
		f["currentRevision"], f["updateRevision"] = current, update
		return f
	}
	available["conditions"] = []any{fields{"type": "Progressing", "reason": "NewReplicaSetAvailable", "lastUpdateTime": "2026-01-01T00:00:10Z"}}
	nodes := fields{"desiredNumberScheduled": int64(2), "updatedNumberScheduled": int64(2), "numberAvailable": int64(2)}
	tests := map[string]struct {
		reason                string
		object                *unstructured.Unstructured
		done, failed, blocked bool
		// updated, completed and empty are looked at where they differ from done.
		updated, completed, empty bool
	}{
		"Done":         {reason: "all are new and serve", object: workload("Deployment", three, counts(3, 3, 3)), done: true},
		"Complete":     {reason: "they have served, and one does not now", object: workload("Deployment", three, available), updated: true, completed: true},
		"Empty":        {reason: "there are to be none", object: workload("Deployment", fields{"replicas": int64(0)}, counts(0, 0, 0)), done: true, empty: true},
		"SetComplete":  {reason: "a set tells it by its revisions", object: workload("StatefulSet", three, revisions("b", "b")), updated: true, completed: true},
		"SetBegun":     {reason: "and that it is not", object: workload("StatefulSet", three, revisions("a", "b")), updated: true},
		"Scheduled":    {reason: "daemons are replaced one after the other has come up", object: workload("DaemonSet", fields{}, fields{"desiredNumberScheduled": int64(3), "updatedNumberScheduled": int64(3), "numberAvailable": int64(2)}), updated: true, completed: true},
		"OneDaemon":    {reason: "the only one has not come up", object: workload("DaemonSet", fields{}, fields{"desiredNumberScheduled": int64(1), "updatedNumberScheduled": int64(1), "numberAvailable": int64(0)}), updated: true},
		"SetOnDelete":  {reason: "nothing of a set is replaced by itself", object: workload("StatefulSet", fields{"replicas": int64(3), "updateStrategy": fields{"type": "OnDelete"}}, counts(3, 0, 3)), blocked: true},
		"OldLeft":      {reason: "an old one is left", object: workload("Deployment", three, counts(4, 3, 4))},
		"NotServed":    {reason: "one does not serve yet", object: workload("Deployment", three, counts(3, 3, 2)), updated: true},
		"Unseen":       {reason: "what the controller tells is of before the restart", object: unseen},
		"Exceeded":     {reason: "the Deployment has given up", object: workload("Deployment", three, exceeded), failed: true},
		"Paused":       {reason: "nothing would be replaced", object: workload("Deployment", fields{"replicas": int64(3), "paused": true}, counts(3, 3, 3)), done: true, blocked: true},
		"Stateful":     {reason: "pods are replaced one by one", object: workload("StatefulSet", three, counts(3, 2, 3))},
		"StatefulDone": {reason: "all are new", object: workload("StatefulSet", three, counts(3, 3, 3)), done: true},
		"Partition":    {reason: "some are kept", object: workload("StatefulSet", fields{"replicas": int64(3), "updateStrategy": fields{"rollingUpdate": fields{"partition": int64(2)}}}, counts(3, 3, 3)), done: true, blocked: true},
		"OnDelete":     {reason: "none is replaced", object: workload("DaemonSet", fields{"updateStrategy": fields{"type": "OnDelete"}}, nodes), done: true, blocked: true},
		"Daemons":      {reason: "each node has a new one", object: workload("DaemonSet", fields{}, nodes), done: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := RolloutOf(tc.object)
			if got.Done != tc.done || (got.Failed != "") != tc.failed || (got.Blocked != "") != tc.blocked {
				t.Errorf("%s: got %+v", tc.reason, got)
			}
			if at := got.CompletedAt; !at.IsZero() != (name == "Complete") || name == "Complete" && at.Second() != 10 {
				t.Errorf("%s: it has completed at %s", tc.reason, at)
			}
			if got.Updated != (tc.done || tc.updated) || !tc.done && got.Completed != tc.completed || got.Empty != tc.empty {
				t.Errorf("%s: got %+v", tc.reason, got)
			}
		})
	}
}

// Old pods that still serve do not make it look as if new ones did.
func TestRolloutOf_Progress(t *testing.T) {
	o := &unstructured.Unstructured{Object: map[string]any{
		"kind": "Deployment", "spec": map[string]any{"replicas": int64(1)},
		"status": map[string]any{"replicas": int64(2), "updatedReplicas": int64(1), "availableReplicas": int64(1)},
	}}
	if got, want := RolloutOf(o).Progress, "1 of 1 pods are new, 1 of 2 serve"; got != want {
		t.Errorf("the progress is %q, want %q", got, want)
	}
}
