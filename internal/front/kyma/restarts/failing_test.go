// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
)

// A workload that does not come up stops the others in the next process, too: whether its old
// pods are still there, or nothing of it is outdated any more.
func TestController_FailureOutlivesProcess(t *testing.T) {
	tests := map[string]struct {
		reason string
		// left says that the pod of the workload that fails is still the old one.
		left bool
		// news is another cause after the process has ended.
		news bool
	}{
		"OldPodLeft": {reason: "a pod from before still serves, and others come first by name", left: true},
		"NoPodLeft":  {reason: "no pod is outdated, and none serves"},
		"NewCause":   {reason: "another cause is no reason to forget it", left: true, news: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			c.c.Settings.Limit = 1
			c.workload("shop", "m", oldImage)
			c.broken["shop/m"] = true
			c.rolledOut(v1alpha2.IstioSpec{})
			if state := c.run(20 * time.Minute); len(state.Failed) != 1 {
				t.Fatalf("before the process ends, the state is %+v", state)
			}
			if !tc.left {
				c.pod("shop", "m", newImage)
			}
			for i := range 4 {
				c.workload("shop", fmt.Sprint("a", i), oldImage)
			}
			if tc.news {
				c.rolledOut(withDNS())
			}
			c.start()
			state := c.run(time.Hour)
			c.wants(tc.reason, map[string]int{"shop/m": 1})
			if len(state.Failed) != 1 || !strings.HasPrefix(state.Failed[0], "shop/Deployment/m") {
				t.Errorf("%s: what fails is reported as %+v", tc.reason, state)
			}
			c.broken["shop/m"] = false
			c.mend("shop", "m")
			state = c.run(time.Hour)
			if len(state.Failed)+state.Pending > 0 || c.restarts["shop/a3"] != 1 {
				t.Errorf("%s: after it has come up, the state is %+v, restarts %v", tc.reason, state, c.restarts)
			}
		})
	}
}

// A failure has its cause: what the workload's own condition says, or what its pods show. It stops
// its namespace, and no other.
func TestController_FailureHasItsCause(t *testing.T) {
	for name, tc := range map[string]struct {
		fails func(c *cluster)
		want  string
	}{
		"Quota": {want: "exceeded quota: small", fails: func(c *cluster) {
			c.deployment("shop", "a", func(d *appsv1.Deployment) {
				d.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: "exceeded quota: small"}}
			})
		}},
		"Pod": {want: "Pod a-1-a: ErrImagePull: not found", fails: func(c *cluster) {
			c.change("shop", "a", func(p *corev1.Pod) {
				controls := true
				p.Labels["pod-template-hash"], p.OwnerReferences[0].Controller = "1", &controls
				p.Status.ContainerStatuses = []corev1.ContainerStatus{{
					Name: "app", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "not found"}},
				}}
			})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			c.namespace("other", nil)
			c.workload("shop", "a", oldImage)
			c.workload("shop", "b", oldImage)
			c.workload("shop", "c", oldImage)
			c.workload("other", "d", oldImage)
			c.broken["shop/a"], c.broken["shop/b"] = true, true
			c.rolledOut(v1alpha2.IstioSpec{})
			c.run(time.Minute)
			tc.fails(c)
			state := c.run(20 * time.Minute)
			c.wants("the other namespace goes on", map[string]int{"shop/a": 1, "shop/b": 1, "other/d": 1})
			if !strings.Contains(fmt.Sprint(state.Failed), tc.want) || state.Stopped {
				t.Errorf("the state is %+v", state)
			}
		})
	}
}

// What a process before this one has begun counts for the limit.
func TestController_LimitOutlivesProcess(t *testing.T) {
	c := newCluster(t)
	for i := range 6 {
		c.workload("shop", fmt.Sprint("w", i), oldImage)
		c.broken[fmt.Sprint("shop/w", i)] = true
	}
	c.rolledOut(v1alpha2.IstioSpec{})
	c.run(time.Minute)
	c.pod("shop", "w0", newImage) // nothing of it is outdated any more
	for i := range 3 {
		c.workload("shop", fmt.Sprint("a", i), oldImage) // which come first by name
		c.start()
		c.run(time.Minute)
	}
	c.wants("two at a time", map[string]int{"shop/w0": 1, "shop/w1": 1})
}

// What broke later, or was changed by its owner since, is not a failure of a restart.
func TestController_OthersFailures(t *testing.T) {
	for name, template := range map[string]string{"Changed": "example.org/app:2", "Completed": ""} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			c.workload("shop", "a", oldImage)
			c.rolledOut(v1alpha2.IstioSpec{})
			c.run(time.Minute)
			c.wants("it is restarted", map[string]int{"shop/a": 1})
			c.breakLater("shop", "a", template)
			c.workload("shop", "b", oldImage)
			c.now = c.now.Add(24 * time.Hour)
			c.start()
			state := c.run(time.Hour)
			c.wants("the other one is not kept from being restarted", map[string]int{"shop/a": 1, "shop/b": 1})
			if len(state.Failed) > 0 {
				t.Errorf("the state is %+v", state)
			}
		})
	}
}

// A workload that cannot be read is for a person, and one that cannot be written to for long has
// failed: neither keeps its place for ever in silence.
func TestController_Trouble(t *testing.T) {
	c := newCluster(t)
	c.c.Settings.Limit = 1
	for i := range 3 {
		c.workload("shop", fmt.Sprint("w", i), oldImage)
	}
	group := schema.GroupResource{Group: "apps", Resource: "deployments"}
	c.unreadable["shop/w0"] = apierrors.NewForbidden(group, "w0", errors.New("not in this namespace"))
	c.refuse["shop/w1"] = apierrors.NewInternalError(errors.New("a webhook is down"))
	c.rolledOut(v1alpha2.IstioSpec{})
	state := c.run(5 * time.Minute)
	if len(state.Manual) != 1 || !strings.Contains(state.Manual[0], "not in this namespace") || len(state.Failed) > 0 {
		t.Errorf("while it is tried again, the state is %+v", state)
	}
	state = c.run(15 * time.Minute)
	if len(state.Failed) != 1 || !strings.Contains(state.Failed[0], "a webhook is down") {
		t.Errorf("after the deadline, the state is %+v", state)
	}
	c.wants("one that cannot be restarted stops the others", map[string]int{})
	delete(c.refuse, "shop/w1")
	state = c.run(5 * time.Minute)
	c.wants("it is tried again by itself", map[string]int{"shop/w1": 1, "shop/w2": 1})
	if len(state.Failed)+state.Pending > 0 {
		t.Errorf("in the end, the state is %+v", state)
	}
}

// That pods cannot be looked at at all is reported, and does not hold up the end of a mesh.
func TestController_LookFails(t *testing.T) {
	c := installed(t, 1)
	c.unlisted = apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("no more"))
	c.rolledOut(withDNS())
	state := c.run(time.Minute)
	if state.Problem == nil || !strings.Contains(state.Problem.Error(), "listing pods") {
		t.Errorf("the state is %+v", state)
	}
	c.leaves()
	c.torndown()
	if state = c.run(time.Minute); !state.Uninstalled {
		t.Errorf("it holds up the end of the mesh: %+v", state)
	}
	c.unlisted = nil
	state = c.run(2 * time.Minute)
	c.wants("and is made up for", map[string]int{"shop/w0": 1})
	if state.Problem != nil {
		t.Errorf("when it works again, the state is %+v", state)
	}
}

// A namespace whose ReplicaSets cannot be read keeps no other from being looked at.
func TestController_ForbiddenNamespace(t *testing.T) {
	c := newCluster(t)
	c.workload("secret", "a", oldImage)
	c.workload("shop", "b", oldImage)
	c.unreadable["secret/a-1"] = apierrors.NewForbidden(schema.GroupResource{Group: "apps", Resource: "replicasets"}, "a-1", errors.New("not here"))
	c.rolledOut(v1alpha2.IstioSpec{})
	state := c.run(time.Minute)
	c.wants("the other namespace", map[string]int{"shop/b": 1})
	if len(state.Manual) != 1 || !strings.HasPrefix(state.Manual[0], "secret/ReplicaSet/a-1 (it cannot be read") {
		t.Errorf("it is reported as %+v", state)
	}
}
