// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package plain

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
)

func annotatedObject(kind, name string, annotations map[string]string) *unstructured.Unstructured {
	o := object("apps/v1", kind, name, nil)
	o.SetAnnotations(annotations)
	return o
}

func TestPhases_Settings(t *testing.T) {
	retained := content.Object{Deletion: v1alpha1.ObjectRetain}
	cases := map[string]struct {
		reason      string
		annotations map[string]string
		settings    []Settings
		phase       string
		want        content.Object
		err         string
	}{
		"None": {reason: "Without any, the defaults hold.", phase: PhaseWorkloads},
		"Annotations": {
			reason: "A manifest says itself how it is treated.",
			annotations: map[string]string{
				v1alpha1.AnnotationPhase: PhaseRest, v1alpha1.AnnotationCollisionProtection: "None", v1alpha1.AnnotationDeletion: "Retain",
				v1alpha1.AnnotationOnImmutableChange: "Replace", v1alpha1.AnnotationUnmanagedFields: ".spec.replicas\n.spec.ports[name=\"a, b\"].port, .metadata.annotations['a b']\n",
				v1alpha1.AnnotationExclusiveFields: ".spec.template.spec.containers .metadata.labels", v1alpha1.AnnotationUpdatePhase: PhaseRest,
			},
			phase: PhaseRest,
			want: content.Object{
				CollisionProtection: v1alpha1.CollisionNone, Deletion: v1alpha1.ObjectRetain, OnImmutableChange: v1alpha1.ImmutableReplace,
				UnmanagedFields: []string{".spec.replicas", `.spec.ports[name="a, b"].port`, ".metadata.annotations['a b']"},
				ExclusiveFields: []string{".spec.template.spec.containers", ".metadata.labels"}, UpdatePhase: PhaseRest,
			},
		},
		"Selected": {
			reason: "Settings are for what they select.", phase: PhaseWorkloads, want: retained,
			settings: []Settings{{Kind: "Deployment", Group: "apps", Name: "d", Deletion: v1alpha1.ObjectRetain}},
		},
		"LastWins": {
			reason: "Later settings win over earlier ones, and all of them over annotations.", annotations: map[string]string{v1alpha1.AnnotationDeletion: "Delete"},
			settings: []Settings{{Deletion: v1alpha1.ObjectDelete}, {Kind: "Deployment", Group: "apps", Deletion: v1alpha1.ObjectRetain}}, phase: PhaseWorkloads, want: retained,
		},
		"Idle":       {reason: "Settings that select nothing are a mistake.", settings: []Settings{{Kind: "Deployment", Name: "d"}}, err: "settings[0] select no object: there is no Deployment d"},
		"Unknown":    {reason: "A typing error would be overlooked.", annotations: map[string]string{"strata.run/delete": "Retain"}, err: "annotation strata.run/delete is not known"},
		"BadValue":   {reason: "So would a value that does not exist.", annotations: map[string]string{v1alpha1.AnnotationDeletion: "Keep"}, err: `"Keep" is none of Delete, Retain`},
		"BadPhase":   {reason: "Phases have an order, and so no other names.", annotations: map[string]string{v1alpha1.AnnotationPhase: "last"}, err: `"last" is none of foundation`},
		"BadUpdate":  {reason: "Nor has it the later one.", annotations: map[string]string{v1alpha1.AnnotationUpdatePhase: "last"}, err: `.updatePhase: "last" is none of foundation`},
		"BadPath":    {reason: "A path that names no field.", annotations: map[string]string{v1alpha1.AnnotationUnmanagedFields: "spec..x"}, err: "unmanagedFields"},
		"OthersStay": {reason: "Annotations of other tools are part of the object.", annotations: map[string]string{"example.com/note": "x"}, phase: PhaseWorkloads},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			given := annotatedObject("Deployment", "d", tc.annotations)
			before := given.DeepCopy()
			phases, err := Phases([]*unstructured.Unstructured{given}, "", tc.settings...)
			if diff := cmp.Diff(before, given); diff != "" {
				t.Errorf("the manifest was changed:\n%s", diff)
			}
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("%s\ngot %v, want %s", tc.reason, err, tc.err)
				}
				return
			}
			if err != nil || len(phases) != 1 || phases[0].Name != tc.phase {
				t.Fatalf("%s\ngot %v, %v", tc.reason, phases, err)
			}
			got := phases[0].Objects[0]
			for key := range got.Manifest.GetAnnotations() {
				if strings.HasPrefix(key, "strata.run/") {
					t.Errorf("%s stands in the content", key)
				}
			}
			if _, is := got.Manifest.GetAnnotations()["example.com/note"]; is != (tc.annotations["example.com/note"] != "") {
				t.Errorf("%s\nannotations are %v", tc.reason, got.Manifest.GetAnnotations())
			}
			got.Manifest = nil
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestProbes(t *testing.T) {
	cases := map[string]struct {
		reason, text string
		want         v1alpha1.Probe
		err          string
	}{
		"Named": {
			reason: "It is for its object alone.", text: "name: serves\nassertions:\n- condition: {type: Available}\n",
			want: v1alpha1.Probe{Name: "serves", Assertions: []v1alpha1.Assertion{v1alpha1.AssertionOf(v1alpha1.Check{Condition: &v1alpha1.ConditionAssertion{Type: "Available"}})}},
		},
		"Unnamed": {
			reason: "Its name follows from the object.", text: "assertions: [{default: {}}]",
			want: v1alpha1.Probe{Name: "deployment-d", Assertions: []v1alpha1.Assertion{v1alpha1.AssertionOf(v1alpha1.Check{Default: &v1alpha1.DefaultAssertion{}})}},
		},
		"Selector": {reason: "What it is for is no question.", text: "selector: {kind: Pod}\nassertions: [{default: {}}]", err: "selector must not be set"},
		"Nothing":  {reason: "It would always hold.", text: "name: x", err: "assertions"},
		"Unknown":  {reason: "A typing error would always hold.", text: "asserts: []", err: "asserts"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := annotatedObject("Deployment", "d", map[string]string{v1alpha1.AnnotationProbe: tc.text})
			o.SetNamespace("app")
			got, err := Probes([]*unstructured.Unstructured{o, annotatedObject("Deployment", "other", nil)})
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("%s\ngot %v, want %s", tc.reason, err, tc.err)
				}
				return
			}
			tc.want.Selector = v1alpha1.ProbeSelector{Group: "apps", Kind: "Deployment", Namespace: "app", Name: "d"}
			if diff := cmp.Diff([]v1alpha1.Probe{tc.want}, got); diff != "" || err != nil {
				t.Errorf("%s %v -want, +got:\n%s", tc.reason, err, diff)
			}
		})
	}
}

func TestReadSettings(t *testing.T) {
	got, err := ReadSettings([]byte("- kind: Deployment\n  group: apps\n  onImmutableChange: Replace\n- deletion: Retain\n"))
	want := []Settings{{Kind: "Deployment", Group: "apps", OnImmutableChange: v1alpha1.ImmutableReplace}, {Deletion: v1alpha1.ObjectRetain}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v -want, +got:\n%s", err, diff)
	}
	for text, want := range map[string]string{"- kinds: x": "kinds", "- name: x": "[0].kind", "- deletion: Keep": "[0].deletion"} {
		if _, err := ReadSettings([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}
