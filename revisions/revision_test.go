// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// invalidCase is a case of [TestRevision_Validate].
type invalidCase struct {
	reason string
	number int64
	phases []Phase
	want   []string
}

var invalidOne = func(objects ...Object) []Phase { return []Phase{{Name: "run", Objects: objects}} }

// invalidCases are the cases of [TestRevision_Validate].
var invalidCases = map[string]invalidCase{
	"Good": {
		reason: "two phases, and a namespace-less object, are fine",
		phases: []Phase{
			{Name: "config", Objects: []Object{{Manifest: settings()}, {Manifest: manifest("v1", "Namespace", "", "app", nil)}}},
			{Name: "run", Objects: []Object{{Manifest: manifest("apps/v1", "Deployment", "app", "web", nil), CollisionProtection: CollisionIfNoController}}},
		},
	},
	"Empty": {
		reason: "a revision without phases takes everything away, which may be meant",
	},
	"NumberTooLow": {
		reason: "numbers start at 1",
		number: -1,
		want:   []string{"the revision's number is -1 and must be at least 1"},
	},
	"PhaseWithoutName": {
		reason: "a phase is named by its place then",
		phases: []Phase{{Name: "config"}, {}},
		want:   []string{"phase 2 has no name"},
	},
	"PhaseTwice": {
		reason: "a status is identified by the phase's name",
		phases: []Phase{{Name: "run"}, {Name: "run"}},
		want:   []string{"phase run: is in the revision twice: give each phase a unique name"},
	},
	"UpdatePhase": {
		reason: "an object is updated in a phase that comes after its own, or it never is",
		phases: []Phase{
			{Name: "config", Objects: []Object{{Manifest: settings(), UpdatePhase: "run"}}},
			{Name: "run", Objects: []Object{{Manifest: manifest("v1", "ConfigMap", "app", "self", nil), UpdatePhase: "run"}}},
			{Name: "rest", Objects: []Object{{Manifest: manifest("v1", "ConfigMap", "app", "early", nil), UpdatePhase: "config"}}},
		},
		want: []string{
			`phase rest: ConfigMap early has the updatePhase "config": name a phase that comes after rest`,
			`phase run: ConfigMap self has the updatePhase "run": name a phase that comes after run`,
		},
	},
	"NoManifest": {
		reason: "an object without a manifest is named by its place",
		phases: invalidOne(Object{Manifest: settings()}, Object{}),
		want:   []string{"phase run: object 1 has no manifest"},
	},
	"EmptyManifest": {
		reason: "everything that is missing is reported at once",
		phases: invalidOne(Object{Manifest: &unstructured.Unstructured{}}),
		want: []string{
			"phase run: object 0 (object without a name) has no apiVersion",
			"phase run: object 0 (object without a name) has no kind",
			"phase run: object 0 (object without a name) has no metadata.name",
		},
	},
	"APIVersion": {
		reason: "an apiVersion that cannot be parsed names no kind",
		phases: invalidOne(Object{Manifest: manifest("apps/v1/beta", "Deployment", "app", "web", nil)}),
		want:   []string{`phase run: Deployment web has the apiVersion "apps/v1/beta": write group/version, or version alone for the core group`},
	},
	"Forbidden": {
		reason: "metadata that only the API server or the engine may set",
		phases: invalidOne(Object{Manifest: manifest("v1", "ConfigMap", "app", "settings", content{
			"uid": "u", "resourceVersion": "1", "generation": int64(1), "generateName": "g", "managedFields": []any{},
			"ownerReferences": []any{}, "finalizers": []any{}, "deletionTimestamp": "2026-01-01T00:00:00Z",
		})}),
		want: []string{
			"phase run: ConfigMap settings sets metadata.deletionTimestamp, which a manifest must not: remove it",
			"phase run: ConfigMap settings sets metadata.finalizers, which a manifest must not: remove it",
			"phase run: ConfigMap settings sets metadata.generateName, which a manifest must not: remove it",
			"phase run: ConfigMap settings sets metadata.generation, which a manifest must not: remove it",
			"phase run: ConfigMap settings sets metadata.managedFields, which a manifest must not: remove it",
			"phase run: ConfigMap settings sets metadata.ownerReferences, which a manifest must not: remove it",
			"phase run: ConfigMap settings sets metadata.resourceVersion, which a manifest must not: remove it",
			"phase run: ConfigMap settings sets metadata.uid, which a manifest must not: remove it",
		},
	},
	"LabelNumber": {
		reason: "YAML makes a number of an unquoted version",
		phases: invalidOne(Object{Manifest: manifest("v1", "ConfigMap", "app", "settings", content{"labels": content{"version": int64(1)}})}),
		want:   []string{"phase run: ConfigMap settings has a value in metadata.labels that is not a string: quote it"},
	},
	"AnnotationsList": {
		reason: "annotations are a map",
		phases: invalidOne(Object{Manifest: manifest("v1", "ConfigMap", "app", "settings", content{"annotations": []any{"a"}})}),
		want:   []string{"phase run: ConfigMap settings has a value in metadata.annotations that is not a string: quote it"},
	},
	"NullLabels": {
		reason: "charts leave empty maps behind as null, which says nothing",
		phases: invalidOne(Object{Manifest: manifest("v1", "ConfigMap", "app", "settings", content{"labels": nil, "annotations": nil})}),
	},
	"CollisionProtection": {
		reason: "a typo must not mean the default",
		phases: invalidOne(Object{Manifest: settings(), CollisionProtection: "none"}),
		want:   []string{`phase run: ConfigMap settings has the unknown collision protection "none": use Prevent, IfNoController or None`},
	},
	"TwiceInAPhase": {
		reason: "the second would undo the first",
		phases: invalidOne(Object{Manifest: settings()}, Object{Manifest: settings()}),
		want:   []string{"phase run: ConfigMap app/settings is in the revision twice, first in phase run: remove one"},
	},
	"TwiceInTwoPhases": {
		reason: "also across phases",
		phases: []Phase{{Name: "config", Objects: []Object{{Manifest: settings()}}}, {Name: "run", Objects: []Object{{Manifest: settings()}}}},
		want:   []string{"phase run: ConfigMap app/settings is in the revision twice, first in phase config: remove one"},
	},
	"TwiceInTwoVersions": {
		reason: "two API versions of an object are one object",
		phases: invalidOne(
			Object{Manifest: manifest("autoscaling/v1", "HorizontalPodAutoscaler", "app", "web", nil)},
			Object{Manifest: manifest("autoscaling/v2", "HorizontalPodAutoscaler", "app", "web", nil)}),
		want: []string{"phase run: HorizontalPodAutoscaler.autoscaling app/web is in the revision twice, first in phase run: remove one"},
	},
	"SameNameElsewhere": {
		reason: "another namespace, group or kind makes another object",
		phases: invalidOne(
			Object{Manifest: settings()}, Object{Manifest: manifest("v1", "ConfigMap", "other", "settings", nil)},
			Object{Manifest: manifest("v1", "Secret", "app", "settings", nil)}, Object{Manifest: manifest("example.org/v1", "ConfigMap", "app", "settings", nil)}),
	},
}

// TestRevision_Validate has each violation with its phase, object and remedy.
func TestRevision_Validate(t *testing.T) {
	for name, tc := range invalidCases {
		t.Run(name, func(t *testing.T) {
			if tc.number == 0 {
				tc.number = 1
			}
			revision := Revision{Number: tc.number, Phases: tc.phases}
			err := revision.Validate()
			var invalid *ValidationError
			if err != nil && !errors.As(err, &invalid) {
				t.Fatalf("Validate() = %T, want a *ValidationError", err)
			}
			var got []string
			if invalid != nil {
				got = invalid.Violations
				if invalid.Revision != tc.number {
					t.Errorf("the error is about revision %d, want %d", invalid.Revision, tc.number)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestValidationError_Text bounds what a status has to hold.
func TestValidationError_Text(t *testing.T) {
	err := &ValidationError{Violations: []string{"1", "2", "3", "4", "5", "6", "7"}}
	if got, want := err.Error(), "1; 2; 3; 4; 5; and 2 more"; got != want {
		t.Errorf("Error() = %q, want %q", got, want)
	}
}

// TestObjectID_String writes identities as people do.
func TestObjectID_String(t *testing.T) {
	cases := map[string]string{
		"Deployment.apps app/web": IDOf(manifest("apps/v1", "Deployment", "app", "web", nil)).String(),
		"Namespace app":           IDOf(manifest("v1", "Namespace", "", "app", nil)).String(),
	}
	for want, got := range cases {
		if got != want {
			t.Errorf("String() = %q, want %q", got, want)
		}
	}
}
