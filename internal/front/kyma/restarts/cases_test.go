// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
)

// Several causes at once are one restart, and a cause that comes while it rolls out is another
// one, after it.
func TestController_SeveralCauses(t *testing.T) {
	c := newCluster(t)
	c.workload("shop", "a", oldImage)
	c.rolledOut(v1alpha2.IstioSpec{}, v1alpha2.AnnotationRestartWindow, "04:00-05:00")
	c.run(time.Minute)
	c.rolledOut(withDNS())
	c.run(time.Minute)
	c.rolledOut(withDNS(), v1alpha2.AnnotationRestartWindow, "")
	c.run(time.Minute)
	c.wants("two causes", map[string]int{"shop/a": 1})
	if c.meter.causes["ProxyImage"] != 1 || c.meter.causes["DNSProxying"] != 1 {
		t.Errorf("they are counted as %v", c.meter.causes)
	}
	c.broken["shop/a"] = true
	c.rolledOut(v1alpha2.IstioSpec{})
	c.run(time.Minute)
	c.rolledOut(withDNS())
	c.run(time.Minute)
	c.wants("while it rolls out", map[string]int{"shop/a": 2})
	c.broken["shop/a"] = false
	c.mend("shop", "a")
	c.pod("shop", "a", newImage)
	c.deployment("shop", "a", setAvailable(1))
	c.change("shop", "a", func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(c.now.Add(-90 * time.Second)) })
	c.run(5 * time.Minute)
	c.wants("after it", map[string]int{"shop/a": 3})
}

// A window that closes in the midst of it: what was begun goes on, and the rest waits.
func TestController_WindowCloses(t *testing.T) {
	c := newCluster(t)
	for i := range 6 {
		c.workload("shop", fmt.Sprint("w", i), oldImage)
	}
	c.broken["shop/w0"], c.broken["shop/w1"] = true, true
	c.rolledOut(v1alpha2.IstioSpec{}, v1alpha2.AnnotationRestartWindow, "03:00-03:06")
	c.run(time.Minute)
	c.now = time.Date(2026, 1, 2, 3, 6, 30, 0, time.UTC)
	for _, name := range []string{"w0", "w1"} {
		c.broken["shop/"+name] = false
		c.mend("shop", name)
	}
	state := c.run(time.Hour)
	c.wants("after the window has closed", map[string]int{"shop/w0": 1, "shop/w1": 1})
	if state.Pending != 4 || len(state.InProgress)+len(state.Failed) > 0 {
		t.Errorf("the state is %+v", state)
	}
	c.run(24 * time.Hour)
	c.wants("in the next one", map[string]int{"shop/w0": 1, "shop/w1": 1, "shop/w2": 1, "shop/w3": 1, "shop/w4": 1, "shop/w5": 1})
}

// Who excludes a namespace in the midst of it is obeyed for what was not begun, and one that
// does not come up lets the others go on.
func TestController_ExcludedMidway(t *testing.T) {
	c := newCluster(t)
	for i := range 5 {
		c.workload("left", fmt.Sprint("w", i), oldImage)
	}
	c.workload("shop", "a", oldImage)
	c.broken["left/w0"], c.broken["left/w1"] = true, true
	c.rolledOut(v1alpha2.IstioSpec{})
	if state := c.run(20 * time.Minute); state.FailedCount != 2 {
		t.Fatalf("the state is %+v", state)
	}
	c.put(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "left", Annotations: map[string]string{v1alpha2.AnnotationExcludeFromRestart: "true"}}})
	c.c.relabelled.Store(true)
	state := c.run(5 * time.Minute)
	c.wants("those that were begun, and the other namespace", map[string]int{"left/w0": 1, "left/w1": 1, "shop/a": 1})
	if state.Excluded != 5 || state.Pending+len(state.Failed) > 0 {
		t.Errorf("the state is %+v", state)
	}
}

// What a restart would not replace, or not at all, is reported or left alone.
func TestController_Strategies(t *testing.T) {
	zero := int32(0)
	tests := map[string]struct {
		reason string
		change func(*appsv1.Deployment)
		manual string
	}{
		"Paused": {reason: "nothing would be replaced", change: func(d *appsv1.Deployment) { d.Spec.Paused = true }, manual: "it is paused"},
		"Empty": {reason: "it was scaled to nothing since the pods were looked at", change: func(d *appsv1.Deployment) {
			d.Spec.Replicas, d.Status = &zero, appsv1.DeploymentStatus{ObservedGeneration: 1000}
		}},
		"Rolling": {reason: "its owner is rolling it out", change: func(d *appsv1.Deployment) { d.Status.UpdatedReplicas = 0 }},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			c.workload("shop", "a", oldImage)
			c.deployment("shop", "a", tc.change)
			c.rolledOut(v1alpha2.IstioSpec{})
			state := c.run(time.Minute)
			c.wants(tc.reason, map[string]int{})
			if got := strings.Join(state.Manual, ";"); !strings.Contains(got, tc.manual) || tc.manual == "" && got != "" || len(state.Failed) > 0 {
				t.Errorf("%s: the state is %+v", tc.reason, state)
			}
		})
	}
}

// A workload that is not whole waits until it is. When that takes long, an event says so, once,
// and it is restarted all the same as soon as it is.
func TestController_NotWhole(t *testing.T) {
	c := newCluster(t)
	c.workload("shop", "a", oldImage)
	c.deployment("shop", "a", setAvailable(0))
	c.rolledOut(v1alpha2.IstioSpec{})
	if state := c.run(9 * time.Minute); state.Pending != 1 || len(state.Manual) > 0 {
		t.Errorf("at first, the state is %+v", state)
	}
	for range 3 {
		if state := c.run(time.Hour); len(state.Manual) != 1 || !strings.Contains(state.Manual[0], "once it is ready") {
			t.Errorf("when it takes long, the state is %+v", state)
		}
	}
	c.wants("it is not whole", map[string]int{})
	if n := len(c.events.Events); n != 1 {
		t.Errorf("%d events tell of it, want one", n)
	}
	c.deployment("shop", "a", setAvailable(1))
	state := c.run(10 * time.Minute)
	c.wants("it is whole", map[string]int{"shop/a": 1})
	if state.Pending+len(state.Manual) > 0 {
		t.Errorf("in the end, the state is %+v", state)
	}
}

// Kinds that replace pods in other ways, or not at all.
func TestController_Owners(t *testing.T) {
	tests := map[string]struct {
		reason string
		owner  *metav1.OwnerReference
		want   string
	}{
		"OnDelete": {reason: "its owner deletes the pods", owner: &metav1.OwnerReference{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "db"}, want: "shop/StatefulSet/db (its update strategy is OnDelete"},
		"Job":      {reason: "it must not run twice", owner: &metav1.OwnerReference{APIVersion: "batch/v1", Kind: "Job", Name: "report-29384"}, want: "shop/Job/report-29384 ("},
		"Rollout":  {reason: "it has tools of its own", owner: &metav1.OwnerReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "argo-1", UID: "*v1.ReplicaSet/shop/argo-1"}, want: "shop/Rollout/argo (the manager cannot restart a Rollout of argoproj.io/v1alpha1"},
		"Bare":     {reason: "nothing makes it anew", want: "shop/Pod/a-1-a ("},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			c.put(&appsv1.StatefulSet{
				ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db"},
				Spec:       appsv1.StatefulSetSpec{UpdateStrategy: appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}},
			})
			c.put(&appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{
				Namespace: "shop", Name: "argo-1", OwnerReferences: []metav1.OwnerReference{{APIVersion: "argoproj.io/v1alpha1", Kind: "Rollout", Name: "argo"}},
			}})
			c.pod("shop", "a", oldImage)
			c.change("shop", "a", func(p *corev1.Pod) {
				p.OwnerReferences = nil
				if tc.owner != nil {
					p.OwnerReferences = []metav1.OwnerReference{*tc.owner}
				}
			})
			c.rolledOut(v1alpha2.IstioSpec{})
			state := c.run(3 * time.Hour)
			c.wants(tc.reason, map[string]int{})
			if len(state.Manual) != 1 || !strings.HasPrefix(state.Manual[0], tc.want) {
				t.Errorf("%s: it is reported as %+v", tc.reason, state)
			}
			if n := len(c.events.Events); n != 1 {
				t.Errorf("%s: %d events tell of it, want one", tc.reason, n)
			}
		})
	}
}

// A pod that only a user can restart, and that is excluded, is not listed for a user.
func TestController_ExcludedManual(t *testing.T) {
	c := newCluster(t)
	for _, name := range []string{"a", "b"} {
		c.pod("shop", name, oldImage)
		c.change("shop", name, func(p *corev1.Pod) { p.OwnerReferences = nil })
	}
	c.change("shop", "a", func(p *corev1.Pod) { p.Annotations[v1alpha2.AnnotationExcludeFromRestart] = "true" })
	c.rolledOut(v1alpha2.IstioSpec{})
	if state := c.run(time.Minute); state.ManualCount != 1 || !strings.HasPrefix(state.Manual[0], "shop/Pod/b-1-a (") {
		t.Errorf("the state is %+v", state)
	}
}

// The egress gateway is restarted for its settings where the mesh has one.
func TestController_Egress(t *testing.T) {
	for _, on := range []bool{true, false} {
		t.Run(fmt.Sprint(on), func(t *testing.T) {
			c := newCluster(t)
			c.namespace("istio-system", nil)
			c.egress = on
			c.workload("istio-system", "istio-egressgateway", newImage)
			c.broken["istio-system/istio-egressgateway"] = true
			c.rolledOut(withProxies(1))
			c.run(time.Minute)
			c.rolledOut(withProxies(2))
			state := c.run(time.Minute)
			want := map[string]int{}
			if on {
				want["istio-system/istio-egressgateway"] = 1
			}
			c.wants("a setting of gateways", want)
			if state.Egress.Rolling != on || state.Gateway.Rolling || state.Egress.Err != nil {
				t.Errorf("while it comes up, the state is %+v", state)
			}
			state = c.run(15 * time.Minute)
			if (state.Egress.Err != nil) != on || state.Gateway.Err != nil || state.Egress.Rolling {
				t.Errorf("after the deadline, the state is %+v", state)
			}
		})
	}
}

// Pods that do not come up for want of an outdated sidecar are what keeps their workload from
// being whole: a restart mends it. Pods that have troubles of their own do not.
func TestController_Stuck(t *testing.T) {
	c := newCluster(t)
	for name, reason := range map[string]string{"cart": "ImagePullBackOff", "own": ""} {
		c.workload("shop", name, oldImage)
		c.deployment("shop", name, setAvailable(0))
		c.change("shop", name, func(p *corev1.Pod) {
			p.Status = corev1.PodStatus{Phase: corev1.PodPending}
			if reason != "" {
				p.Status.InitContainerStatuses = []corev1.ContainerStatus{{
					Name: "istio-proxy", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}},
				}}
			}
		})
	}
	c.rolledOut(v1alpha2.IstioSpec{})
	c.run(time.Minute)
	c.wants("the one whose sidecar cannot be pulled", map[string]int{"shop/cart": 1})
}
