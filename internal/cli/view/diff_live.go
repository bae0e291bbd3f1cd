// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/check/diff"
	"github.com/strata-run/strata/internal/check/plan"
	"github.com/strata-run/strata/revisions"
)

// Differences from the cluster.
const (
	// differenceDrifted: an apply would change fields.
	differenceDrifted = "Drifted"
	// differenceMissing: it does not exist.
	differenceMissing = "Missing"
	// differenceCollides: it exists and has another owner.
	differenceCollides = "Collides"
	// differenceUnknown: it could not be read or tried out.
	differenceUnknown = "Unknown"
	// DifferenceForeign: other managers have set fields that the revision does not contain.
	DifferenceForeign = "Foreign"
)

const mostForeign = 16

// DriftOf is how one object differs from the cluster.
func DriftOf(tried *plan.Tried, o Comparison, revision int64) (DiffObject, error) {
	result := &tried.Result
	object := DiffObject{Phase: tried.Phase, ObjectReference: v1alpha1.ObjectReference{
		Group: result.ID.Group, Version: result.Version, Kind: result.ID.Kind, Namespace: result.ID.Namespace, Name: result.ID.Name,
	}}
	if object.Difference, object.Message = lookOf(tried); object.Difference != "" && object.Difference != differenceMissing {
		return object, nil
	}
	err := compareLive(&object, tried, o, revision)
	addExcess(&object, result.Excess)
	return object, err
}

// addExcess adds what other managers have at or below exclusive fields: a dry run cannot
// show that it is removed, as that takes two requests.
func addExcess(object *DiffObject, excess []revisions.ConflictingManager) {
	for _, manager := range excess {
		for _, field := range manager.Fields {
			object.Difference = differenceDrifted
			object.Fields = append(object.Fields, DiffField{Change: diff.Change{Path: field, After: "<exceeds the manifest>"}, ChangedBy: manager.Manager})
		}
	}
	if len(excess) > 0 {
		object.NotOurs = withoutChanged(object.NotOurs, object.Fields)
	}
}

// lookOf is what can be said of an object without comparing it. One that cannot be tried
// out does not keep the others from being compared.
func lookOf(tried *plan.Tried) (difference, message string) {
	result := &tried.Result
	switch {
	case result.Err != nil:
		return differenceUnknown, result.Err.Error()
	case result.Action == revisions.ActionCollision:
		return differenceCollides, result.Reason
	case tried.Live == nil:
		return differenceMissing, result.Waiting
	case result.Waiting != "" && tried.Applied == nil:
		return differenceUnknown, result.Waiting
	}
	return "", ""
}

func compareLive(object *DiffObject, tried *plan.Tried, o Comparison, revision int64) error {
	managers := []diff.Manager{}
	if tried.Live != nil {
		managers = diff.Managers(tried.Live)
		object.NotOurs = foreignFields(managers)
	}
	if tried.Applied == nil {
		if len(object.NotOurs) > 0 {
			object.Difference = DifferenceForeign
		}
		return nil
	}
	names := [2]string{fmt.Sprintf("revision %d", revision), "live"}
	before, after := []diff.Object{{Manifest: withoutServerFields(tried.Applied)}}, []diff.Object{}
	if tried.Live != nil {
		after = append(after, diff.Object{Manifest: withoutServerFields(tried.Live)})
	}
	for _, d := range diff.Contents(before, after, diff.Options{Ignore: o.Ignore, ShowSecrets: o.ShowSecrets, KeepNames: true}).Differences {
		if object.Difference == "" {
			object.Difference = differenceDrifted
		}
		for _, change := range d.Changes {
			object.Fields = append(object.Fields, DiffField{Change: change, ChangedBy: whoHas(managers, change.Path)})
		}
		var err error
		if object.Unified, err = unifiedOf(d, names, o); err != nil {
			return err
		}
	}
	object.NotOurs = withoutChanged(object.NotOurs, object.Fields)
	if object.Difference == "" && len(object.NotOurs) > 0 {
		object.Difference = DifferenceForeign
	}
	return nil
}

// withoutChanged leaves out what is shown as a change of a field of ours.
func withoutChanged(foreign []ForeignFields, changed []DiffField) []ForeignFields {
	var rest []ForeignFields
	for _, f := range foreign {
		before := len(f.Fields)
		f.Fields = slices.DeleteFunc(f.Fields, func(field string) bool {
			return slices.ContainsFunc(changed, func(c DiffField) bool { return c.Path == field })
		})
		if f.Count -= before - len(f.Fields); f.Count > 0 {
			rest = append(rest, f)
		}
	}
	return rest
}

var serverFields = []string{"managedFields", "resourceVersion", "generation", "uid", "creationTimestamp", "selfLink"}

// withoutServerFields is an object without what no manifest says.
func withoutServerFields(object *unstructured.Unstructured) *unstructured.Unstructured {
	stripped := &unstructured.Unstructured{Object: maps.Clone(object.Object)}
	delete(stripped.Object, "status")
	if metadata, ok := stripped.Object["metadata"].(map[string]any); ok {
		metadata = maps.Clone(metadata)
		for _, name := range serverFields {
			delete(metadata, name)
		}
		stripped.Object["metadata"] = metadata
	}
	return stripped
}

func isOurs(m diff.Manager) bool { return m.Name == v1alpha1.FieldOwner && m.Operation == "Apply" }

// whoHas is the field manager that has a field: of several other managers the one that
// wrote last; the engine itself when no other manager has it, as another revision has
// set it then; empty when no manager has it.
func whoHas(managers []diff.Manager, path string) string {
	name := ""
	var last *diff.Manager
	for i := range managers {
		m := &managers[i]
		switch {
		case m.Subresource == "status" || !m.Has(path):
		case isOurs(*m) && last == nil:
			name = m.Name
		case isOurs(*m):
		case last == nil || m.Time != nil && (last.Time == nil || last.Time.Before(m.Time)):
			last, name = m, m.Name
		}
	}
	return name
}

// foreignFields are the fields that other managers have, and we have not.
func foreignFields(managers []diff.Manager) []ForeignFields {
	ours := map[string]bool{}
	for _, m := range managers {
		if isOurs(m) {
			for _, field := range m.Fields {
				ours[field] = true
			}
		}
	}
	var all []ForeignFields
	for _, m := range managers {
		if isOurs(m) || m.Subresource == "status" {
			continue
		}
		fields := slices.DeleteFunc(slices.Clone(m.Fields), func(field string) bool { return ours[field] || strings.HasPrefix(field, ".status") })
		if len(fields) > 0 {
			all = append(all, ForeignFields{Manager: m.Name, Fields: fields[:min(len(fields), mostForeign)], Count: len(fields)})
		}
	}
	return all
}
