// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/revisions"
	"github.com/strata-run/strata/revisions/probes"
)

func TestRetains(t *testing.T) {
	tests := map[string]struct {
		reason     string
		apiVersion string
		kind       string
		policy     string
		deletion   v1alpha1.ObjectDeletion
		want       bool
	}{
		"CustomResourceDefinition":   {reason: "its loss loses every object of the kind", apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", want: true},
		"Namespace":                  {reason: "its loss loses everything in it", apiVersion: "v1", kind: "Namespace", want: true},
		"PersistentVolumeClaim":      {reason: "its loss loses data", apiVersion: "v1", kind: "PersistentVolumeClaim", want: true},
		"PersistentVolume":           {reason: "its loss loses data", apiVersion: "v1", kind: "PersistentVolume", want: true},
		"Deployment":                 {reason: "all others go", apiVersion: "apps/v1", kind: "Deployment"},
		"NamespaceOfAnotherGroup":    {reason: "the group is part of the kind", apiVersion: "example.com/v1", kind: "Namespace"},
		"KeptByHelm":                 {reason: "Helm's annotation is honoured for every kind", apiVersion: "apps/v1", kind: "Deployment", policy: "keep", want: true},
		"OtherPolicy":                {reason: "only keep keeps", apiVersion: "apps/v1", kind: "Deployment", policy: "delete"},
		"NamespaceToBeDeleted":       {reason: "the revision's word wins over the kind", apiVersion: "v1", kind: "Namespace", deletion: v1alpha1.ObjectDelete},
		"KeptByHelmAndToBeDeleted":   {reason: "the revision's word wins over the annotation", apiVersion: "apps/v1", kind: "Deployment", policy: "keep", deletion: v1alpha1.ObjectDelete},
		"DeploymentToBeRetained":     {reason: "the revision's word wins over the default", apiVersion: "apps/v1", kind: "Deployment", deletion: v1alpha1.ObjectRetain, want: true},
		"OtherVersionOfADefinition":  {reason: "the version makes no difference", apiVersion: "apiextensions.k8s.io/v2", kind: "CustomResourceDefinition", want: true},
		"ObjectOfADefinedKind":       {reason: "custom resources go like others", apiVersion: "networking.istio.io/v1", kind: "Gateway"},
		"PersistentVolumeClaimKept":  {reason: "both ways say the same", apiVersion: "v1", kind: "PersistentVolumeClaim", policy: "keep", want: true},
		"PersistentVolumeNotCounted": {reason: "a prefix of a kind is another kind", apiVersion: "v1", kind: "PersistentVolumeX"},
		"UnusedDefinition":           {reason: "it may stay", apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", deletion: v1alpha1.ObjectDeleteUnused, want: true},
		"UnusedDeployment":           {reason: "only definitions can be used", apiVersion: "apps/v1", kind: "Deployment", deletion: v1alpha1.ObjectDeleteUnused},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			manifest := &unstructured.Unstructured{}
			manifest.SetAPIVersion(tc.apiVersion)
			manifest.SetKind(tc.kind)
			if tc.policy != "" {
				manifest.SetAnnotations(map[string]string{"helm.sh/resource-policy": tc.policy})
			}
			if got := Retains(manifest, tc.deletion); got != tc.want {
				t.Errorf("%s: Retains = %t, want %t", tc.reason, got, tc.want)
			}
		})
	}
}

func deployment() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": "istiod", "namespace": "istio-system", "generation": int64(2), "labels": map[string]any{"app": "istiod"}},
	}}
}

// loadOne loads a revision of one object with the probes given.
func loadOne(t *testing.T, manifest *unstructured.Unstructured, object v1alpha1.Object, phase v1alpha1.Phase, own []v1alpha1.Probe) (revisions.Object, error) {
	t.Helper()
	data, err := manifest.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	object.Object = raw(string(data)).Object
	phase.Name, phase.Objects = "plane", []v1alpha1.Object{object}
	loaded, err := LoadRevision(t.Context(), &fakeSlices{}, &v1alpha1.Revision{Spec: v1alpha1.RevisionSpec{Revision: 1, Phases: []v1alpha1.Phase{phase}, Probes: own}})
	if err != nil {
		return revisions.Object{}, err
	}
	return loaded.Phases[0].Objects[0], nil
}

func TestLoadRevision_CollisionProtection(t *testing.T) {
	tests := map[string]struct {
		reason        string
		object, phase v1alpha1.CollisionProtection
		want          revisions.CollisionProtection
	}{
		"Default":       {reason: "nothing set prevents", want: revisions.CollisionPrevent},
		"Phase":         {reason: "the phase's is for objects that set none", phase: v1alpha1.CollisionIfNoController, want: revisions.CollisionIfNoController},
		"Object":        {reason: "the object's stands alone", object: v1alpha1.CollisionNone, want: revisions.CollisionNone},
		"ObjectAndMore": {reason: "the object's wins over the phase's", object: v1alpha1.CollisionPrevent, phase: v1alpha1.CollisionNone, want: revisions.CollisionPrevent},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := loadOne(t, deployment(), v1alpha1.Object{CollisionProtection: tc.object}, v1alpha1.Phase{CollisionProtection: tc.phase}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got.CollisionProtection != tc.want {
				t.Errorf("%s: got %s, want %s", tc.reason, got.CollisionProtection, tc.want)
			}
		})
	}
}

func assertCondition(kind string, status metav1.ConditionStatus) []v1alpha1.Assertion {
	return []v1alpha1.Assertion{v1alpha1.AssertionOf(v1alpha1.Check{Condition: &v1alpha1.ConditionAssertion{Type: kind, Status: status}})}
}

func TestLoadRevision_Probes(t *testing.T) {
	deploymentSelector := v1alpha1.ProbeSelector{Group: "apps", Kind: "Deployment"}
	labels := func(value string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{"app": value}}
	}
	own := func(selector v1alpha1.ProbeSelector, assertions ...v1alpha1.Assertion) []v1alpha1.Probe {
		return []v1alpha1.Probe{{Name: "own", Selector: selector, Assertions: assertions}}
	}
	cel := func(expression string) []v1alpha1.Assertion {
		return []v1alpha1.Assertion{v1alpha1.AssertionOf(v1alpha1.Check{CEL: &v1alpha1.CELAssertion{Expression: expression}})}
	}
	// The live object says Custom=True and has not been rolled out by its controller.
	live := deployment()
	live.Object["status"] = map[string]any{
		"observedGeneration": int64(2), "replicas": int64(1), "availableReplicas": int64(1), "x": "a", "y": "a",
		"conditions": []any{
			map[string]any{"type": "Custom", "status": "True"}, map[string]any{"type": "Broken", "status": "False"},
			map[string]any{"type": "Available", "status": "True"},
		},
	}
	stale := live.DeepCopy()
	stale.SetGeneration(3)

	tests := map[string]struct {
		reason string
		probes []v1alpha1.Probe
		live   *unstructured.Unstructured
		want   probes.Status
	}{
		"Default":              {reason: "an object that no probe selects has the default of its kind", want: probes.False},
		"OwnReplacesDefault":   {reason: "a probe that selects the object takes the default's place", probes: own(deploymentSelector, assertCondition("Custom", "True")...), want: probes.True},
		"DefaultStatusIsTrue":  {reason: "an assertion without a status wants True", probes: own(deploymentSelector, assertCondition("Custom", "")...), want: probes.True},
		"ConditionFalse":       {reason: "an assertion may want False", probes: own(deploymentSelector, assertCondition("Broken", "False")...), want: probes.True},
		"ConditionMissing":     {reason: "a condition that is missing is Unknown", probes: own(deploymentSelector, assertCondition("Other", "True")...), want: probes.Unknown},
		"OldGeneration":        {reason: "a status about an older generation proves nothing", probes: own(deploymentSelector, assertCondition("Custom", "True")...), live: stale, want: probes.Unknown},
		"AllAssertions":        {reason: "every assertion must hold", probes: own(deploymentSelector, append(assertCondition("Custom", "True"), assertCondition("Broken", "True")...)...), want: probes.False},
		"FieldsEqual":          {reason: "two fields are compared", probes: own(deploymentSelector, v1alpha1.AssertionOf(v1alpha1.Check{FieldsEqual: &v1alpha1.FieldsEqualAssertion{A: ".status.x", B: ".status.y"}})), want: probes.True},
		"FieldsDiffer":         {reason: "two fields are compared", probes: own(deploymentSelector, v1alpha1.AssertionOf(v1alpha1.Check{FieldsEqual: &v1alpha1.FieldsEqualAssertion{A: ".status.x", B: ".metadata.name"}})), want: probes.False},
		"CEL":                  {reason: "an expression sees the object as self", probes: own(deploymentSelector, cel("self.status.replicas == 1")...), want: probes.True},
		"CELFalse":             {reason: "an expression sees the object as self", probes: own(deploymentSelector, cel("self.status.replicas == 2")...), want: probes.False},
		"SelectedByLabel":      {reason: "labels alone select", probes: own(v1alpha1.ProbeSelector{Labels: labels("istiod")}, assertCondition("Custom", "True")...), want: probes.True},
		"KindAndLabel":         {reason: "every part that is set must match", probes: own(v1alpha1.ProbeSelector{Group: "apps", Kind: "Deployment", Labels: labels("other")}, assertCondition("Custom", "True")...), want: probes.False},
		"OtherGroup":           {reason: "the group is part of the kind", probes: own(v1alpha1.ProbeSelector{Kind: "Deployment"}, assertCondition("Custom", "True")...), want: probes.False},
		"OtherKind":            {reason: "a probe of another kind leaves the default", probes: own(v1alpha1.ProbeSelector{Group: "apps", Kind: "DaemonSet"}, assertCondition("Custom", "True")...), want: probes.False},
		"TwoProbesSelect":      {reason: "every probe that selects the object must hold", probes: append(own(deploymentSelector, assertCondition("Custom", "True")...), own(v1alpha1.ProbeSelector{Labels: labels("istiod")}, assertCondition("Broken", "True")...)...), want: probes.False},
		"SecondProbeUndecided": {reason: "Unknown holds the gate", probes: append(own(deploymentSelector, assertCondition("Custom", "True")...), own(v1alpha1.ProbeSelector{Labels: labels("istiod")}, assertCondition("Other", "True")...)...), want: probes.Unknown},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			object, err := loadOne(t, deployment(), v1alpha1.Object{}, v1alpha1.Phase{}, tc.probes)
			if err != nil {
				t.Fatal(err)
			}
			if tc.live == nil {
				tc.live = live
			}
			if got := object.Probe.Probe(tc.live); got.Status != tc.want {
				t.Errorf("%s: probe says %s (%s), want %s", tc.reason, got.Status, got.Message, tc.want)
			}
			if got := object.Serving.Probe(tc.live); got.Status != probes.True {
				t.Errorf("%s: the Deployment serves while its condition Available is True, got %s", tc.reason, got.Status)
			}
		})
	}
}

func TestLoadRevision_ProbeOfPlainKinds(t *testing.T) {
	plain, err := loadOne(t, configMap("a", "x"), v1alpha1.Object{}, v1alpha1.Phase{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if plain.Probe != nil || plain.Serving != nil {
		t.Error("a ConfigMap has no probe, so that its metadata is all that is watched")
	}
	probed, err := loadOne(t, configMap("a", "x"), v1alpha1.Object{}, v1alpha1.Phase{}, []v1alpha1.Probe{{
		Name: "own", Selector: v1alpha1.ProbeSelector{Kind: "ConfigMap"},
		Assertions: []v1alpha1.Assertion{v1alpha1.AssertionOf(v1alpha1.Check{CEL: &v1alpha1.CELAssertion{Expression: "self.data.value == 'x'"}})},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string]probes.Status{"x": probes.True, "y": probes.False} {
		state := configMap("a", value)
		if got := probed.Probe.Probe(state).Status; got != want {
			t.Errorf("value %s: probe says %s, want %s", value, got, want)
		}
		if got := probed.Serving.Probe(state).Status; got != want {
			t.Errorf("value %s: a kind without a rule of its own serves while it is ready: got %s, want %s", value, got, want)
		}
	}
}

// A probe that takes the place of a kind's default does so for serving, too, unless the kind
// can serve without being ready.
func TestLoadRevision_ServingAsProbed(t *testing.T) {
	service := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": "a", "namespace": "b"},
		"spec": map[string]any{"type": "LoadBalancer", "ports": []any{map[string]any{"port": int64(80)}}},
	}}
	probed, err := loadOne(t, service, v1alpha1.Object{}, v1alpha1.Phase{}, []v1alpha1.Probe{{
		Name: "own", Selector: v1alpha1.ProbeSelector{Kind: "Service"},
		Assertions: []v1alpha1.Assertion{v1alpha1.AssertionOf(v1alpha1.Check{FieldValue: &v1alpha1.FieldValueAssertion{Path: ".spec.ports[0].port", Value: v1alpha1.ScalarOf(int64(80))}})},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if ready, serves := probed.Probe.Probe(service), probed.Serving.Probe(service); ready.Status != probes.True || serves.Status != probes.True {
		t.Errorf("a Service without an address is ready: %s, and serves: %s (%s)", ready.Status, serves.Status, serves.Message)
	}
}

func TestLoadRevision_ProbesThatDoNotCompile(t *testing.T) {
	good := v1alpha1.Probe{Name: "good", Selector: v1alpha1.ProbeSelector{Kind: "A"}, Assertions: assertCondition("Ready", "")}
	tests := map[string]struct {
		reason string
		probe  v1alpha1.Probe
		want   string
	}{
		"CEL": {
			reason: "the expression that is wrong is named",
			probe:  v1alpha1.Probe{Name: "bad", Assertions: append(assertCondition("Ready", ""), v1alpha1.AssertionOf(v1alpha1.Check{CEL: &v1alpha1.CELAssertion{Expression: "self.status ="}}))},
			want:   "spec.probes[1].assertions[1].cel.expression (probe bad): compiling CEL expression: line 1, column 13: ",
		},
		"FirstPath": {
			reason: "the path that is wrong is named",
			probe:  v1alpha1.Probe{Name: "bad", Assertions: []v1alpha1.Assertion{v1alpha1.AssertionOf(v1alpha1.Check{FieldsEqual: &v1alpha1.FieldsEqualAssertion{A: ".a[", B: ".b"}})}},
			want:   "spec.probes[1].assertions[0].fieldsEqual.a (probe bad): ",
		},
		"SecondPath": {
			reason: "the path that is wrong is named",
			probe:  v1alpha1.Probe{Name: "bad", Assertions: []v1alpha1.Assertion{v1alpha1.AssertionOf(v1alpha1.Check{FieldsEqual: &v1alpha1.FieldsEqualAssertion{A: ".a", B: ".b["}})}},
			want:   "spec.probes[1].assertions[0].fieldsEqual.b (probe bad): ",
		},
		"Nothing": {
			reason: "an assertion of nothing does not hold by itself",
			probe:  v1alpha1.Probe{Name: "bad", Assertions: []v1alpha1.Assertion{{}}},
			want:   "spec.probes[1].assertions[0] (probe bad): set one of ",
		},
		"Selector": {
			reason: "the selector that is wrong is named",
			probe: v1alpha1.Probe{Name: "bad", Assertions: assertCondition("Ready", ""), Selector: v1alpha1.ProbeSelector{
				Labels: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Like"}}},
			}},
			want: "spec.probes[1].selector.labels (probe bad): ",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := loadOne(t, configMap("a", "x"), v1alpha1.Object{}, v1alpha1.Phase{}, []v1alpha1.Probe{good, tc.probe})
			var invalid *InvalidError
			if !errors.As(err, &invalid) || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("%s: got error %v, want an *InvalidError that starts with %q", tc.reason, err, tc.want)
			}
		})
	}
}
