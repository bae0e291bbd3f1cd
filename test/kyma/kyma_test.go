// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package kyma

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/internal/localplane/planetest"
)

// manifest applies YAML.
func manifest(t *testing.T, text string) {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatal(err)
	}
	if err := apply(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

// untyped is an object of which only the identity is known.
func untyped(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion(apiVersion)
	o.SetKind(kind)
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

// patience is for how long a test waits for what a controller does. That takes seconds; the rest is
// for slow machines.
const patience = 5 * time.Minute

// eventually asks until the answer is true. The last error says why it is not.
func eventually(t *testing.T, what string, ask func() (bool, error)) {
	t.Helper()
	planetest.Within(t, patience, what, ask)
}

// rested waits until a controller has been left alone for some seconds: what tells of them, such as
// their resourceVersions, has stayed the same.
func rested(t *testing.T, what string, tells func() string) {
	t.Helper()
	var since time.Time
	last := ""
	eventually(t, what+" to be left alone", func() (bool, error) {
		if now := tells(); now != last || since.IsZero() {
			last, since = now, time.Now()
		}
		return time.Since(since) > 3*time.Second, fmt.Errorf("at last it was %s", last)
	})
}

// state waits until an Istio resource as it is now is in a state, and Ready has a reason.
func state(t *testing.T, name string, want v1alpha2.State, reason string) *v1alpha2.Istio {
	t.Helper()
	var istio *v1alpha2.Istio
	eventually(t, fmt.Sprintf("Istio %s to be %s/%s", name, want, reason), func() (bool, error) {
		istio = &v1alpha2.Istio{}
		if err := admin.Get(t.Context(), types.NamespacedName{Namespace: v1alpha2.Namespace, Name: name}, istio); err != nil {
			return false, err
		}
		got := ""
		if istio.Status.Conditions != nil {
			for _, c := range *istio.Status.Conditions {
				if c.Type == v1alpha2.ConditionReady && c.ObservedGeneration == istio.Generation {
					got = c.Reason
				}
			}
		}
		return istio.Status.State == want && got == reason, fmt.Errorf("%s/%s: %s", istio.Status.State, got, istio.Status.Description)
	})
	return istio
}
