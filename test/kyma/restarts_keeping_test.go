// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package kyma

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
)

// Workloads that keep their pods when their template changes, a ReplicaSet by itself and a
// ReplicationController, get them anew one after the other: each pod is deleted once.
func TestRestarts_KeepingPods(t *testing.T) {
	const old = "example.org/proxyv2:1.27.0"
	must(t, startManager(t.Context(), istioVersion))
	injector := startInjector(t, old, "{}")
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "keeping", Labels: map[string]string{injectHere: "on"}}}
	must(t, admin.Create(t.Context(), namespace))
	t.Cleanup(func() { must(t, admin.Delete(context.Background(), namespace)) })
	set := deployment(namespace.Name, "set", 3)
	three, two := int32(3), int32(2)
	template := deployment("", "controller", 2).Spec.Template
	for _, o := range []client.Object{
		&appsv1.ReplicaSet{ObjectMeta: set.ObjectMeta, Spec: appsv1.ReplicaSetSpec{Replicas: &three, Selector: set.Spec.Selector, Template: set.Spec.Template}},
		&corev1.ReplicationController{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: "controller"},
			Spec:       corev1.ReplicationControllerSpec{Replicas: &two, Selector: template.Labels, Template: &template},
		},
	} {
		must(t, admin.Create(t.Context(), o))
	}
	serving := func(image string) (int, error) {
		pods := &corev1.PodList{}
		err := admin.List(t.Context(), pods, client.InNamespace(namespace.Name))
		n := 0
		for i := range pods.Items {
			p := &pods.Items[i]
			ready := p.DeletionTimestamp == nil && len(p.Spec.InitContainers) > 0 && strings.HasPrefix(p.Spec.InitContainers[0].Image, image)
			for _, c := range p.Status.Conditions {
				ready = ready && (c.Type != corev1.PodReady || c.Status == corev1.ConditionTrue)
			}
			if ready && p.Status.Phase == corev1.PodRunning {
				n++
			}
		}
		return n, err
	}
	await(t, "the pods serve", patience, func() error {
		if n, err := serving(old); err != nil || n != 5 {
			return fmt.Errorf("%d serve (%w)", n, err)
		}
		return nil
	})
	since := time.Now()
	installMesh(t, injector)
	image := proxyImage(t)
	fewest := 5
	await(t, "all of them are new", patience, func() error {
		if all, err := serving(""); err == nil {
			fewest = min(fewest, all)
		}
		c := proxies(t)
		if n, err := serving(image); err != nil || n != 5 || c.Reason != v1alpha2.ReasonProxySidecarRestartSucceeded {
			return fmt.Errorf("%d are (%w), and the condition is %s: %s", n, err, c.Reason, c.Message)
		}
		return nil
	})
	if fewest < 3 {
		t.Errorf("at one time only %d pods of the two served", fewest)
	}
	counts := map[string]int{}
	for _, e := range audit(t, since) {
		if e.Namespace == namespace.Name && e.Code < 300 && (e.Verb == "patch" || e.Verb == "delete") && e.Resource != "events" {
			what := e.Verb + " " + e.Resource
			if e.Verb == "patch" {
				what += "/" + e.Name
			}
			counts[what]++
		}
	}
	want := map[string]int{"patch replicasets/set": 1, "patch replicationcontrollers/controller": 1, "delete pods": 5}
	if fmt.Sprint(counts) != fmt.Sprint(want) {
		t.Errorf("the manager has written %v, want %v", counts, want)
	}
}
