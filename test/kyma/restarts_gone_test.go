// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package kyma

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/internal/front/kyma/restarts"
)

const leavingNamespace = "leaving"

// Workloads lose the sidecars of the mesh that their namespace has left, get new ones when it
// comes back, and lose them for good with the mesh: each time by one restart. The resource goes
// after that, and what only a user can restart does not delay it.
func TestRestarts_Leaving(t *testing.T) {
	must(t, startManager(t.Context(), istioVersion))
	injector := startInjector(t, "", `{"revision":"default"}`)
	manifest(t, "{apiVersion: v1, kind: Namespace, metadata: {name: "+v1alpha2.Namespace+"}}")
	manifest(t, istio("default", "{}"))
	state(t, "default", v1alpha2.StateReady, v1alpha2.ReasonReconcileSucceeded)
	silenceWebhooks(t)
	image := proxyImage(t)
	injector.give(image)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: leavingNamespace, Labels: map[string]string{injectHere: "on", "istio-injection": "enabled"}}}
	must(t, admin.Create(t.Context(), namespace))
	t.Cleanup(func() { must(t, admin.Delete(context.Background(), namespace)) })
	eventually(t, "pods to be let through", func() (bool, error) {
		err := dryRun(t, leavingNamespace)
		return err == nil, err
	})
	excluded := deployment(leavingNamespace, "excluded", 1)
	excluded.Annotations = map[string]string{v1alpha2.AnnotationExcludeFromRestart: "true"}
	canary := deployment(leavingNamespace, "canary", 1)
	canary.Spec.Template.Annotations = map[string]string{restarts.AnnotationInjected: `{"revision":"canary"}`}
	bare := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: leavingNamespace, Name: "bare"}, Spec: deployment("", "", 1).Spec.Template.Spec}
	for _, o := range []client.Object{deployment(leavingNamespace, "a", 2), deployment(leavingNamespace, "b", 1), excluded, canary, bare} {
		must(t, admin.Create(t.Context(), o))
	}
	sidecars(t, "with the mesh", v1alpha2.ReasonProxySidecarRestartSucceeded, map[string]int{"a": 2, "b": 1, "excluded": 1, "canary": 1, "bare": 1})

	injector.give("")
	label(t, namespace, `null`)
	sidecars(t, "without the label", v1alpha2.ReasonProxySidecarManualRestartRequired, map[string]int{"excluded": 1, "canary": 1, "bare": 1})
	injector.give(image)
	label(t, namespace, `"enabled"`)
	sidecars(t, "with the label", v1alpha2.ReasonProxySidecarRestartSucceeded, map[string]int{"a": 2, "b": 1, "excluded": 1, "canary": 1, "bare": 1})

	injector.give("")
	must(t, admin.Delete(t.Context(), named("default")))
	await(t, "the resource is gone", patience, func() error {
		o := named("default")
		if err := admin.Get(t.Context(), client.ObjectKeyFromObject(o), o); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is %s: %s (%w)", o.Status.State, o.Status.Description, err)
		}
		return nil
	})
	// No waiting here: the resource goes last.
	if found, _ := withSidecar(t); fmt.Sprint(found) != fmt.Sprint(map[string]int{"excluded": 1, "canary": 1, "bare": 1}) {
		t.Errorf("when the resource is gone, these have sidecars: %v", found)
	}
	for name, want := range map[string]int64{"a": 4, "b": 4, "excluded": 1, "canary": 1} {
		d := &appsv1.Deployment{}
		must(t, admin.Get(t.Context(), types.NamespacedName{Namespace: leavingNamespace, Name: name}, d))
		if d.Generation != want {
			t.Errorf("%s is of generation %d, want %d: %v", name, d.Generation, want, d.Annotations)
		}
	}
	eventually(t, "an event that a person has to see to the bare pod", func() (bool, error) {
		list := &eventsv1.EventList{}
		err := admin.List(t.Context(), list, client.InNamespace(leavingNamespace))
		reported := ""
		for i := range list.Items {
			if e := &list.Items[i]; e.Reason == "RestartByHand" {
				reported += e.Regarding.Kind + "/" + e.Regarding.Name + " "
			}
		}
		return strings.Contains(reported, "Pod/bare"), fmt.Errorf("%w: found %q", err, reported)
	})
}

// silenceWebhooks keeps the API server from asking an istiod that only seems to run.
func silenceWebhooks(t *testing.T) {
	t.Helper()
	config := &admissionregistrationv1.MutatingWebhookConfiguration{}
	must(t, admin.Get(t.Context(), types.NamespacedName{Name: "istio-sidecar-injector"}, config))
	before := config.DeepCopy()
	for i := range config.Webhooks {
		config.Webhooks[i].MatchConditions = []admissionregistrationv1.MatchCondition{{Name: "never", Expression: "false"}}
	}
	must(t, admin.Patch(t.Context(), config, client.MergeFrom(before)))
}

func label(t *testing.T, o client.Object, value string) {
	t.Helper()
	patch := []byte(`{"metadata":{"labels":{"istio-injection":` + value + `}}}`)
	if !json.Valid(patch) {
		t.Fatalf("%s is no patch", patch)
	}
	must(t, admin.Patch(t.Context(), o, client.RawPatch(types.MergePatchType, patch)))
}

// withSidecar counts running pods with a sidecar by their app; busy says that some are neither
// there nor gone.
func withSidecar(t *testing.T) (found map[string]int, busy bool) {
	t.Helper()
	pods := &corev1.PodList{}
	must(t, admin.List(t.Context(), pods, client.InNamespace(leavingNamespace)))
	found = map[string]int{}
	for i := range pods.Items {
		p := &pods.Items[i]
		name := p.Labels["app"]
		if name == "" {
			name = p.Name
		}
		if p.DeletionTimestamp != nil || p.Status.Phase != corev1.PodRunning {
			busy = true
		} else if p.Annotations[restarts.AnnotationInjected] != "" {
			found[name]++
		}
	}
	return found, busy || len(pods.Items) != 6
}

// sidecars waits until these workloads have so many pods with a sidecar, and no others, and the
// Istio resource tells so, with a reason that is another one than before.
func sidecars(t *testing.T, when, reason string, want map[string]int) {
	t.Helper()
	await(t, when, patience, func() error {
		if found, busy := withSidecar(t); busy || fmt.Sprint(found) != fmt.Sprint(want) {
			return fmt.Errorf("these have sidecars: %v, want %v", found, want)
		}
		return nil
	})
	// Restarts have come to rest, so that the next change is another one.
	await(t, when+", at rest", patience, func() error {
		o := named("default")
		if err := admin.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		for _, c := range *o.Status.Conditions {
			if c.Type == v1alpha2.ConditionProxySidecarRestartSucceeded && c.Reason == reason {
				return nil
			}
		}
		return fmt.Errorf("the status is %+v", o.Status)
	})
}
