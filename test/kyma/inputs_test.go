// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package kyma

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/internal/localplane/planetest"
)

// plain is a spec that asks for nothing. An empty one cannot be applied over another.
const plain = "{compatibilityMode: false}"

// configMap is one with a value, as an administrator applies it.
func configMap(t *testing.T, namespace, name, key, value string) {
	t.Helper()
	manifest(t, fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, namespace: %s}, data: {%s: '%s'}}", name, namespace, key, value))
}

func removeConfigMap(t *testing.T, namespace, name string) {
	t.Helper()
	remove(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})
}

// input is the document that the mesh that runs was rendered from.
func input(t *testing.T) string {
	t.Helper()
	o := &corev1.ConfigMap{}
	if err := admin.Get(t.Context(), types.NamespacedName{Namespace: "istio-system", Name: "kyma-istio-operator"}, o); err != nil {
		t.Fatal(err)
	}
	return o.Data["istiooperator.yaml"]
}

// A resource that tells of an installation whose version cannot be read: nothing is installed
// over it, and the mesh comes when the tag is right. A ConfigMap that cannot be read from the
// start does not keep it.
func invalidTag(t *testing.T) {
	t.Helper()
	configMap(t, "kyma-system", "istio-features", "features", `{"disableCni": true`)
	o := named("mesh")
	o.Annotations = map[string]string{v1alpha2.AnnotationLastApplied: `{"IstioTag":"latest"}`}
	if err := admin.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	refused := state(t, "mesh", v1alpha2.StateError, v1alpha2.ReasonIstioCustomResourceMisconfigured)
	if !strings.Contains(refused.Status.Description, `"latest" is not a tag of Istio`) || deployed(t, "Deployment", "istiod") != nil {
		t.Fatalf("an invalid tag: %s", refused.Status.Description)
	}
	changed := refused.DeepCopy()
	changed.Annotations[v1alpha2.AnnotationLastApplied] = `{"IstioTag":"1.30.2-distroless"}`
	if err := admin.Patch(t.Context(), changed, client.MergeFrom(refused)); err != nil {
		t.Fatal(err)
	}
	reported := state(t, "mesh", v1alpha2.StateWarning, v1alpha2.ReasonReconcileSucceeded)
	if !strings.Contains(reported.Status.Description, "istio-features") || !strings.Contains(reported.Status.Description, "nothing of it is set") || deployed(t, "DaemonSet", "istio-cni-node") == nil {
		t.Errorf("malformed before the first installation: %s", reported.Status.Description)
	}
	removeConfigMap(t, "kyma-system", "istio-features")
	state(t, "mesh", v1alpha2.StateReady, v1alpha2.ReasonReconcileSucceeded)
}

// features: what a ConfigMap has said stays in force while it cannot be read, also for the next
// manager.
func features(t *testing.T) {
	const name = "istio-features"
	configMap(t, "kyma-system", name, "features", `{"disableCni": true`)
	reported := state(t, "second", v1alpha2.StateWarning, v1alpha2.ReasonReconcileSucceeded)
	if !strings.Contains(reported.Status.Description, name) || deployed(t, "DaemonSet", "istio-cni-node") == nil {
		t.Errorf("malformed from the start: %s", reported.Status.Description)
	}
	configMap(t, "kyma-system", name, "features", `{"disableCni": true}`)
	eventually(t, "the node agent to go", func() (bool, error) { return deployed(t, "DaemonSet", "istio-cni-node") == nil, nil })
	state(t, "second", v1alpha2.StateReady, v1alpha2.ReasonReconcileSucceeded)
	revision := mesh(t).Status.TargetRevision
	configMap(t, "kyma-system", name, "features", `{"disableCni": yes`)
	keeps := func() {
		reported := state(t, "second", v1alpha2.StateWarning, v1alpha2.ReasonReconcileSucceeded)
		if !strings.Contains(reported.Status.Description, name) || !strings.Contains(reported.Status.Description, "stays in force") {
			t.Errorf("the malformed ConfigMap is not reported: %s", reported.Status.Description)
		}
		if now := mesh(t).Status.TargetRevision; now != revision || deployed(t, "DaemonSet", "istio-cni-node") != nil {
			t.Errorf("a ConfigMap that cannot be read has led from revision %d to %d", revision, now)
		}
	}
	keeps()
	// A user replaces the resource as a whole, which takes its annotations off.
	const kept = "strata.run/cluster-switches"
	before := state(t, "second", v1alpha2.StateWarning, v1alpha2.ReasonReconcileSucceeded)
	after := before.DeepCopy()
	delete(after.Annotations, kept)
	if err := admin.Patch(t.Context(), after, client.MergeFrom(before)); err != nil || before.Annotations[kept] == "" {
		t.Fatalf("taking off the annotation: %v", err)
	}
	eventually(t, "the annotation to come back", func() (bool, error) {
		now := named("second")
		err := admin.Get(t.Context(), client.ObjectKeyFromObject(now), now)
		return now.Annotations[kept] == before.Annotations[kept], err
	})
	keeps()
	if err := startManager(t.Context(), "1.31"); err != nil {
		t.Fatal(err)
	}
	planetest.Stays(t, 2*time.Second, "another manager keeps it, too", func() (bool, error) { keeps(); return true, nil })
	removeConfigMap(t, "kyma-system", name)
	eventually(t, "the node agent to come back", func() (bool, error) { return deployed(t, "DaemonSet", "istio-cni-node") != nil, nil })
	state(t, "second", v1alpha2.StateReady, v1alpha2.ReasonReconcileSucceeded)
}

// badSpec: what the API server lets through and istiod could not use. The mesh stays as it is,
// and timeouts reach it exactly.
func badSpec(t *testing.T) {
	cases := []struct {
		reason string
		config string
		want   v1alpha2.State
		says   string
	}{
		{"two authorizers of one name", "authorizers: [{name: a, service: a.example.com, port: 80}, {name: a, service: b.example.com, port: 80}]", v1alpha2.StateWarning, "spec.config.authorizers[1].name"},
		{"an authorizer with the name of a provider of the module", "authorizers: [{name: kyma-traces, service: a.example.com, port: 80}]", v1alpha2.StateWarning, "spec.config.authorizers[0].name"},
		{"a broken expression", "proxyStatsMatcher: {inclusionRegexps: [ok, 'cluster(.*']}", v1alpha2.StateError, "spec.config.proxyStatsMatcher.inclusionRegexps[1]"},
		{"a timeout of nothing", "authorizers: [{name: a, service: a.example.com, port: 80, timeout: 0s}]", v1alpha2.StateWarning, "spec.config.authorizers[0].timeout"},
	}
	for _, tc := range cases {
		before, rendered := mesh(t).Status.TargetRevision, input(t)
		manifest(t, istio("second", "{config: {"+tc.config+"}}"))
		eventually(t, tc.reason+" to be reported", func() (bool, error) {
			got := named("second")
			err := admin.Get(t.Context(), client.ObjectKeyFromObject(got), got)
			return err == nil && got.Status.State == tc.want && strings.Contains(got.Status.Description, tc.says), fmt.Errorf("%w: %s: %s", err, got.Status.State, got.Status.Description)
		})
		got := state(t, "second", tc.want, v1alpha2.ReasonValidationFailed)
		for _, c := range *got.Status.Conditions {
			// Restarts are looked at after a rollout, and there is none.
			if c.ObservedGeneration == 0 || c.Type != v1alpha2.ConditionProxySidecarRestartSucceeded && c.ObservedGeneration != got.Generation {
				t.Errorf("%s: %s is of generation %d, the resource is %d", tc.reason, c.Type, c.ObservedGeneration, got.Generation)
			}
		}
		if now := mesh(t).Status.TargetRevision; now != before || input(t) != rendered {
			t.Errorf("%s has led to revision %d", tc.reason, now)
		}
	}
	manifest(t, istio("second", "{config: {authorizers: [{name: a, service: a.example.com, port: 80, timeout: 500ms}, {name: b, service: b.example.com, port: 80, timeout: 1m0.25s}]}}"))
	state(t, "second", v1alpha2.StateReady, v1alpha2.ReasonReconcileSucceeded)
	o := &corev1.ConfigMap{}
	if err := admin.Get(t.Context(), types.NamespacedName{Namespace: "istio-system", Name: "istio"}, o); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"timeout: 0.5s", "timeout: 60.25s"} {
		if !strings.Contains(o.Data["mesh"], want) {
			t.Errorf("the mesh configuration lacks %s:\n%s", want, o.Data["mesh"])
		}
	}
	manifest(t, istio("second", plain))
	state(t, "second", v1alpha2.StateReady, v1alpha2.ReasonReconcileSucceeded)
}

// experimental: a manager that does not allow it leaves the mesh as it is, and one that does
// takes it.
func experimental(t *testing.T) {
	before := mesh(t).Status.TargetRevision
	manifest(t, istio("second", "{experimental: {pilot: {enableAlphaGatewayAPI: true}}}"))
	refused := state(t, "second", v1alpha2.StateError, v1alpha2.ReasonReconcileUnknown)
	if !strings.Contains(refused.Status.Description, "--kyma-experimental") || mesh(t).Status.TargetRevision != before {
		t.Errorf("the remedy is not reported, or the mesh has changed: %s", refused.Status.Description)
	}
	for _, c := range *refused.Status.Conditions {
		if c.Type == v1alpha2.ConditionReady && (c.Status != metav1.ConditionUnknown || c.ObservedGeneration != refused.Generation) {
			t.Errorf("Ready is %s of generation %d", c.Status, c.ObservedGeneration)
		}
	}
	allowExperimental = true
	if err := startManager(t.Context(), "1.31"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "istiod with the switch", func() (bool, error) {
		return strings.Contains(fmt.Sprint(deployed(t, "Deployment", "istiod").Object), "PILOT_ENABLE_ALPHA_GATEWAY_API"), nil
	})
	state(t, "second", v1alpha2.StateReady, v1alpha2.ReasonReconcileSucceeded)
}
