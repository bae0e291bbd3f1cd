// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Serving returns the probe that says whether an object of a kind still serves,
// and whether there is one.
//
// Serving is less than ready. A Deployment in the middle of a rolling update, or
// whose new pods never come up, is not ready; it serves as long as its condition
// Available is True. A StatefulSet or DaemonSet serves while any of its pods is
// available. Every other kind serves when its [Default] says True.
func Serving(kind schema.GroupKind) (Probe, bool) {
	if serves, ok := serving[kind]; ok {
		return defaultProbe{kind: kind, ready: serves}, true
	}
	return Default(kind)
}

// ServesBeforeReady says whether an object of a kind can serve without being ready, which
// [Serving] tells apart.
func ServesBeforeReady(kind schema.GroupKind) bool {
	_, ok := serving[kind]
	return ok
}

var serving = map[schema.GroupKind]func(content map[string]any) Result{
	{Group: "apps", Kind: "Deployment"}:                     deploymentServes,
	{Group: "apps", Kind: "StatefulSet"}:                    statefulSetServes,
	{Group: "apps", Kind: "DaemonSet"}:                      daemonSetServes,
	{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}: horizontalPodAutoscalerServes,
}

// deploymentServes asks for the condition that the deployment controller keeps for
// just this. It is not asked whether the controller has seen the newest spec: the
// pods of the spec before serve meanwhile.
func deploymentServes(content map[string]any) Result {
	want := wantedReplicas(content)
	if want == 0 {
		return Result{Status: True}
	}
	c := conditionOf(content, "Available")
	switch c.status {
	case string(True):
		// Where all pods may be unavailable at once, the condition says True of none.
		if countAt(content, "status", "availableReplicas") == 0 {
			return NewResult(False, fmt.Sprintf("0 of %d replicas available", want))
		}
		return Result{Status: True}
	case "":
		return NewResult(Unknown, "the condition Available is not set yet")
	default:
		// Of pods that cannot be created the condition itself tells nothing.
		return NewResult(False, "the condition Available is "+c.status+cmp.Or(replicaFailure(content), because(c.reason, c.message)))
	}
}

func statefulSetServes(content map[string]any) Result {
	want, available := wantedReplicas(content), statefulSetAvailable(content)
	if want > 0 && available == 0 {
		return NewResult(False, fmt.Sprintf("0 of %d replicas available", want))
	}
	return Result{Status: True}
}

func daemonSetServes(content map[string]any) Result {
	want, available := countAt(content, "status", "desiredNumberScheduled"), countAt(content, "status", "numberAvailable")
	if want > 0 && available == 0 {
		return NewResult(False, fmt.Sprintf("0 of %d nodes available", want))
	}
	return Result{Status: True}
}

// horizontalPodAutoscalerServes is always True: the pods serve without it.
func horizontalPodAutoscalerServes(map[string]any) Result {
	return Result{Status: True}
}
