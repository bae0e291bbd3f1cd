// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"fmt"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front/kyma/servicemesh"
)

// installed is a mesh with workloads that have got its sidecars.
func installed(t *testing.T, workloads int, annotations ...string) *cluster {
	t.Helper()
	c := newCluster(t)
	c.injectorStatus = `{"revision":"default"}`
	c.namespace("shop", map[string]string{"istio-injection": "enabled"})
	c.namespace("istio-system", nil)
	for i := range workloads {
		c.workload("shop", fmt.Sprint("w", i), newImage)
	}
	c.rolledOut(v1alpha2.IstioSpec{}, annotations...)
	c.run(time.Minute)
	c.wants("with a mesh", map[string]int{})
	return c
}

// leaves deletes the resource, which its finalizer holds.
func (c *cluster) leaves() {
	c.t.Helper()
	istio := &v1alpha2.Istio{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha2.Namespace, Name: "default"}}
	held := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":["`+v1alpha2.Finalizer+`"]}}`))
	if err := c.api.Patch(c.t.Context(), istio, held); err != nil {
		c.t.Fatal(err)
	}
	if err := c.api.Delete(c.t.Context(), istio); err != nil {
		c.t.Fatal(err)
	}
}

// torndown ends the package, and with it what gives sidecars to pods.
func (c *cluster) torndown() {
	c.t.Helper()
	c.injected = ""
	if err := c.api.Delete(c.t.Context(), &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: servicemesh.PackageIstio}}); err != nil {
		c.t.Fatal(err)
	}
}

// note is the annotation of the namespace of Istio.
func (c *cluster) note() string {
	c.t.Helper()
	namespace := &corev1.Namespace{}
	if err := c.api.Get(c.t.Context(), client.ObjectKey{Name: servicemesh.IstioNamespace}, namespace); err != nil {
		c.t.Fatal(err)
	}
	return namespace.Annotations[annotationGone]
}

// When the mesh is gone, its sidecars go: not before, each once, those of others never, and
// a status says when.
func TestController_Gone(t *testing.T) {
	c := installed(t, 5)
	c.workload("istio-system", "istio-ingressgateway", newImage)
	c.injectorStatus = `{"revision":"canary"}`
	c.workload("shop", "other", newImage)
	c.injectorStatus = "{}"
	c.workload("shop", "unknown", newImage)
	c.injectorStatus = `{"revision":"default"}`
	c.workload("shop", "gateway", newImage)
	c.only("shop", "gateway")
	c.broken["shop/w1"] = true
	c.leaves()
	if state := c.run(time.Minute); state.Uninstalled || state.Known {
		t.Errorf("while the mesh is there, the state is %+v", state)
	}
	c.wants("while the mesh is there", map[string]int{})
	c.torndown()
	if state := c.run(5 * time.Second); state.Uninstalled || len(state.InProgress) == 0 {
		t.Errorf("while workloads are restarted, the state is %+v", state)
	}
	c.start() // in the midst of it
	state := c.run(20 * time.Minute)
	if !state.Uninstalled || len(state.Failed) != 1 {
		t.Errorf("one that does not come up must not hold up the resource: %+v", state)
	}
	c.broken["shop/w1"] = false
	c.mend("shop", "w1")
	state = c.run(2 * time.Hour)
	c.wants("when the mesh is gone", map[string]int{"shop/w0": 1, "shop/w1": 1, "shop/w2": 1, "shop/w3": 1, "shop/w4": 1})
	if !state.Uninstalled || state.Pending+len(state.Manual) > 0 || !strings.Contains(c.note(), `"done":true`) {
		t.Errorf("when all is done, the state is %+v, and %s is noted", state, c.note())
	}
	c.requests = 0
	c.start()
	c.run(48 * time.Hour)
	if c.requests > 1 {
		t.Errorf("after that, %d requests are sent", c.requests)
	}
}

// Pods that do not serve for want of the mesh are those that need it most.
func TestController_GoneUnready(t *testing.T) {
	c := installed(t, 1)
	c.leaves()
	c.torndown()
	c.deployment("shop", "w0", setAvailable(0))
	c.unready("shop", "w0")
	state := c.run(time.Minute)
	c.wants("a pod that does not serve", map[string]int{"shop/w0": 1})
	if !state.Uninstalled || state.Pending > 0 {
		t.Errorf("the state is %+v", state)
	}
}

// A workload that never comes up is skipped one day, and the workloads after it too.
func TestController_GoneForGood(t *testing.T) {
	c := installed(t, 4)
	c.broken["shop/w0"], c.broken["shop/w1"] = true, true
	c.leaves()
	c.torndown()
	if state := c.run(23 * time.Hour); !state.Uninstalled || state.FailedCount != 2 {
		t.Errorf("while it is checked, the state is %+v", state)
	}
	c.now = c.now.Add(uninstallDeadline - 24*time.Hour)
	c.run(2 * time.Hour)
	c.requests = 0
	state := c.run(48 * time.Hour)
	c.wants("those that were begun", map[string]int{"shop/w0": 1, "shop/w1": 1})
	if c.requests > 0 || !strings.Contains(c.note(), `"done":true`) || c.meter.failed > 0 || !state.Uninstalled {
		t.Errorf("in the end, %d requests are sent, %s is noted, and the state is %+v", c.requests, c.note(), state)
	}
}

// Nothing is restarted for a mesh that never was, nor when another Istio has taken over; pods
// that came after the mesh have their sidecars from another injector.
func TestController_GoneNotOurs(t *testing.T) {
	tests := map[string]struct {
		reason  string
		prepare func(c *cluster)
		want    map[string]int
	}{
		"NeverThere": {reason: "a resource that nothing was installed for", prepare: func(c *cluster) {
			c.istio(v1alpha2.IstioSpec{}, nil)
			c.leaves()
		}},
		"OtherIstio": {reason: "another Istio gives sidecars of the same name", prepare: func(c *cluster) {
			c.rolledOut(v1alpha2.IstioSpec{})
			c.run(time.Minute)
			c.put(&admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "x", Labels: map[string]string{"istio.io/rev": "default"}}})
			c.leaves()
			c.torndown()
		}},
		"Canary": {reason: "another one beside it is no reason to leave ours", want: map[string]int{"shop/a": 1}, prepare: func(c *cluster) {
			c.rolledOut(v1alpha2.IstioSpec{})
			c.run(time.Minute)
			c.put(&admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "x", Labels: map[string]string{"istio.io/rev": "canary"}}})
			c.leaves()
			c.torndown()
		}},
		"Later": {reason: "a pod that is younger than the end", prepare: func(c *cluster) {
			c.rolledOut(v1alpha2.IstioSpec{})
			c.run(time.Minute)
			at := c.now
			c.now = c.now.Add(time.Hour)
			c.workload("shop", "a", newImage)
			c.now = at
			c.leaves()
			c.torndown()
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			c.injectorStatus = `{"revision":"default"}`
			c.namespace("shop", map[string]string{"istio-injection": "enabled"})
			c.namespace("istio-system", nil)
			c.workload("shop", "a", newImage)
			tc.prepare(c)
			state := c.run(time.Minute)
			if tc.want == nil {
				tc.want = map[string]int{}
			}
			c.wants(tc.reason, tc.want)
			if !state.Uninstalled {
				t.Errorf("%s: the resource is held up: %+v", tc.reason, state)
			}
		})
	}
}

// The window holds for that, too, and so does exclusion. The resource does not wait for either,
// and the window is remembered when it is gone.
func TestController_GoneWindow(t *testing.T) {
	c := installed(t, 2, v1alpha2.AnnotationRestartWindow, "04:00-05:00")
	c.deployment("shop", "w1", exclude)
	c.leaves()
	c.run(time.Second)
	c.torndown()
	state := c.run(5 * time.Minute)
	c.wants("before the window", map[string]int{})
	if !state.Uninstalled {
		t.Errorf("the resource waits for the window: %+v", state)
	}
	istio := &v1alpha2.Istio{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha2.Namespace, Name: "default"}}
	if err := c.api.Patch(t.Context(), istio, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
		t.Fatal(err)
	}
	c.start()
	c.run(10 * time.Minute)
	c.wants("in another process, before the window", map[string]int{})
	c.run(time.Hour)
	c.wants("inside of the window", map[string]int{"shop/w0": 1})
	if !strings.Contains(c.note(), `"done":true`) {
		t.Errorf("an exclusion keeps it from coming to an end: %s", c.note())
	}
}

// A mesh that comes back ends it, and what has lost its sidecars joins again.
func TestController_GoneAndBack(t *testing.T) {
	c := installed(t, 2)
	c.leaves()
	c.torndown()
	c.run(5 * time.Minute)
	c.wants("gone", map[string]int{"shop/w0": 1, "shop/w1": 1})
	istio := &v1alpha2.Istio{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha2.Namespace, Name: "default"}}
	if err := c.api.Patch(t.Context(), istio, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
		t.Fatal(err)
	}
	for round := 2; round <= 4; round += 2 {
		c.injected = newImage
		c.rolledOut(v1alpha2.IstioSpec{})
		c.installedAt(c.now)
		c.run(5 * time.Minute)
		c.wants("back", map[string]int{"shop/w0": round, "shop/w1": round})
		if c.note() != "" {
			t.Errorf("there is a mesh, and it is still noted that it is gone: %s", c.note())
		}
		c.leaves()
		c.torndown()
		c.run(5 * time.Minute)
		c.wants("gone again", map[string]int{"shop/w0": round + 1, "shop/w1": round + 1})
		if err := c.api.Patch(t.Context(), istio, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
			t.Fatal(err)
		}
	}
}

// Namespaces that leave the mesh lose their sidecars, once each time that they leave.
func TestController_Leave(t *testing.T) {
	c := installed(t, 2)
	c.workload("shop", "byhand", newImage)
	c.deployment("shop", "byhand", func(d *appsDeployment) {
		d.Spec.Template.Annotations = map[string]string{"sidecar.istio.io/status": `{"revision":"default"}`}
	})
	for round := 1; round <= 3; round += 2 {
		c.injected = ""
		c.namespace("shop", nil)
		c.c.relabelled.Store(true)
		state := c.run(5 * time.Minute)
		want := map[string]int{"shop/w0": round, "shop/w1": round}
		c.wants("it leaves", want)
		if state.Pending+len(state.Manual) > 0 {
			t.Errorf("what the template holds is no task: %+v", state)
		}
		c.start()
		c.run(5 * time.Minute)
		c.wants("in another process", want)
		c.injected = newImage
		c.namespace("shop", map[string]string{"istio-injection": "enabled"})
		c.labelledAt("shop", c.now)
		c.c.relabelled.Store(true)
		c.run(5 * time.Minute)
		c.wants("it joins", map[string]int{"shop/w0": round + 1, "shop/w1": round + 1})
	}
}

// A sidecar that comes back after the restart is not fought.
func TestController_LeaveNoHelp(t *testing.T) {
	c := installed(t, 1)
	c.namespace("shop", map[string]string{"istio-injection": "disabled"})
	c.c.relabelled.Store(true)
	for range 4 {
		c.run(3 * time.Hour)
		c.start()
	}
	c.wants("something else gives it sidecars", map[string]int{"shop/w0": 1})
	if state := c.run(time.Minute); len(state.Manual) != 1 || !strings.Contains(state.Manual[0], "LeaveMesh") {
		t.Errorf("it is reported as %+v", state)
	}
}
