// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/revisions/probes"
)

// Manager is a field manager of an object.
type Manager struct {
	// Name is who it is, Operation Apply or Update, Subresource through which of them.
	Name, Operation, Subresource string
	// Time is when it wrote last.
	Time *metav1.Time
	// Fields are the paths of the fields that it has, sorted, the deepest only.
	Fields []string
}

// Managers are the field managers of an object, in the order of the object.
func Managers(object metav1.Object) []Manager {
	var managers []Manager
	for _, entry := range object.GetManagedFields() {
		m := Manager{Name: entry.Manager, Operation: string(entry.Operation), Subresource: entry.Subresource, Time: entry.Time}
		var fields map[string]any
		if entry.FieldsV1 != nil && json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields) == nil {
			collectFields("", fields, &m.Fields)
		}
		slices.Sort(m.Fields)
		managers = append(managers, m)
	}
	return managers
}

// Has says whether a manager has the field of a path, one inside of it, or the list or
// object that it is inside of.
func (m Manager) Has(path string) bool {
	return slices.ContainsFunc(m.Fields, func(own string) bool { return covers(own, path) || covers(path, own) })
}

// covers says whether a path is another one, or leads to it.
func covers(outer, inner string) bool {
	rest, ok := strings.CutPrefix(inner, outer)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// collectFields turns the fields of a managedFields entry into paths.
func collectFields(path string, fields map[string]any, paths *[]string) {
	leaf := true
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if key == "." {
			continue
		}
		leaf = false
		inner, _ := fields[key].(map[string]any)
		collectFields(path+managedStep(key), inner, paths)
	}
	if leaf && path != "" {
		*paths = append(*paths, path)
	}
}

// managedStep is one key of a managedFields entry as a step of a path.
func managedStep(key string) string {
	kind, text, _ := strings.Cut(key, ":")
	switch kind {
	case "f":
		return probes.FieldStep(text)
	case "k":
		var keys map[string]any
		if json.Unmarshal([]byte(text), &keys) != nil {
			return "[" + text + "]"
		}
		return probes.EntryStep(keys)
	case "v":
		var value any
		if json.Unmarshal([]byte(text), &value) == nil {
			return probes.EntryStep(map[string]any{"": value})
		}
	}
	return "[" + text + "]"
}
