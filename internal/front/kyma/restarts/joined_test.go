// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
)

// stubborn is a mesh whose restarts for a label of the namespace shop have not helped.
func stubborn(t *testing.T) *cluster {
	t.Helper()
	c := newCluster(t)
	c.injected = ""
	c.workload("shop", "a", "")
	c.namespace("shop", map[string]string{"istio-injection": "enabled"})
	c.labelledAt("shop", c.now)
	c.rolledOut(v1alpha2.IstioSpec{})
	c.run(5 * time.Minute)
	c.wants("its namespace is labelled", map[string]int{"shop/a": 1})
	return c
}

// The time of a label moves with any other field of the manager that has set it: that is no other cause.
func TestController_JoinedOnce(t *testing.T) {
	tests := map[string]struct {
		reason string
		before func(c *cluster)
		want   int
	}{
		"SameProcess": {reason: "another label was set by the same manager of fields", before: func(*cluster) {}, want: 1},
		"Restarted":   {reason: "another process", before: func(c *cluster) { c.start() }, want: 1},
		"Replaced": {reason: "the resource was replaced as a whole", before: func(c *cluster) {
			istio := c.described("default")
			applied := istio.Annotations[v1alpha2.AnnotationLastApplied]
			istio.Annotations = map[string]string{v1alpha2.AnnotationLastApplied: applied}
			c.put(istio)
		}, want: 1},
		"ReplacedAndRestarted": {reason: "it was replaced, and then another process began", before: func(c *cluster) {
			istio := c.described("default")
			applied := istio.Annotations[v1alpha2.AnnotationLastApplied]
			istio.Annotations = map[string]string{v1alpha2.AnnotationLastApplied: applied}
			c.put(istio)
			c.run(time.Minute)
			c.start()
		}, want: 1},
		"HandedOver": {reason: "another resource describes the mesh", before: func(c *cluster) { c.handOver() }, want: 1},
		"HandedOverToAnotherProcess": {reason: "another resource, and another process", before: func(c *cluster) {
			c.handOver()
			c.start()
		}, want: 1},
		"LeftAndJoined": {reason: "joining again is another cause", before: func(c *cluster) {
			c.namespace("shop", nil)
			c.c.relabelled.Store(true)
			c.run(time.Minute)
			c.start()
			c.namespace("shop", map[string]string{"istio-injection": "enabled"})
		}, want: 2},
		"LeftUnseen": {reason: "it has left and joined before anybody looked", before: func(c *cluster) {
			c.relabelled("shop", nil)
			c.relabelled("shop", map[string]string{"istio-injection": "enabled"})
		}, want: 2},
		"LeftForAnotherLabel": {reason: "the other label says the same", before: func(c *cluster) {
			c.relabelled("shop", map[string]string{"istio.io/rev": "default"})
		}, want: 1},
		"MeshAnew": {reason: "another mesh is another cause", before: func(c *cluster) { c.installedAt(c.now) }, want: 2},
		"NoCandidateMeanwhile": {reason: "nothing was outdated for a while", before: func(c *cluster) {
			c.pod("shop", "a", newImage)
			c.c.relabelled.Store(true)
			c.run(time.Minute)
			c.pod("shop", "a", "")
			c.start()
		}, want: 1},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			c := stubborn(t)
			tc.before(c)
			c.labelledAt("shop", c.now)
			c.c.relabelled.Store(true)
			for range 2 {
				c.run(5 * time.Minute)
				c.wants(tc.reason, map[string]int{"shop/a": tc.want})
				c.start()
			}
		})
	}
}

// Records from before joins were kept stay valid, and no longer move from then on.
func TestController_JoinedBefore(t *testing.T) {
	c := stubborn(t)
	istio := c.described("default")
	delete(istio.Annotations, annotationJoined)
	c.put(istio)
	c.start()
	c.run(time.Minute)
	c.labelledAt("shop", c.now)
	c.start()
	c.run(time.Minute)
	c.wants("it was restarted for that by a manager that kept nothing", map[string]int{"shop/a": 1})
}

// relabelled changes the labels of a namespace, and tells the watch of it.
func (c *cluster) relabelled(name string, labels map[string]string) {
	c.t.Helper()
	before, after := &metav1.PartialObjectMetadata{}, &metav1.PartialObjectMetadata{}
	for _, o := range []*metav1.PartialObjectMetadata{before, after} {
		o.SetGroupVersionKind(namespaceKind)
		if err := c.api.Get(c.t.Context(), client.ObjectKey{Name: name}, o); err != nil {
			c.t.Fatal(err)
		}
		c.namespace(name, labels)
	}
	if !c.c.namespaceEvents().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}) {
		c.t.Errorf("labels %v of namespace %s are no news", labels, name)
	}
}

// handOver deletes the resource, and lets another one that describes the same take its place.
func (c *cluster) handOver() {
	c.t.Helper()
	first := c.described("default")
	first.Finalizers = []string{v1alpha2.Finalizer}
	c.put(first)
	if err := c.api.Delete(c.t.Context(), first); err != nil {
		c.t.Fatal(err)
	}
	next := c.described("next")
	next.Annotations = map[string]string{v1alpha2.AnnotationLastApplied: first.Annotations[v1alpha2.AnnotationLastApplied]}
	c.put(next)
}
