// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"maps"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/internal/front/kyma/servicemesh"
)

// described is the Istio resource of a name, a new one if there is none.
func (c *cluster) described(name string) *v1alpha2.Istio {
	istio := &v1alpha2.Istio{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha2.Namespace, Name: name}}
	_ = c.api.Get(c.t.Context(), client.ObjectKeyFromObject(istio), istio) // or it is a new one
	return istio
}

// A manager that begins while a resource goes takes from that what it has to know, so that a
// setting that the next one changes restarts those from before.
func TestController_HandOverToAnotherProcess(t *testing.T) {
	c := newCluster(t)
	c.workload("shop", "a", newImage)
	c.rolledOut(withDNS())
	c.run(time.Minute)
	first := c.described("default")
	first.Finalizers = []string{v1alpha2.Finalizer}
	c.put(first)
	if err := c.api.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	next := c.described("next")
	c.put(next)
	c.start()
	c.run(time.Minute)
	c.wants("until the next one is rolled out", map[string]int{})
	next.Annotations = map[string]string{v1alpha2.AnnotationLastApplied: servicemesh.LastApplied{IstioTag: "1.31.0"}.String()}
	maps.Copy(next.Annotations, c.described("next").Annotations)
	c.put(next)
	c.run(time.Minute)
	c.wants("the setting has changed with the resource", map[string]int{"shop/a": 1})
}

// What is noted on a resource comes back when a user replaces that as a whole, for the next
// process.
func TestController_AnnotationsTakenOff(t *testing.T) {
	c := newCluster(t)
	c.injectorStatus = `{"revision":"default"}`
	c.workload("shop", "stubborn", newImage) // its namespace has no label
	c.rolledOut(v1alpha2.IstioSpec{})
	c.run(time.Minute)
	c.wants("it should have no sidecar, and gets one again", map[string]int{"shop/stubborn": 1})
	want := c.described("default").Annotations
	for _, replace := range []func(){
		func() {
			istio := c.described("default")
			istio.Annotations = map[string]string{v1alpha2.AnnotationLastApplied: want[v1alpha2.AnnotationLastApplied]}
			c.put(istio)
		},
		func() { // another resource takes its place
			if err := c.api.Delete(t.Context(), c.described("default")); err != nil {
				t.Fatal(err)
			}
			c.put(&v1alpha2.Istio{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha2.Namespace, Name: "default", UID: "other",
				Annotations: map[string]string{v1alpha2.AnnotationLastApplied: want[v1alpha2.AnnotationLastApplied]}}})
		},
	} {
		replace()
		c.run(time.Minute)
		for _, key := range []string{annotationChanges, annotationLeft} {
			if got := c.described("default").Annotations[key]; got != want[key] || got == "" {
				t.Errorf("annotation %s is %q, and was %q", key, got, want[key])
			}
		}
	}
	c.start()
	c.run(time.Minute)
	c.wants("each cause restarts once", map[string]int{"shop/stubborn": 1})
}

// An EnvoyFilter of the mesh that tells of a change restarts proxies without any rollout.
func TestController_FilterUpdated(t *testing.T) {
	c := newCluster(t)
	c.workload("shop", "a", newImage)
	c.rolledOut(v1alpha2.IstioSpec{})
	c.run(time.Minute)
	before, after := filter(""), filter(c.now.UTC().Format(time.RFC3339))
	c.filters = []metav1.PartialObjectMetadata{*after}
	theirs := after.DeepCopy()
	theirs.SetNamespace("shop")
	stamps := c.c.filterEvents()
	if stamps.Update(event.UpdateEvent{ObjectOld: after, ObjectNew: after}) || stamps.Create(event.CreateEvent{Object: before}) || stamps.Create(event.CreateEvent{Object: theirs}) {
		t.Error("EnvoyFilters that say nothing new count")
	}
	c.run(time.Minute)
	c.wants("nothing has reported it", map[string]int{})
	if !stamps.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}) {
		t.Error("a new time does not count")
	}
	c.run(time.Minute)
	c.wants("it tells when it has changed", map[string]int{"shop/a": 1})
	stamps.Create(event.CreateEvent{Object: after})
	c.run(time.Minute)
	c.wants("the same time again is no news", map[string]int{"shop/a": 1})
	c.filters = append(c.filters, *filter("2099-01-01T00:00:00Z"), *filter("yesterday"))
	c.c.filtersChanged.Store(true)
	c.run(time.Minute)
	c.rolledOut(withDNS())
	c.run(time.Minute)
	c.wants("what is no time, or is far ahead, neither counts nor keeps anything else from counting", map[string]int{"shop/a": 2})
}

// A note from a manager whose clock is far ahead holds up nothing else.
func TestController_LedgerAhead(t *testing.T) {
	c := newCluster(t)
	c.workload("shop", "a", oldImage)
	ahead := Changes{}.Next(&Target{}, c.now)
	ahead[CauseClientCert] = Change{Value: ahead[CauseClientCert].Value, Since: c.now.AddDate(70, 0, 0)}
	c.rolledOut(v1alpha2.IstioSpec{}, annotationChanges, ahead.String())
	if state := c.run(time.Minute); !state.Known {
		t.Errorf("nothing was looked at: %+v", state)
	}
	c.wants("it has an old proxy", map[string]int{"shop/a": 1})
}

// filter is an EnvoyFilter of the mesh.
func filter(updatedAt string) *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: servicemesh.IstioNamespace, Name: "kyma-referer", Labels: map[string]string{v1alpha2.LabelModule: v1alpha2.ModuleName},
	}}
	if updatedAt != "" {
		o.Annotations = map[string]string{v1alpha2.AnnotationUpdatedAt: updatedAt}
	}
	return o
}

// Until pods were compared with the mesh that runs, the state is of the one before; and as soon as
// they were, it tells of a gateway that is about to be restarted.
func TestController_Seen(t *testing.T) {
	c := newCluster(t)
	c.namespace("istio-system", nil)
	c.workload("istio-system", "istio-ingressgateway", newImage)
	c.rolledOut(withProxies(1))
	first := c.run(time.Minute).Seen
	if want := (Seen{Istio: c.described("default").UID, Revision: 1}); first != want {
		t.Fatalf("seen is %+v, want %+v", first, want)
	}
	c.mesh(2, metav1.ConditionUnknown, newImage)
	c.istio(withProxies(2), nil)
	if seen := c.run(time.Minute).Seen; seen != first {
		t.Errorf("while revision 2 is rolled out, seen is %+v", seen)
	}
	var reported []State
	c.c.Changed = func() { reported = append(reported, c.c.State()) }
	c.rolledOut(withProxies(2))
	c.mesh(2, metav1.ConditionTrue, newImage)
	c.run(time.Minute)
	for _, s := range reported {
		if s.Seen.Revision == 2 && s.Pending > 0 && !s.Gateway.Rolling {
			t.Errorf("the gateway is to be restarted, which is not reported: %+v", s)
		}
	}
	if last := c.c.State(); last.Seen.Revision != 2 || last.Gateway.Rolling {
		t.Errorf("at last the state is %+v", last)
	}
	c.wants("the setting has changed", map[string]int{"istio-system/istio-ingressgateway": 1})
}

// A user who changes anything of the mesh sees what is left by then for users.
func TestController_LeftoverLookedOver(t *testing.T) {
	c := newCluster(t)
	c.workload("shop", "a", oldImage)
	c.injected = oldImage // whatever is restarted
	c.rolledOut(v1alpha2.IstioSpec{})
	if state := c.run(time.Minute); state.ManualCount != 1 {
		t.Fatalf("the state is %+v", state)
	}
	c.pod("shop", "a", newImage) // a user has acted
	if state := c.run(time.Minute); state.ManualCount != 1 {
		t.Fatalf("the change was not reported, and the state is %+v", state)
	}
	c.mesh(2, metav1.ConditionTrue, newImage)
	if state := c.run(time.Minute); state.ManualCount != 0 {
		t.Errorf("after another rollout the state is %+v", state)
	}
	c.wants("only the first one was a restart", map[string]int{"shop/a": 1})
}

// Who needs a person is checked soon, and then less and less often; it is reported all the time.
func TestController_ManualLookedOver(t *testing.T) {
	c := newCluster(t)
	c.workload("shop", "a", oldImage)
	c.injected = oldImage // whatever is restarted
	c.rolledOut(v1alpha2.IstioSpec{})
	c.run(time.Minute)
	c.c.Changed = func() { t.Errorf("while no user has acted, the state becomes %+v", c.c.State()) }
	surveys, last := 0, c.c.run.surveyedAt
	for end := c.now.Add(5 * time.Hour); c.now.Before(end); {
		c.run(30 * time.Second)
		if !c.c.run.surveyedAt.Equal(last) {
			surveys, last = surveys+1, c.c.run.surveyedAt
		}
	}
	if surveys < 8 || surveys > 10 { // after 2, 4, 8, 16, 32 minutes, and then each hour
		t.Errorf("within 5 hours, %d surveys were made", surveys)
	}
	c.c.Changed = func() {}
	c.mesh(2, metav1.ConditionTrue, newImage) // news
	c.run(time.Minute)
	c.pod("shop", "a", newImage) // a user has acted
	if state := c.run(3 * time.Minute); state.ManualCount > 0 {
		t.Errorf("after it was seen to, the state is %+v", state)
	}
	c.requests = 0
	c.run(9 * time.Hour)
	if c.requests > 0 {
		t.Errorf("when nothing needs a user, %d requests are sent", c.requests)
	}
	c.wants("only the first one was a restart", map[string]int{"shop/a": 1})
}

// The state says that the window is closed, and no longer once it is open.
func TestController_WindowClosed(t *testing.T) {
	c := newCluster(t) // at 03:04:05
	c.workload("shop", "a", oldImage)
	c.rolledOut(v1alpha2.IstioSpec{}, v1alpha2.AnnotationRestartWindow, "05:00-06:00")
	state := c.run(time.Minute)
	if state.Pending != 1 || !state.WindowClosed {
		t.Errorf("before the window, the state is %+v", state)
	}
	if state = c.run(2 * time.Hour); state.WindowClosed {
		t.Errorf("in the window, the state is %+v", state)
	}
}
