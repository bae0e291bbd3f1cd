// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/revisions"
	"github.com/strata-run/strata/revisions/revisionstest"
)

func asError(err error, held **Error) bool { return errors.As(err, held) }

// widgets is a definition whose versions have these fields in their spec.
func widgets(fields string, versions ...string) string {
	var list []string
	for i, version := range versions {
		storage := "false"
		if i == len(versions)-1 {
			storage = "true"
		}
		list = append(list, "{name: "+version+", served: true, storage: "+storage+", schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {"+fields+"}}}}}}")
	}
	return "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.example.org}, spec: {group: example.org, scope: Namespaced, names: {kind: Widget, plural: widgets}, versions: [" + strings.Join(list, ", ") + "]}}"
}

func TestCheckDefinitions(t *testing.T) {
	const (
		size     = "size: {type: integer}"
		sizeMore = "size: {type: integer}, color: {type: string}"
		gone     = "Field: the field is gone, and its value is dropped"
	)
	none := []string{v1alpha1.AnnotationCRDUpgradeSafety, v1alpha1.CRDUpgradeSafetyNone}
	cases := map[string]struct {
		reason       string
		live, target string
		annotations  []string
		want         []string
	}{
		"New":      {reason: "there is nothing to break", target: widgets(size, "v1")},
		"Same":     {reason: "nothing changes", live: widgets(size, "v1"), target: widgets(size, "v1")},
		"Safe":     {reason: "a field more", live: widgets(size, "v1"), target: widgets(sizeMore, "v1")},
		"Unsafe":   {reason: "what several versions have in common is reported once", live: widgets(sizeMore, "v1", "v2"), target: widgets(size, "v1", "v2"), want: []string{"CRDUpgradeSafety: CustomResourceDefinition.apiextensions.k8s.io widgets.example.org v1, v2 .spec.color: " + gone}},
		"Allowed":  {reason: "the Package says so", live: widgets(sizeMore, "v1"), target: widgets(size, "v1"), annotations: none},
		"Misspelt": {reason: "only the one value allows it", live: widgets(sizeMore, "v1"), target: widgets(size, "v1"), annotations: []string{v1alpha1.AnnotationCRDUpgradeSafety, "none"}, want: []string{"CRDUpgradeSafety: CustomResourceDefinition.apiextensions.k8s.io widgets.example.org v1 .spec.color: " + gone}},
		"Stored":   {reason: "as on a rollback to before v2; the API server refuses this in any case", live: widgets(size, "v1", "v2"), target: widgets(size, "v1"), annotations: none, want: []string{"CRDUpgradeSafety: CustomResourceDefinition.apiextensions.k8s.io widgets.example.org StoredVersion: version v2 is gone, and resources may be stored in it"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			checked := newChecked()
			if c.live != "" {
				checked.inPlace(t, revision(t, 1, c.live))
			}
			in := Input{Package: pkg("", c.annotations...), Target: revision(t, 2, c.target)}
			if diff := cmp.Diff(c.want, checked.found(t, in)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// TestCheckDefinitions_Rollback has contents that leave the live definition alone, and
// need of it no more than the version that they store.
func TestCheckDefinitions_Rollback(t *testing.T) {
	const size, sizeMore = "size: {type: integer}", "size: {type: integer}, color: {type: string}"
	cases := map[string]struct {
		reason       string
		live, target string
		want         []string
	}{
		"Gained":  {reason: "what the definition has gained stays", live: widgets(sizeMore, "v1", "v2"), target: widgets(size, "v1")},
		"Removed": {reason: "the version is gone", live: widgets(size, "v2"), target: widgets(size, "v1"), want: []string{"CRDUpgradeSafety: CustomResourceDefinition.apiextensions.k8s.io widgets.example.org is not taken back by a rollback, and no longer serves version v1, in which this content stores its resources"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			checked := newChecked()
			checked.inPlace(t, revision(t, 1, c.live))
			target := revision(t, 2, c.target)
			target.Phases[0].Objects[0].ForwardOnly = true
			if diff := cmp.Diff(c.want, checked.found(t, Input{Package: pkg(""), Target: target})); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// TestCheckDefinitions_Cost reads a definition only when its content changes.
func TestCheckDefinitions_Cost(t *testing.T) {
	checked := newChecked()
	before := checked.inPlace(t, revision(t, 1, widgets("size: {type: integer}", "v1"), settings))
	if got := checked.found(t, Input{Package: pkg(""), Target: revision(t, 2, widgets("size: {type: integer}", "v1"), other), Serving: []revisions.Revision{before}}); got != nil {
		t.Errorf("found %v", got)
	}
	if got := checked.requests(t); len(got) > 0 {
		t.Errorf("a definition that does not change is asked for: %v", got)
	}
}

// TestCheckDefinitions_Unknown is an error: a definition that could not be read is
// not safe.
func TestCheckDefinitions_Unknown(t *testing.T) {
	cases := map[string]struct {
		code int32
		want string
	}{
		"Down":      {503, ""},
		"Forbidden": {403, "Permission: the manager may not get CustomResourceDefinition.apiextensions.k8s.io widgets.example.org"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			checked := newChecked()
			checked.cluster.Fail(revisionstest.Fault{Client: "identity", Verb: revisionstest.VerbGet, Code: c.code})
			err := checked.Check(t.Context(), Input{Package: pkg(""), Target: revision(t, 2, widgets("", "v1"))})
			var held *Error
			if asError(err, &held) != (c.want != "") || err == nil {
				t.Fatalf("got %v", err)
			}
			if c.want != "" {
				if diff := cmp.Diff([]string{c.want}, foundIn(t, err)); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

// TestCheckDefinitions_Unserved does not take a path that is not found for a
// definition that does not exist.
func TestCheckDefinitions_Unserved(t *testing.T) {
	checked := newChecked()
	checked.cluster.Serve(schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}, revisionstest.Unreachable)
	var held *Error
	if err := checked.Check(t.Context(), Input{Package: pkg(""), Target: revision(t, 2, widgets("", "v1"))}); err == nil || asError(err, &held) {
		t.Errorf("got %v, want an error that is no finding", err)
	}
}

// TestCheckDefinitions_Malformed tells of a definition that is none.
func TestCheckDefinitions_Malformed(t *testing.T) {
	checked := newChecked()
	checked.inPlace(t, revision(t, 1, widgets("", "v1")))
	target := revision(t, 2, "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.example.org}, spec: {versions: 3}}")
	got := checked.found(t, Input{Package: pkg(""), Target: target})
	if len(got) != 1 || !strings.Contains(got[0], "cannot be read") {
		t.Errorf("found %v", got)
	}
}
