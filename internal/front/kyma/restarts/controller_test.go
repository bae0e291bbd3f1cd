// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
)

func withProxies(n int) v1alpha2.IstioSpec {
	return v1alpha2.IstioSpec{Config: v1alpha2.Config{NumTrustedProxies: &n}}
}

func withDNS() v1alpha2.IstioSpec {
	on := true
	return v1alpha2.IstioSpec{Config: v1alpha2.Config{EnableDNSProxying: &on}}
}

// wants checks how often which workload was restarted.
func (c *cluster) wants(reason string, want map[string]int) {
	c.t.Helper()
	if diff := cmp.Diff(want, c.restarts); diff != "" {
		c.t.Errorf("%s: restarts (-want +got):\n%s", reason, diff)
	}
}

// A new version restarts what runs another one, each once, and all of it is reported.
func TestController_Upgrade(t *testing.T) {
	c := newCluster(t)
	for i := range 5 {
		c.workload("shop", fmt.Sprint("w", i), oldImage)
	}
	c.workload("shop", "new", newImage)
	c.workload("other", "outside", "")
	c.mesh(1, metav1.ConditionUnknown, newImage)
	c.istio(v1alpha2.IstioSpec{}, nil)
	if state := c.run(time.Minute); state.Known || len(c.restarts) > 0 {
		t.Fatalf("while the mesh is being rolled out, %v are restarted: %+v", c.restarts, state)
	}
	c.rolledOut(v1alpha2.IstioSpec{})
	state := c.run(time.Minute)
	want := map[string]int{"shop/w0": 1, "shop/w1": 1, "shop/w2": 1, "shop/w3": 1, "shop/w4": 1}
	c.wants("a new version", want)
	if !state.Known || state.Pending+len(state.Manual)+len(state.Failed) > 0 {
		t.Errorf("when all is done, the state is %+v", state)
	}
	if c.meter.causes["ProxyImage"] != 5 || len(c.events.Events) != 5 {
		t.Errorf("5 restarts were counted as %v and reported by %d events", c.meter.causes, len(c.events.Events))
	}
	c.start()
	c.run(time.Minute)
	c.wants("another process has nothing left to do", want)
	c.requests = 0
	c.run(9 * time.Hour)
	if c.requests > 0 {
		t.Errorf("at rest, %d requests are sent", c.requests)
	}
}

// A setting restarts those from before its change, also when the cache lags behind our own
// note of when that was.
func TestController_Setting(t *testing.T) {
	c := newCluster(t)
	c.workload("shop", "a", newImage)
	c.rolledOut(v1alpha2.IstioSpec{})
	c.run(time.Minute)
	c.wants("what the mesh began with restarts nothing", map[string]int{})
	c.rolledOut(withDNS())
	c.stale = &v1alpha2.IstioList{}
	if err := c.api.List(t.Context(), c.stale); err != nil {
		t.Fatal(err)
	}
	c.run(time.Minute)
	state := c.run(time.Minute)
	c.wants("a change restarts once", map[string]int{"shop/a": 1})
	if state.ManualCount+state.Pending > 0 {
		t.Errorf("after the restart pods still count as outdated: %+v", state)
	}
	c.stale = nil
	c.start()
	c.run(time.Minute)
	c.wants("and so it stays in another process", map[string]int{"shop/a": 1})
	c.rolledOut(v1alpha2.IstioSpec{})
	c.run(time.Minute)
	c.wants("changing back is another change", map[string]int{"shop/a": 2})
}

// The gateway is restarted for its settings: also for those that another operator has rolled
// out before, and not for those that it began with.
func TestController_Gateway(t *testing.T) {
	c := newCluster(t)
	c.namespace("istio-system", nil)
	c.workload("istio-system", "istio-ingressgateway", newImage)
	before := withProxies(1)
	c.istio(withProxies(2), &before) // as Kyma's operator leaves it
	c.mesh(1, metav1.ConditionUnknown, newImage)
	c.run(time.Minute)
	c.wants("before the rollout", map[string]int{})
	c.rolledOut(withProxies(2))
	c.run(time.Minute)
	c.wants("after the rollout", map[string]int{"istio-system/istio-ingressgateway": 1})

	c.refuse["istio-system/istio-ingressgateway"] = errors.New("broken by the test")
	c.rolledOut(withProxies(3))
	state := c.run(time.Minute)
	if state.Gateway.Err == nil || !strings.Contains(state.Gateway.Err.Error(), "broken by the test") {
		t.Errorf("that the gateway cannot be restarted is reported as %v", state.Gateway.Err)
	}
	delete(c.refuse, "istio-system/istio-ingressgateway")
	if state = c.run(time.Minute); state.Gateway.Err != nil {
		t.Errorf("after it could be restarted there still is %v", state.Gateway.Err)
	}
	c.wants("after the error", map[string]int{"istio-system/istio-ingressgateway": 2})

	c.refuse["istio-system/istio-ingressgateway"] = apierrors.NewForbidden(schema.GroupResource{}, "x", errors.New("frozen by a policy"))
	c.rolledOut(withProxies(4))
	if state = c.run(time.Minute); state.Gateway.Err == nil || state.ManualCount != 1 {
		t.Errorf("that its restart is refused is reported as %+v", state)
	}
	c.pod("istio-system", "istio-ingressgateway", newImage)
	c.c.relabelled.Store(true)
	if state = c.run(time.Minute); state.Gateway.Err != nil || state.ManualCount != 0 {
		t.Errorf("after a user has restarted it by hand, the state is %+v", state)
	}
}

// A gateway whose pods the rollout has made anew, from another template, after the setting stood
// in the cluster has it, and is not restarted once more. One whose pods are from before is, also
// when the process that saw the change is not the one that restarts.
func TestController_GatewayRolledByRevision(t *testing.T) {
	for name, tc := range map[string]struct {
		made time.Duration // of the ReplicaSet, after the configuration was written
		want map[string]int
	}{
		"Rolled":     {made: time.Second, want: map[string]int{}},
		"SameSecond": {made: 0, want: map[string]int{}},
		"Before":     {made: -time.Second, want: map[string]int{"istio-system/istio-ingressgateway": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			c.namespace("istio-system", nil)
			c.workload("istio-system", "istio-ingressgateway", newImage)
			c.rolledOut(withProxies(1))
			c.run(time.Minute)

			c.configured = c.now
			set := &appsv1.ReplicaSet{}
			if err := c.api.Get(t.Context(), client.ObjectKey{Namespace: "istio-system", Name: "istio-ingressgateway-1"}, set); err != nil {
				t.Fatal(err)
			}
			set.CreationTimestamp = metav1.NewTime(c.configured.Add(tc.made))
			c.put(set)
			c.now = c.now.Add(10 * time.Second) // the rollout goes on
			c.istio(withProxies(2), new(withProxies(2)))
			c.mesh(2, metav1.ConditionTrue, newImage)
			c.run(500 * time.Millisecond) // the change is noted, and nothing is restarted yet
			c.start()
			c.run(time.Minute)
			c.wants("after the rollout", tc.want)
		})
	}
}

// A resource that takes the place of another one goes on where that has ended.
func TestController_HandOver(t *testing.T) {
	c := newCluster(t)
	c.workload("shop", "a", newImage)
	c.rolledOut(v1alpha2.IstioSpec{})
	c.run(time.Minute)
	istio := &v1alpha2.Istio{}
	if err := c.api.Get(t.Context(), client.ObjectKey{Namespace: v1alpha2.Namespace, Name: "default"}, istio); err != nil {
		t.Fatal(err)
	}
	if err := c.api.Delete(t.Context(), istio); err != nil {
		t.Fatal(err)
	}
	next := &v1alpha2.Istio{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha2.Namespace, Name: "default", UID: "other"}, Spec: withDNS()}
	c.put(next)
	c.run(time.Minute)
	c.wants("until it is rolled out", map[string]int{})
	c.rolledOut(withDNS())
	c.run(time.Minute)
	c.wants("what it changes counts", map[string]int{"shop/a": 1})
}

// One that does not come up stops all others, until it is excluded.
func TestController_Failure(t *testing.T) {
	c := newCluster(t)
	for i := range 9 {
		c.workload("shop", fmt.Sprint("w", i), oldImage)
	}
	c.broken["shop/w1"] = true
	c.rolledOut(v1alpha2.IstioSpec{})
	state := c.run(5 * time.Minute)
	if len(state.InProgress) != 1 || len(state.Failed) > 0 {
		t.Errorf("before the deadline the state is %+v", state)
	}
	// Another change meanwhile, so that many are to be restarted again.
	c.broken["shop/w0"] = true
	c.rolledOut(withDNS())
	state = c.run(20 * time.Minute)
	if len(state.Failed) == 0 || !strings.HasPrefix(state.Failed[0], "shop/Deployment/w0") {
		t.Errorf("what does not come up is reported as %+v", state)
	}
	stopped := len(c.restarts) + c.restarts["shop/w2"] + c.restarts["shop/w8"]
	c.run(time.Hour)
	if got := len(c.restarts) + c.restarts["shop/w2"] + c.restarts["shop/w8"]; got != stopped || c.restarts["shop/w8"] > 1 {
		t.Errorf("others are restarted while one does not come up: %v", c.restarts)
	}
	for _, name := range []string{"w0", "w1"} {
		w := Workload{Kind: "Deployment", Namespace: "shop", Name: name}
		o := &metav1.PartialObjectMetadata{}
		o.SetGroupVersionKind(w.GroupVersionKind())
		o.SetNamespace("shop")
		o.SetName(name)
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"`+v1alpha2.AnnotationExcludeFromRestart+`":"true"}}}`))
		if err := c.api.Patch(t.Context(), o, patch); err != nil {
			t.Fatal(err)
		}
	}
	state = c.run(10 * time.Minute)
	if c.restarts["shop/w8"] != 2 || len(state.Failed)+state.Pending > 0 || state.Excluded == 0 {
		t.Errorf("after they were excluded the others are not restarted: %v, %+v", c.restarts, state)
	}
}

// What the cluster refuses for good needs a user, and keeps no other workload.
func TestController_Refused(t *testing.T) {
	c := newCluster(t)
	for i := range 4 {
		c.workload("shop", fmt.Sprint("w", i), oldImage)
	}
	group := schema.GroupResource{Group: "apps", Resource: "deployments"}
	c.refuse["shop/w0"] = apierrors.NewForbidden(group, "w0", errors.New("frozen by a policy"))
	c.rolledOut(v1alpha2.IstioSpec{})
	state := c.run(2 * time.Minute)
	c.wants("the others", map[string]int{"shop/w1": 1, "shop/w2": 1, "shop/w3": 1})
	if len(state.Manual) != 1 || !strings.Contains(state.Manual[0], "frozen by a policy") || c.meter.manual != 1 {
		t.Errorf("what is refused is reported as %+v", state)
	}
}

// A restart that does not help is not tried again.
func TestController_NoHelp(t *testing.T) {
	c := newCluster(t)
	c.injected = oldImage
	c.workload("shop", "a", oldImage)
	c.rolledOut(v1alpha2.IstioSpec{})
	for range 3 {
		c.run(4 * time.Hour)
		c.start()
	}
	c.wants("however often it is checked", map[string]int{"shop/a": 1})
	if state := c.run(time.Minute); len(state.Manual) != 1 || !strings.Contains(state.Manual[0], "still outdated after a restart (ProxyImage)") {
		t.Errorf("it is reported as %+v", state)
	}
}

// Outside of the window nothing is restarted, and nothing at all when it cannot be read.
func TestController_Window(t *testing.T) {
	c := newCluster(t)
	c.workload("shop", "a", oldImage)
	c.rolledOut(v1alpha2.IstioSpec{}, v1alpha2.AnnotationRestartWindow, "04:00-05:00")
	state := c.run(50 * time.Minute)
	c.wants("before the window", map[string]int{})
	if state.Pending != 1 || state.Problem != nil {
		t.Errorf("before the window, the state is %+v", state)
	}
	c.rolledOut(v1alpha2.IstioSpec{}, v1alpha2.AnnotationRestartWindow, "tonight")
	if state = c.run(10 * time.Minute); state.Problem == nil || len(c.restarts) > 0 {
		t.Errorf("with a broken window %v are restarted: %+v", c.restarts, state)
	}
	c.rolledOut(v1alpha2.IstioSpec{}, v1alpha2.AnnotationRestartWindow, "04:00-05:00")
	c.run(2 * time.Minute)
	c.wants("inside of the window", map[string]int{"shop/a": 1})
}

// Pods join the mesh when their namespace is labelled, unless that is excluded.
func TestController_Join(t *testing.T) {
	c := newCluster(t)
	c.workload("shop", "a", "")
	c.workload("left", "b", "")
	c.namespace("left", nil)
	c.rolledOut(v1alpha2.IstioSpec{})
	c.run(time.Minute)
	c.wants("without a label", map[string]int{})
	labels := map[string]string{"istio-injection": "enabled"}
	c.put(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "left", Labels: labels, Annotations: map[string]string{v1alpha2.AnnotationExcludeFromRestart: "true"}}})
	c.namespace("shop", labels)
	c.c.relabelled.Store(true)
	state := c.run(time.Minute)
	c.wants("with it", map[string]int{"shop/a": 1})
	if state.Excluded != 1 || len(state.Manual) > 0 {
		t.Errorf("the state is %+v", state)
	}
}

// Without a mesh nothing is asked for but once, and nothing remembered.
func TestController_NoMesh(t *testing.T) {
	c := newCluster(t)
	c.workload("shop", "a", oldImage)
	if state := c.run(time.Hour); state.Known || !state.Uninstalled || c.requests > 1 {
		t.Errorf("without a mesh %d requests are sent: %+v", c.requests, state)
	}
	c.run(24 * time.Hour)
	if c.requests > 1 {
		t.Errorf("without a mesh %d requests are sent at rest", c.requests-1)
	}
}

// What other managers make of the notes on the resource is no reason to restart everything.
func TestController_LedgerBroken(t *testing.T) {
	c := newCluster(t)
	c.workload("shop", "a", newImage)
	c.rolledOut(withDNS(), annotationChanges, "{broken")
	c.run(time.Minute)
	c.wants("a note that cannot be read", map[string]int{})
	c.rolledOut(v1alpha2.IstioSpec{})
	c.run(time.Minute)
	c.wants("a change after it", map[string]int{"shop/a": 1})
}
