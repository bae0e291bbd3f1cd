// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
)

// set is a workload that keeps its pods, as the cluster's controller of it sees it.
type set struct {
	kind, name string
	replicas   int
	// made is how many pods were made, and least how many there were at least after the first.
	made, least int
}

// addSet makes a set with pods that have an old sidecar.
func (c *cluster) addSet(kind, name string, replicas int) {
	c.t.Helper()
	want, labels := int32(replicas), map[string]string{"app": name}
	meta := metav1.ObjectMeta{Namespace: "shop", Name: name}
	if kind == KindReplicaSet {
		c.put(&appsv1.ReplicaSet{ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Replicas: &want, Selector: &metav1.LabelSelector{MatchLabels: labels}}})
	} else {
		c.put(&corev1.ReplicationController{ObjectMeta: meta, Spec: corev1.ReplicationControllerSpec{Replicas: &want, Selector: labels}})
	}
	s := set{kind: kind, name: name, replicas: replicas, least: replicas}
	injected := c.injected
	c.injected = oldImage
	c.fill(&s)
	c.injected = injected
	c.sets = append(c.sets, s)
}

// pods are those of a set, by name, with the image of the sidecar.
func (c *cluster) pods(s *set) map[string]string {
	c.t.Helper()
	list := &corev1.PodList{}
	if err := c.api.List(c.t.Context(), list, client.InNamespace("shop"), client.MatchingLabels{"app": s.name}); err != nil {
		c.t.Fatal(err)
	}
	all := map[string]string{}
	for i := range list.Items {
		all[list.Items[i].Name] = list.Items[i].Spec.Containers[1].Image
	}
	return all
}

// fill makes the pods that a set lacks. They serve unless it is broken.
func (c *cluster) fill(s *set) {
	c.t.Helper()
	there := len(c.pods(s))
	s.least = min(s.least, max(there, s.replicas-s.made))
	version := "apps/v1"
	if s.kind == KindReplicationController {
		version = "v1"
	}
	for ; there < s.replicas; there++ {
		s.made++
		name := fmt.Sprintf("%s-%d", s.name, s.made)
		c.pod("shop", name, c.injected)
		c.change("shop", name, func(p *corev1.Pod) {
			uid := fmt.Sprintf("*v1.%s/shop/%s", s.kind, s.name)
			p.Labels = map[string]string{"app": s.name}
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: version, Kind: s.kind, Name: s.name, UID: types.UID(uid), Controller: new(true)}}
		})
		if c.broken["shop/"+s.name] {
			c.unready("shop", name)
		}
	}
}

// A workload that keeps its pods gets each of them anew, one after the other, once for a cause.
func TestController_KeepsPods(t *testing.T) {
	for _, kind := range []string{KindReplicaSet, KindReplicationController} {
		t.Run(kind, func(t *testing.T) {
			c := newCluster(t)
			c.addSet(kind, "alone", 3)
			c.workload("shop", "other", oldImage)
			c.rolledOut(v1alpha2.IstioSpec{})
			state := c.run(time.Hour)
			s := &c.sets[0]
			if images := slices.Compact(slices.Sorted(maps.Values(c.pods(s)))); s.made != 6 || s.least != 2 || len(images) != 1 || images[0] != newImage {
				t.Errorf("%d pods were made, there were %d at least, and they have %v", s.made, s.least, images)
			}
			c.wants("it is recorded once", map[string]int{"shop/alone": 1, "shop/other": 1})
			if state.Pending+len(state.Manual)+len(state.Failed) > 0 {
				t.Errorf("in the end, the state is %+v", state)
			}
			c.start()
			c.run(11 * time.Hour)
			if s.made != 6 {
				t.Errorf("after all was done, there were %d pods", s.made)
			}
		})
	}
}

// A process that ends halfway leaves the rest to the next one.
func TestController_KeepsPodsHalfway(t *testing.T) {
	c := newCluster(t)
	c.addSet(KindReplicaSet, "alone", 3)
	c.rolledOut(v1alpha2.IstioSpec{})
	for s := &c.sets[0]; s.made < 5; {
		c.run(time.Second)
	}
	c.start()
	c.run(time.Hour)
	c.wants("it is one restart", map[string]int{"shop/alone": 1})
	if s := &c.sets[0]; s.made != 6 || s.least != 2 {
		t.Errorf("%d pods were made, and there were %d at least", s.made, s.least)
	}
}

// A pod that does not come up keeps the others as they are, and everything else.
func TestController_KeepsPodsBroken(t *testing.T) {
	c := newCluster(t)
	c.c.Settings.Limit = 1
	c.addSet(KindReplicaSet, "alone", 3)
	c.workload("shop", "z", oldImage)
	c.broken["shop/alone"] = true
	c.rolledOut(v1alpha2.IstioSpec{})
	// It takes its turn after the Deployment by its kind.
	state := c.run(time.Hour)
	if s := &c.sets[0]; s.made != 4 || len(state.Failed) != 1 || !strings.HasPrefix(state.Failed[0], "shop/ReplicaSet/alone (") || !strings.Contains(state.Failed[0], "1 of 3 pods are new, 2 of 3 serve") {
		t.Errorf("%d pods were made, and the state is %+v", s.made, state)
	}
}

// What the cluster refuses is for a person.
func TestController_KeepsPodsRefused(t *testing.T) {
	c := newCluster(t)
	c.addSet(KindReplicaSet, "alone", 2)
	c.undeletable = apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "alone-1", errors.New("a policy says so"))
	c.rolledOut(v1alpha2.IstioSpec{})
	state := c.run(time.Hour)
	if s := &c.sets[0]; s.made != 2 || len(state.Manual) != 1 || !strings.Contains(state.Manual[0], "the deletion of its pod alone-1-1-a is refused") {
		t.Errorf("%d pods were made, and the state is %+v", s.made, state)
	}
}

// Pods are deleted while the window is open, and the rest when it opens again.
func TestController_KeepsPodsWindow(t *testing.T) {
	c := newCluster(t)
	c.addSet(KindReplicaSet, "alone", 100)
	c.rolledOut(v1alpha2.IstioSpec{}, v1alpha2.AnnotationRestartWindow, "03:00-03:05") // it is 03:04:05
	c.run(5 * time.Minute)
	s := &c.sets[0]
	begun := s.made
	if begun <= 100 || begun >= 200 {
		t.Fatalf("while the window was open, %d of 100 pods were made anew", begun-100)
	}
	requests := c.requests
	c.run(20 * time.Hour)
	if s.made != begun || c.requests != requests {
		t.Errorf("while it was closed, %d pods were made and %d requests", s.made-begun, c.requests-requests)
	}
	c.run(4 * time.Hour)
	c.wants("it is one restart", map[string]int{"shop/alone": 1})
	if s.made != 200 {
		t.Errorf("the next day, %d of 100 pods were made anew", s.made-100)
	}
}

// A pod that is missing long after a restart is not a failure of it.
func TestController_KeepsPodsLater(t *testing.T) {
	c := newCluster(t)
	c.addSet(KindReplicaSet, "alone", 2)
	c.rolledOut(v1alpha2.IstioSpec{})
	c.run(time.Hour)
	c.now = c.now.Add(24 * time.Hour)
	// It is scaled, and a quota lets no pod be made.
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "alone"}}
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(c.api.Get(t.Context(), client.ObjectKeyFromObject(set), set))
	set.Spec.Replicas = new(int32(5))
	must(c.api.Update(t.Context(), set))
	c.start()
	c.workload("shop", "other", oldImage)
	c.rolledOut(withDNS())
	state := c.run(time.Hour)
	c.wants("the other one is restarted", map[string]int{"shop/alone": 1, "shop/other": 1})
	if len(state.Failed) > 0 {
		t.Errorf("the state is %+v", state)
	}
}
