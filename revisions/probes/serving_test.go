// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package probes_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/strata-run/strata/revisions/probes"
)

func TestServing(t *testing.T) {
	available := func(status string) map[string]any {
		return map[string]any{"observedGeneration": int64(1), "availableReplicas": int64(1), "conditions": []any{map[string]any{"type": "Available", "status": status}}}
	}
	cases := map[string]struct {
		reason string
		object map[string]any
		want   probes.Status
	}{
		"DeploymentInARollingUpdate": {
			reason: "the pods of the template before serve while the new ones do not come up",
			object: map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"generation": int64(2)}, "status": available("True")},
			want:   probes.True,
		},
		"DeploymentWithoutPods": {
			reason: "its own controller says that too few pods are available",
			object: map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "status": available("False")},
			want:   probes.False,
		},
		"DeploymentWhoseLastPodMayGo": {
			reason: "with maxUnavailable as large as replicas, the condition is True of no pod at all",
			object: map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "status": map[string]any{"conditions": []any{map[string]any{"type": "Available", "status": "True"}}}},
			want:   probes.False,
		},
		"DeploymentNotSeenYet": {
			reason: "missing is never passing",
			object: map[string]any{"apiVersion": "apps/v1", "kind": "Deployment"},
			want:   probes.Unknown,
		},
		"DeploymentScaledToZero": {
			reason: "who wants no pods misses none",
			object: map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "spec": map[string]any{"replicas": int64(0)}},
			want:   probes.True,
		},
		"DeploymentBeingDeleted": {
			reason: "what goes away does not serve",
			object: map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"deletionTimestamp": "2026-01-01T00:00:00Z"}, "status": available("True")},
			want:   probes.False,
		},
		"StatefulSetWithOnePodOfTwo": {
			reason: "one pod serves",
			object: map[string]any{"apiVersion": "apps/v1", "kind": "StatefulSet", "spec": map[string]any{"replicas": int64(2)}, "status": map[string]any{"availableReplicas": int64(1)}},
			want:   probes.True,
		},
		"StatefulSetWithoutPods": {
			reason: "no pod serves",
			object: map[string]any{"apiVersion": "apps/v1", "kind": "StatefulSet", "spec": map[string]any{"replicas": int64(2)}, "status": map[string]any{"availableReplicas": int64(0)}},
			want:   probes.False,
		},
		"DaemonSetWithoutPods": {
			reason: "no node has an available pod",
			object: map[string]any{"apiVersion": "apps/v1", "kind": "DaemonSet", "status": map[string]any{"desiredNumberScheduled": int64(1)}},
			want:   probes.False,
		},
		"AutoscalerThatCannotScale": {
			reason: "the pods serve without it",
			object: map[string]any{"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler"},
			want:   probes.True,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			object := &unstructured.Unstructured{Object: tc.object}
			probe, ok := probes.Serving(object.GroupVersionKind().GroupKind())
			if !ok {
				t.Fatalf("%s: there is no serving probe for %s", tc.reason, object.GetKind())
			}
			if got := probe.Probe(object); got.Status != tc.want {
				t.Errorf("%s: got %s (%s), want %s", tc.reason, got.Status, got.Message, tc.want)
			}
		})
	}
	if _, ok := probes.Serving(schema.GroupKind{Kind: "ConfigMap"}); ok {
		t.Error("a ConfigMap has no serving probe: it serves as soon as it is there")
	}
}

// TestServing_PodsRefused: of a Deployment without pods the reason is reported for which none can
// be created.
func TestServing_PodsRefused(t *testing.T) {
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "status": map[string]any{"conditions": []any{
		map[string]any{"type": "Available", "status": "False", "reason": "MinimumReplicasUnavailable"},
		map[string]any{"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "exceeded quota: q"},
	}}}}
	probe, _ := probes.Serving(schema.GroupKind{Group: "apps", Kind: "Deployment"})
	const want = "the condition Available is False: FailedCreate: exceeded quota: q"
	if got := probe.Probe(object); got.Status != probes.False || got.Message != want {
		t.Errorf("got %s (%s), want %s", got.Status, got.Message, want)
	}
}
