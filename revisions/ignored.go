// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-run/strata/revisions/probes"
)

// stillIgnored are the fields of the manifest that go on to be ignored, and
// those that are reclaimed: a field is ignored only while a manager has it that it may be left
// to, and while the manifest wants the value there that it wanted when it was first ignored.
func (t *task) stillIgnored(current *unstructured.Unstructured) (ignored, reclaimed []string) {
	in := &t.input
	if !in.isRecorded() {
		return nil, nil
	}
	values := t.object.prepared.valuesOf(in.Record.IgnoredFields)
	for i, field := range in.Record.IgnoredFields {
		changed := i < len(in.Record.ManifestValues) && in.Record.ManifestValues[i] != values[i]
		if changed || !t.isOwnedByOther(current, field) {
			reclaimed = append(reclaimed, field)
		} else {
			ignored = append(ignored, field)
		}
	}
	return ignored, reclaimed
}

// isRecorded says whether the object is the one that is on record.
func (in *decisionInput) isRecorded() bool {
	return in.Current != nil && in.Record != nil && in.Record.UID == in.Current.UID
}

// ignoredInContent are the fields that count for whether the content is new: of an object that is
// gone, those that were left out when it was applied last.
func (t *task) ignoredInContent() []string {
	if in := &t.input; !in.isRecorded() && in.Record != nil {
		return in.Record.IgnoredFields
	}
	return t.ignored
}

// isOwnedByOther says whether a manager has a field that it may be left to. After managedFields were
// wiped this is not known, and it is left as it is.
func (t *task) isOwnedByOther(current *unstructured.Unstructured, field string) bool {
	if t.input.Current.Fields == "" {
		return true
	}
	for _, entry := range managedEntries(current) {
		if entry.isOf(t.input.Owner.manager()) || entry.subresource == "status" {
			continue
		}
		holder := ConflictingManager{Manager: entry.manager, Operation: entry.operation, Subresource: entry.subresource}
		if entry.manager != unknownManagers && !isIgnorable(t.object.prepared.kind.GroupKind(), holder, field) {
			continue
		}
		owned := false
		for path := range entry.fields().Leaves().All() { // which must not be left early
			owned = owned || textOf(path) == field
		}
		if owned {
			return true
		}
	}
	return false
}

// valuesOf are short digests of what the manifest sets in fields; empty for a field that it
// does not set.
func (p *prepared) valuesOf(fields []string) []string {
	if len(fields) == 0 {
		return nil
	}
	values := make([]string, len(fields))
	for i, field := range fields {
		path, err := probes.ParsePath(field)
		if err != nil {
			continue
		}
		if value, set := path.Lookup(p.manifest); set {
			if data, err := json.Marshal(value); err == nil {
				values[i] = shortDigest(string(data))
			}
		}
	}
	return values
}

// ignoredFields are those that are left to other managers from now on. What is reclaimed is
// applied once before it may be ignored again.
func (t *task) ignoredFields() []string {
	more := ignorableFields(t.object.prepared.kind.GroupKind(), t.input.Conflicting)
	more = slices.DeleteFunc(more, func(field string) bool { return slices.Contains(t.reclaimed, field) })
	if len(more) == 0 {
		return t.ignored
	}
	all := slices.Concat(t.ignored, more)
	slices.Sort(all)
	return slices.Compact(all)
}
