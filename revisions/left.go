// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-run/strata/probes"
)

// leftFields are the fields of the manifest that go on to be left to other managers, and
// those that are taken back: a field is left only while a manager has it that it may be left
// to, and while the manifest wants the value there that it wanted when it was left.
func (t *task) leftFields(current *unstructured.Unstructured) (left, back []string) {
	q := &t.question
	if !q.isRecorded() {
		return nil, nil
	}
	values := t.object.prepared.valuesOf(q.Record.Yielded)
	for i, field := range q.Record.Yielded {
		changed := i < len(q.Record.ManifestValues) && q.Record.ManifestValues[i] != values[i]
		if changed || !t.isHeld(current, field) {
			back = append(back, field)
		} else {
			left = append(left, field)
		}
	}
	return left, back
}

// isRecorded says whether the object is the one that is on record.
func (q *Question) isRecorded() bool {
	return q.Current != nil && q.Record != nil && q.Record.UID == q.Current.UID
}

// leftOut are the fields that count for whether the content is new: of an object that is
// gone, those that were left out when it was applied last.
func (t *task) leftOut() []string {
	if q := &t.question; !q.isRecorded() && q.Record != nil {
		return q.Record.Yielded
	}
	return t.left
}

// isHeld says whether a manager has a field that it may be left to. After managedFields were
// wiped this is not known, and it is left as it is.
func (t *task) isHeld(current *unstructured.Unstructured, field string) bool {
	if t.question.Current.Fields == "" {
		return true
	}
	for _, entry := range managedEntries(current) {
		if entry.isOurs() || entry.subresource == "status" {
			continue
		}
		holder := Rival{Manager: entry.manager, Operation: entry.operation, Subresource: entry.subresource}
		if entry.manager != unknownManagers && !isYieldable(t.object.prepared.kind.GroupKind(), holder, field) {
			continue
		}
		held := false
		for path := range entry.fields().Leaves().All() { // which must not be left early
			held = held || textOf(path) == field
		}
		if held {
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

// yields are the fields that are left to others from now on. What is taken back is applied
// once before it may be left again.
func (t *task) yields() []string {
	more := yieldedTo(t.object.prepared.kind.GroupKind(), t.question.Rivals)
	more = slices.DeleteFunc(more, func(field string) bool { return slices.Contains(t.back, field) })
	if len(more) == 0 {
		return t.left
	}
	all := slices.Concat(t.left, more)
	slices.Sort(all)
	return slices.Compact(all)
}
