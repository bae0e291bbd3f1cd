// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package servicemesh

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// tree is a document as it is decoded from JSON: maps, lists, strings, int64, float64, bool.
type tree = map[string]any

// at is the map at a path, which is made where it is missing.
func at(root tree, path ...string) tree {
	for _, key := range path {
		next, ok := root[key].(tree)
		if !ok {
			next = tree{}
			root[key] = next
		}
		root = next
	}
	return root
}

// put sets the value at a path.
func put(root tree, value any, path ...string) {
	last := len(path) - 1
	at(root, path[:last]...)[path[last]] = value
}

// entry is the named map in the list at a path, which is added where it is missing.
func entry(root tree, name string, path ...string) tree {
	last := len(path) - 1
	parent := at(root, path[:last]...)
	list, _ := parent[path[last]].([]any)
	for _, item := range list {
		if m, ok := item.(tree); ok && m["name"] == name {
			return m
		}
	}
	added := tree{"name": name}
	parent[path[last]] = append(list, added)
	return added
}

// overlay is base with over laid over it: maps are merged, null takes away, and of two lists
// of named things those of the same name are merged. Anything else of over takes the place
// of what base has. Neither is changed.
func overlay(base, over tree) tree {
	merged := maps.Clone(base)
	if merged == nil {
		merged = tree{}
	}
	for key, value := range over {
		switch value := value.(type) {
		case nil:
			delete(merged, key)
		case tree:
			under, _ := merged[key].(tree)
			merged[key] = overlay(under, value)
		case []any:
			under, _ := merged[key].([]any)
			merged[key] = overlayList(under, value)
		default:
			merged[key] = value
		}
	}
	return merged
}

// overlayList merges named things, and is over where not all are named.
func overlayList(base, over []any) []any {
	below, ok := byName(base)
	above, alsoOK := byName(over)
	if !ok || !alsoOK || len(base) == 0 {
		return over
	}
	merged := slices.Clone(base)
	for _, item := range above {
		i := slices.IndexFunc(below, func(b tree) bool { return b["name"] == item["name"] })
		if i < 0 {
			merged = append(merged, item)
			continue
		}
		merged[i] = overlay(below[i], item)
	}
	return merged
}

// byName are the items of a list, if all of them have a name.
func byName(list []any) ([]tree, bool) {
	items := make([]tree, 0, len(list))
	for _, item := range list {
		m, ok := item.(tree)
		if name, _ := m["name"].(string); !ok || name == "" {
			return nil, false
		}
		items = append(items, m)
	}
	return items, true
}

// treeOf is a value as its JSON says.
func treeOf(value any) (tree, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encoding: %w", err)
	}
	t := tree{}
	if err := utiljson.Unmarshal(data, &t); err != nil {
		return nil, fmt.Errorf("decoding: %w", err)
	}
	return t, nil
}
