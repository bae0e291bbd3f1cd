// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisionstest

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-run/strata/revisions"
)

const (
	applied = "Apply"
	updated = "Update"
)

// manager is who owns which fields.
type manager struct {
	name, operation string
	version, time   string
	fields          map[path]bool
}

// stored is an object with the managers of its fields.
type stored struct {
	object   *unstructured.Unstructured
	managers []manager
}

func (s *stored) clone() *stored {
	next := &stored{object: s.object.DeepCopy(), managers: slices.Clone(s.managers)}
	for i := range next.managers {
		next.managers[i].fields = maps.Clone(next.managers[i].fields)
	}
	return next
}

// manager is the entry of a name and operation, which is added if need be.
func (s *stored) manager(name, operation string) *manager {
	for i := range s.managers {
		if s.managers[i].name == name && s.managers[i].operation == operation {
			return &s.managers[i]
		}
	}
	s.managers = append(s.managers, manager{name: name, operation: operation, fields: map[path]bool{}})
	return &s.managers[len(s.managers)-1]
}

// owned says whether anyone but the manager given owns a field.
func (s *stored) ownedByOthers(p path, name, operation string) bool {
	return slices.ContainsFunc(s.managers, func(m manager) bool {
		return (m.name != name || m.operation != operation) && m.fields[p]
	})
}

// disown takes a field from everybody but the manager given.
func (s *stored) disown(p path, name, operation string) {
	for i := range s.managers {
		if s.managers[i].name != name || s.managers[i].operation != operation {
			delete(s.managers[i].fields, p)
		}
	}
}

// settle drops the managers that own nothing any more and metadata that is empty,
// and does what the API server does to a Secret and a Namespace.
func (s *stored) settle() {
	s.dropEmpty()
	s.managers = slices.DeleteFunc(s.managers, func(m manager) bool { return len(m.fields) == 0 })
	if revisions.IDOf(s.object).GroupKind == namespaceKind {
		set(s.object.Object, "f:metadata\nf:labels\nf:kubernetes.io/metadata.name", s.object.GetName())
		set(s.object.Object, "f:spec\nf:finalizers", []any{"kubernetes"})
	}
	if s.object.GetKind() != "Secret" || s.object.GetAPIVersion() != "v1" {
		return
	}
	text, _ := s.object.Object["stringData"].(map[string]any)
	for key, value := range text {
		plain, _ := value.(string)
		set(s.object.Object, path("f:data\nf:"+key), base64.StdEncoding.EncodeToString([]byte(plain)))
	}
	delete(s.object.Object, "stringData")
}

// dropEmpty drops the metadata that is empty.
func (s *stored) dropEmpty() {
	metadata, _ := s.object.Object["metadata"].(map[string]any)
	maps.DeleteFunc(metadata, func(_ string, value any) bool {
		fields, isMap := value.(map[string]any)
		list, isList := value.([]any)
		return isMap && len(fields) == 0 || isList && len(list) == 0
	})
}

// render is the object as an API server sends it.
func (s *stored) render() *unstructured.Unstructured {
	object := s.object.DeepCopy()
	entries := make([]any, 0, len(s.managers))
	for _, m := range s.managers {
		entry := map[string]any{
			"manager": m.name, "operation": m.operation, "apiVersion": m.version,
			"fieldsType": "FieldsV1", "fieldsV1": encode(m.fields),
		}
		if m.time != "" {
			entry["time"] = m.time
		}
		if name, subresource, found := strings.Cut(m.name, "/"); found {
			entry["manager"], entry["subresource"] = name, subresource
		}
		entries = append(entries, entry)
	}
	if len(entries) > 0 {
		set(object.Object, "f:metadata\nf:managedFields", entries)
	}
	return object
}

// takeManagers replaces the managers by what a request brings. What an API server
// does not take changes nothing; a list of empty entries wipes them.
func (s *stored) takeManagers(value any) {
	entries, ok := value.([]any)
	if !ok {
		return
	}
	var managers []manager
	for _, item := range entries {
		entry, _ := item.(map[string]any)
		if len(entry) == 0 {
			continue
		}
		fields, _ := entry["fieldsV1"].(map[string]any)
		if entry["fieldsType"] != "FieldsV1" {
			return
		}
		text := func(field string) string { value, _ := entry[field].(string); return value }
		name := text("manager")
		if subresource := text("subresource"); subresource != "" {
			name += "/" + subresource
		}
		managers = append(managers, manager{
			name: name, operation: text("operation"), version: text("apiVersion"), time: text("time"), fields: decode(fields),
		})
	}
	s.managers = managers
}
