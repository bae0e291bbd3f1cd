// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/revisions"
)

// What a status keeps of an object comes back to the engine.
func TestRecords(t *testing.T) {
	ref := func(name string) v1alpha1.ObjectReference {
		return v1alpha1.ObjectReference{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "ns", Name: name}
	}
	got := Records(v1alpha1.RevisionStatus{
		Inventory: []v1alpha1.InventoryEntry{
			{ObjectReference: ref("quiet"), UID: "u1", Action: "Created", Content: "c", Fields: "f", State: "1-a"},
			{ObjectReference: ref("fought-over"), UID: "u2", Action: "Adopted", Content: "c", Fields: "f", IgnoredFields: []string{".spec.replicas"}, ManifestValues: []string{"v"}, Repairs: 3, NextRepair: new(metav1.Unix(10, 0))},
			{ObjectReference: ref("unlisted"), UID: "u3", Action: "Created", Content: "c", Fields: "f", Repairs: 5, NextRepair: new(metav1.Unix(11, 0)), Completed: true},
		},
		Interference: []v1alpha1.Interference{
			{ObjectReference: ref("fought-over"), Cause: v1alpha1.InterferenceChanged, Manager: "other", Fields: []string{".spec.paused"}, Count: 3, FirstSeen: metav1.Unix(1, 0), LastSeen: metav1.Unix(9, 0)},
			{ObjectReference: ref("gone"), Manager: "other", Count: 1},
		},
	})
	want := map[revisions.ObjectID]revisions.Record{
		ObjectID(ref("quiet")): {UID: "u1", Action: revisions.ActionCreated, Content: "c", Fields: "f", State: "1-a"},
		ObjectID(ref("fought-over")): {
			UID: "u2", Action: revisions.ActionAdopted, Content: "c", Fields: "f", IgnoredFields: []string{".spec.replicas"}, ManifestValues: []string{"v"},
			Backoff: &revisions.DriftBackoff{Cause: revisions.DriftChanged, Manager: "other", Fields: []string{".spec.paused"}, Count: 3, First: time.Unix(1, 0), Last: time.Unix(9, 0), Next: time.Unix(10, 0)},
		},
		ObjectID(ref("unlisted")): {
			UID: "u3", Action: revisions.ActionCreated, Content: "c", Fields: "f", Completed: true,
			Backoff: &revisions.DriftBackoff{Count: 5, Next: time.Unix(11, 0)},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

// A status holds records when it would give the same again.
func TestHasRecords(t *testing.T) {
	status := func(entry v1alpha1.InventoryEntry) v1alpha1.RevisionStatus {
		entry.Kind, entry.Name, entry.UID, entry.Action, entry.Content, entry.Fields = "ConfigMap", "a", "u", "Created", "c", "f"
		return v1alpha1.RevisionStatus{Inventory: []v1alpha1.InventoryEntry{entry}}
	}
	at := metav1.Unix(100, 0)
	tests := map[string]struct {
		reason string
		status v1alpha1.RevisionStatus
		change func(record *revisions.Record)
		want   bool
	}{
		"Same":          {"everything is on record", status(v1alpha1.InventoryEntry{}), func(*revisions.Record) {}, true},
		"SameTime":      {"times are compared by what they mean", status(v1alpha1.InventoryEntry{HeldSince: &at}), func(r *revisions.Record) { r.ReadySince = at.UTC() }, true},
		"UID":           {"another object", status(v1alpha1.InventoryEntry{}), func(r *revisions.Record) { r.UID = "v" }, false},
		"Action":        {"what was done first", status(v1alpha1.InventoryEntry{}), func(r *revisions.Record) { r.Action = revisions.ActionAdopted }, false},
		"Content":       {"other content was applied", status(v1alpha1.InventoryEntry{}), func(r *revisions.Record) { r.Content = "d" }, false},
		"Fields":        {"our fields are others", status(v1alpha1.InventoryEntry{}), func(r *revisions.Record) { r.Fields = "g" }, false},
		"State":         {"the object has another generation", status(v1alpha1.InventoryEntry{}), func(r *revisions.Record) { r.State = "2-a" }, false},
		"Values":        {"the manifest wants another value there", status(v1alpha1.InventoryEntry{}), func(r *revisions.Record) { r.ManifestValues = []string{"v"} }, false},
		"IgnoredFields": {"a field is left to another manager", status(v1alpha1.InventoryEntry{}), func(r *revisions.Record) { r.IgnoredFields = []string{".spec"} }, false},
		"Backoff":       {"it does not stay", status(v1alpha1.InventoryEntry{}), func(r *revisions.Record) { r.Backoff = &revisions.DriftBackoff{} }, false},
		"Completed":     {"it has completed", status(v1alpha1.InventoryEntry{}), func(r *revisions.Record) { r.Completed = true }, false},
		"Holding":       {"a probe holds now", status(v1alpha1.InventoryEntry{}), func(r *revisions.Record) { r.ReadySince = at.Time }, false},
		"NoLonger":      {"a probe no longer holds", status(v1alpha1.InventoryEntry{HeldSince: &at}), func(*revisions.Record) {}, false},
		"Finer":         {"a status has whole seconds", status(v1alpha1.InventoryEntry{HeldSince: &at}), func(r *revisions.Record) { r.ReadySince = at.Add(time.Millisecond) }, false},
		"NoRecords":     {"the status tells of more", status(v1alpha1.InventoryEntry{}), nil, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			records := map[revisions.ObjectID]revisions.Record{}
			if tc.change != nil {
				record := revisions.Record{UID: "u", Action: revisions.ActionCreated, Content: "c", Fields: "f"}
				tc.change(&record)
				records[ObjectID(tc.status.Inventory[0].ObjectReference)] = record
			}
			if got := HasRecords(tc.status, records); got != tc.want {
				t.Errorf("%s: the status holds the records: %t", tc.reason, got)
			}
		})
	}
}

func TestLoadRevision_UnmanagedAndReplaced(t *testing.T) {
	spec := v1alpha1.Object{UnmanagedFields: []string{".spec.replicas", ".spec.template.spec.containers[name=main].image"}, OnImmutableChange: v1alpha1.ImmutableReplace}
	object, err := loadOne(t, deployment(), spec, v1alpha1.Phase{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, path := range object.Unmanaged {
		paths = append(paths, path.String())
	}
	if diff := cmp.Diff(spec.UnmanagedFields, paths); diff != "" || !object.Replace {
		t.Errorf("replace %t, unmanaged fields (-want +got):\n%s", object.Replace, diff)
	}
	if object, err = loadOne(t, deployment(), v1alpha1.Object{OnImmutableChange: v1alpha1.ImmutableRefuse}, v1alpha1.Phase{}, nil); err != nil || object.Replace {
		t.Errorf("error %v, replace %t; want to be refused", err, object.Replace)
	}

	object, err = loadOne(t, deployment(), v1alpha1.Object{ExclusiveFields: []string{".spec.template"}, UpdatePhase: "later"}, v1alpha1.Phase{}, nil)
	if err != nil || len(object.Exclusive) != 1 || object.Exclusive[0].String() != ".spec.template" || object.UpdatePhase != "later" {
		t.Errorf("error %v, exclusive %v, update phase %q", err, object.Exclusive, object.UpdatePhase)
	}

	back := raw(`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "b"}}`)
	back.UpdatePhase = "later"
	loaded, err := LoadRevision(t.Context(), &fakeSlices{}, &v1alpha1.Revision{Spec: v1alpha1.RevisionSpec{
		Revision: 3, Phases: []v1alpha1.Phase{{Name: "plane", Objects: []v1alpha1.Object{back}}, {Name: "later"}},
		Origin: &v1alpha1.Origin{Kind: v1alpha1.OriginRollback},
	}})
	if err != nil || loaded.Phases[0].Objects[0].UpdatePhase != "" {
		t.Errorf("error %v; what a rollback brings back has proved itself: %+v", err, loaded.Phases)
	}

	_, err = loadOne(t, deployment(), v1alpha1.Object{UnmanagedFields: []string{".spec.replicas", ".spec[x"}}, v1alpha1.Phase{}, nil)
	var invalid *InvalidError
	if !errors.As(err, &invalid) || !strings.HasPrefix(err.Error(), "spec.phases[0].objects[0].unmanagedFields[1]: ") {
		t.Errorf("a path that cannot be read gives %v, want an InvalidError that names the field", err)
	}
}

// A revision that does not tell its digest has the one that a front would give it.
func TestDigestOf(t *testing.T) {
	revision, slices := packed(t, configMap("a", "1"), configMap("b", strings.Repeat("x", InlineLimit)))
	recorded := revision.Spec.ContentDigest
	revision.Spec.ContentDigest = ""
	got, err := DigestOf(t.Context(), slices, revision)
	if err != nil || got != recorded {
		t.Errorf("the digest is %s, error %v; want %s", got, err, recorded)
	}
	revision.Spec.Phases[0].Objects[0].UnmanagedFields = []string{".data.value"}
	if other, err := DigestOf(t.Context(), slices, revision); err != nil || other == recorded {
		t.Errorf("other content has the same digest, error %v", err)
	}
	revision.Spec.Phases[0].Objects[0] = v1alpha1.Object{Slice: &v1alpha1.SliceReference{Name: "sha256-missing"}}
	var unavailable *UnavailableError
	if _, err := DigestOf(t.Context(), slices, revision); !errors.As(err, &unavailable) {
		t.Errorf("content that is missing gives %v", err)
	}
	revision.Spec.ContentDigest = recorded
	if got, err := DigestOf(t.Context(), slices, revision); err != nil || got != recorded {
		t.Errorf("a digest that stands in the spec is %s, error %v; want it unread", got, err)
	}
}
