// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisionstest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
)

// path names a field as managedFields do, its steps joined by newlines: "f:name"
// for a field, `k:{"uid":"..."}` for an entry of a list with keys.
type path string

// leaves are the fields of an object that can be owned, with their values. As
// without a schema, every list is owned as a whole but for owner references.
type leaves map[path]any

// serverOnly are the metadata fields that have no manager. Finalizers are owned one by
// one by an API server, and not at all here.
var serverOnly = []string{
	"finalizers", "name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "managedFields",
	"deletionTimestamp", "deletionGracePeriodSeconds", "generateName", "selfLink",
}

// leavesOf lists the fields of an object, without its status.
func leavesOf(content map[string]any) leaves {
	found := leaves{}
	for name, value := range content {
		switch name {
		case "apiVersion", "kind", "status":
		case "metadata":
			fields, _ := value.(map[string]any)
			for field, value := range fields {
				if !slices.Contains(serverOnly, field) {
					found.add("f:metadata\nf:"+path(field), value)
				}
			}
		default:
			found.add("f:"+path(name), value)
		}
	}
	return found
}

func (l leaves) add(at path, value any) {
	fields, isMap := value.(map[string]any)
	references, isList := value.([]any)
	switch {
	case isMap && len(fields) > 0:
		for name, value := range fields {
			l.add(at+"\nf:"+path(name), value)
		}
	case isList && at == "f:metadata\nf:ownerReferences":
		for _, item := range references {
			if reference, ok := item.(map[string]any); ok {
				l[at+"\nk:"+path(fmt.Sprintf(`{"uid":%q}`, reference["uid"]))] = item
			}
		}
	default:
		l[at] = value
	}
}

// names are the paths in order.
func (l leaves) names() []path { return slices.Sorted(maps.Keys(l)) }

// steps takes a path apart.
func (p path) steps() []string { return strings.Split(string(p), "\n") }

// String is the path as people write it.
func (p path) String() string {
	return strings.ReplaceAll(strings.TrimPrefix(string(p), "f:"), "\nf:", ".")
}

// encode is a set of fields as a managedFields entry holds it.
func encode(fields map[path]bool) map[string]any {
	root := map[string]any{}
	for p := range fields {
		at := root
		for _, step := range p.steps() {
			next, ok := at[step].(map[string]any)
			if !ok {
				next = map[string]any{}
				at[step] = next
			}
			at = next
		}
	}
	return root
}

// decode is the opposite of encode.
func decode(root map[string]any) map[path]bool {
	fields := map[path]bool{}
	var walk func(at []string, node map[string]any)
	walk = func(at []string, node map[string]any) {
		if len(node) == 0 && len(at) > 0 {
			fields[path(strings.Join(at, "\n"))] = true
		}
		for step, value := range node {
			if next, ok := value.(map[string]any); ok && step != "." {
				walk(append(slices.Clone(at), step), next)
			}
		}
	}
	walk(nil, root)
	return fields
}

// set puts a value into an object.
func set(content map[string]any, p path, value any) {
	steps := p.steps()
	for i, step := range steps[:len(steps)-1] {
		name := strings.TrimPrefix(step, "f:")
		if strings.HasPrefix(steps[i+1], "k:") {
			list, _ := content[name].([]any)
			content[name] = append(withoutUID(list, steps[i+1]), value)
			return
		}
		next, ok := content[name].(map[string]any)
		if !ok {
			next = map[string]any{}
			content[name] = next
		}
		content = next
	}
	name := strings.TrimPrefix(steps[len(steps)-1], "f:")
	if empty, ok := value.(map[string]any); ok && len(empty) == 0 {
		// An empty map says nothing about what is in it.
		if _, isMap := content[name].(map[string]any); isMap {
			return
		}
	}
	content[name] = value
}

// unset takes a field out of an object, and the maps that are empty without it.
func unset(content map[string]any, p path) {
	steps := p.steps()
	name := strings.TrimPrefix(steps[0], "f:")
	switch next := content[name].(type) {
	case map[string]any:
		if len(steps) > 1 {
			unset(next, path(strings.Join(steps[1:], "\n")))
			if len(next) == 0 {
				delete(content, name)
			}
			return
		}
	case []any:
		if len(steps) > 1 {
			left := withoutUID(next, steps[1])
			if content[name] = left; len(left) == 0 {
				delete(content, name)
			}
			return
		}
	}
	if len(steps) == 1 {
		delete(content, name)
	}
}

func withoutUID(list []any, step string) []any {
	var key map[string]any
	if err := json.Unmarshal([]byte(strings.TrimPrefix(step, "k:")), &key); err != nil {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(item any) bool {
		reference, _ := item.(map[string]any)
		return reference["uid"] == key["uid"]
	})
}

func equal(a, b any) bool { return equality.Semantic.DeepEqual(a, b) }
