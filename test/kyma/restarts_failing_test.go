// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package kyma

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/internal/front/kyma/restarts"
	"github.com/strata-run/strata/internal/localplane/planetest"
)

// A workload that does not come up after its restart stops the others in the next process, too,
// although no pod of it is outdated any more, and the others come first by name. So it is with
// the real controllers and their conditions.
func TestRestarts_FailureOutlivesManager(t *testing.T) {
	const old, bad = "example.org/proxyv2:1.27.0", "registry.invalid/proxyv2:1.27.0"
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "failing", Labels: map[string]string{injectHere: "on"}}}
	injector := startInjector(t, old, "{}")
	must(t, admin.Create(t.Context(), namespace))
	t.Cleanup(func() { must(t, admin.Delete(context.Background(), namespace)) })
	deadline := int32(5)
	m := deployment(namespace.Name, "m", 1)
	m.Spec.Strategy.Type, m.Spec.ProgressDeadlineSeconds = appsv1.RecreateDeploymentStrategyType, &deadline
	must(t, admin.Create(t.Context(), m))
	whole(t, m)
	// The deployment controller may lose the condition that its deadline counts from, when
	// other managers write the Deployment at the same time.
	before := restartDeadline
	restartDeadline = 30 * time.Second
	t.Cleanup(func() { restartDeadline = before })
	must(t, startManager(t.Context(), istioVersion))
	injector.give(bad)
	installMesh(t)
	fails := func(when string) {
		t.Helper()
		await(t, when, patience, func() error {
			c := proxies(t)
			if c.Reason != v1alpha2.ReasonProxySidecarRestartFailed || !strings.Contains(c.Message, namespace.Name+"/Deployment/m") || !strings.Contains(c.Message, "Pod m-") {
				return fmt.Errorf("the condition is %s: %s; the status of %s is %s", c.Reason, c.Message, m.Name, text(t, live(t, m).Status))
			}
			return nil
		})
	}
	fails("the failure is reported, with its cause")
	newStory(t).run("strata restarts -n " + namespace.Name + " | grep 'Deployment *m '")

	injector.give(old)
	a := deployment(namespace.Name, "a", 1)
	must(t, admin.Create(t.Context(), a))
	whole(t, a)
	since := time.Now()
	must(t, startManager(t.Context(), istioVersion))
	await(t, "the next manager has looked", patience, func() error {
		for _, e := range audit(t, since) {
			if e.Resource == "pods" && e.Verb == "list" && strings.Contains(e.RequestURI, "limit=100") {
				return nil
			}
		}
		return fmt.Errorf("no pods were asked for")
	})
	// Long enough for a restart.
	planetest.Stays(t, 3*time.Second, "no other workload is restarted meanwhile", func() (bool, error) { return recorded(t, a) == "", nil })
	fails("the failure is still reported")

	injector.give(proxyImage(t))
	must(t, admin.DeleteAllOf(t.Context(), &corev1.Pod{}, client.InNamespace(namespace.Name), client.MatchingLabels{"app": "m"}))
	await(t, "all goes on", patience, func() error {
		if c := proxies(t); c.Status != metav1.ConditionTrue || recorded(t, a) == "" {
			return fmt.Errorf("the condition is %s: %s", c.Reason, c.Message)
		}
		return nil
	})
	if after := recorded(t, m); !strings.Contains(after, string(restarts.CauseProxyImage)) || live(t, m).Generation != 2 {
		t.Errorf("%s was restarted for %q, and is of generation %d, want 2", m.Name, after, live(t, m).Generation)
	}
}

// proxies is the condition about restarts, empty before there is one.
func proxies(t *testing.T) metav1.Condition {
	t.Helper()
	o := named("default")
	must(t, admin.Get(t.Context(), client.ObjectKeyFromObject(o), o))
	if o.Status.Conditions != nil {
		for _, c := range *o.Status.Conditions {
			if c.Type == v1alpha2.ConditionProxySidecarRestartSucceeded {
				return c
			}
		}
	}
	return metav1.Condition{}
}

// text shows a status.
func text(t *testing.T, status any) string {
	t.Helper()
	shown, err := json.Marshal(status)
	must(t, err)
	return string(shown)
}

func live(t *testing.T, d *appsv1.Deployment) *appsv1.Deployment {
	t.Helper()
	now := &appsv1.Deployment{}
	must(t, admin.Get(t.Context(), types.NamespacedName{Namespace: d.Namespace, Name: d.Name}, now))
	return now
}

// recorded is what a Deployment was restarted for.
func recorded(t *testing.T, d *appsv1.Deployment) string {
	t.Helper()
	return live(t, d).Annotations[v1alpha2.AnnotationRestartedFor]
}

// whole waits until all pods of a Deployment serve.
func whole(t *testing.T, d *appsv1.Deployment) {
	t.Helper()
	await(t, d.Name+" serves", patience, func() error {
		if now := live(t, d); now.Status.AvailableReplicas != *d.Spec.Replicas {
			return fmt.Errorf("%d of %d pods serve", now.Status.AvailableReplicas, *d.Spec.Replicas)
		}
		return nil
	})
}
