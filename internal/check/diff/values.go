// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/strata-run/strata/revisions/probes"
)

// Change is a field that differs.
type Change struct {
	// Path names the field, such as .spec.template.spec.containers[name=main].image.
	Path string `json:"path"`
	// Before is its value before; unset when it was not there.
	Before any `json:"before,omitempty"`
	// After is its value after; unset when it is gone.
	After any `json:"after,omitempty"`
	// IsEntry is true for an entry of a list that only one side has.
	IsEntry bool `json:"-"`
}

// absent is the value of a field that is not there.
type absent struct{}

// Values are the differences of two values, in the order of their paths. Each is as
// deep as it can be: where one side has no field at all, the field is one change.
func Values(before, after any) []Change {
	var changes []Change
	walk("", before, after, &changes)
	for i := range changes {
		for _, side := range []*any{&changes[i].Before, &changes[i].After} {
			if _, none := (*side).(absent); none {
				*side = nil
			}
		}
	}
	return changes
}

func walk(path string, before, after any, changes *[]Change) {
	switch was := before.(type) {
	case map[string]any:
		if is, ok := after.(map[string]any); ok {
			walkMaps(path, was, is, changes)
			return
		}
	case []any:
		if is, ok := after.([]any); ok {
			walkLists(path, was, is, changes)
			return
		}
	}
	if !same(before, after) {
		*changes = append(*changes, Change{Path: cmp.Or(path, "."), Before: before, After: after})
	}
}

// same says whether two values are equal. A number may have two types.
func same(a, b any) bool {
	if equality.Semantic.DeepEqual(a, b) {
		return true
	}
	return isNumber(a) && isNumber(b) && fmt.Sprint(a) == fmt.Sprint(b)
}

func isNumber(value any) bool {
	switch value.(type) {
	case int64, float64, int, json.Number:
		return true
	}
	return false
}

func walkMaps(path string, was, is map[string]any, changes *[]Change) {
	keys := slices.Collect(maps.Keys(was))
	for key := range is {
		if _, both := was[key]; !both {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		walk(path+probes.FieldStep(key), valueOf(was, key), valueOf(is, key), changes)
	}
}

func valueOf(fields map[string]any, key string) any {
	if value, ok := fields[key]; ok {
		return value
	}
	return absent{}
}

// listKeys are fields that may identify the entries of a list, the surest first.
var listKeys = [][]string{
	{"kind", "namespace", "name"}, {"kind", "name"}, {"name"}, {"containerPort", "protocol"}, {"port", "protocol"}, {"containerPort"}, {"port"},
	{"mountPath"}, {"key"}, {"type"}, {"ip"}, {"uid"}, {"topologyKey", "whenUnsatisfiable"}, {"host"}, {"path"},
}

func walkLists(path string, was, is []any, changes *[]Change) {
	for _, keys := range listKeys {
		before, ok := byKey(was, keys)
		if !ok {
			continue
		}
		after, ok := byKey(is, keys)
		if !ok || len(before.order)+len(after.order) == 0 {
			continue
		}
		walkKeyed(path, before, after, changes)
		return
	}
	walkUnkeyed(path, was, is, changes)
}

// keyed is a list whose entries have a key.
type keyed struct {
	order   []string
	entries map[string]any
}

// byKey is a list by the text of its entries' keys, if each has them and no two have
// the same.
func byKey(list []any, keys []string) (keyed, bool) {
	k := keyed{entries: map[string]any{}}
	for _, entry := range list {
		fields, ok := entry.(map[string]any)
		if !ok {
			return k, false
		}
		named := map[string]any{}
		for _, key := range keys {
			switch value := fields[key].(type) {
			case string, int64, float64:
				named[key] = value
			default:
				return k, false
			}
		}
		text := probes.EntryStep(named)
		if _, twice := k.entries[text]; twice {
			return k, false
		}
		k.entries[text] = entry
		k.order = append(k.order, text)
	}
	return k, true
}

func walkKeyed(path string, before, after keyed, changes *[]Change) {
	found := len(*changes)
	for _, key := range before.order {
		at := path + key
		entry, both := after.entries[key]
		if !both {
			*changes = append(*changes, Change{Path: at, Before: before.entries[key], After: absent{}, IsEntry: true})
			continue
		}
		walk(at, before.entries[key], entry, changes)
	}
	for _, key := range after.order {
		if _, both := before.entries[key]; !both {
			*changes = append(*changes, Change{Path: path + key, Before: absent{}, After: after.entries[key], IsEntry: true})
		}
	}
	if len(*changes) == found && !slices.Equal(before.order, after.order) {
		// The order of containers or of environment variables has a meaning.
		*changes = append(*changes, Change{Path: path, Before: order(before.order), After: order(after.order)})
	}
}

// order is what is shown of a list whose entries are the same in another order.
func order(keys []string) []any {
	list := make([]any, len(keys))
	for i, key := range keys {
		list[i] = key[1 : len(key)-1] // without the brackets
	}
	return list
}

// walkUnkeyed compares lists whose entries have no names: what is equal and in order
// is left out, and of the rest one entry is compared with the other at its place.
func walkUnkeyed(path string, was, is []any, changes *[]Change) {
	for _, run := range runs(texts(was), texts(is)) {
		for n := range max(run.beforeLen, run.afterLen) {
			i, j := run.before+n, run.after+n
			switch {
			case n >= run.afterLen:
				*changes = append(*changes, Change{Path: fmt.Sprintf("%s[%d]", path, i), Before: was[i], After: absent{}, IsEntry: true})
			case n >= run.beforeLen:
				*changes = append(*changes, Change{Path: fmt.Sprintf("%s[%d]", path, j), Before: absent{}, After: is[j], IsEntry: true})
			default:
				walk(fmt.Sprintf("%s[%d]", path, j), was[i], is[j], changes)
			}
		}
	}
}

func texts(list []any) []string {
	all := make([]string, len(list))
	for i, entry := range list {
		if text, err := json.Marshal(entry); err == nil {
			all[i] = string(text)
		}
	}
	return all
}

// run is a stretch in which two lists differ.
type run struct{ before, beforeLen, after, afterLen int }

// mostAligned bounds the lists that are aligned, as that takes the product of their
// lengths. Longer ones are compared place by place.
const mostAligned = 1000

// runs are the stretches between the longest common subsequence of two lists.
func runs(was, is []string) []run {
	if len(was) > mostAligned || len(is) > mostAligned {
		return []run{{beforeLen: len(was), afterLen: len(is)}}
	}
	common := commonLengths(was, is)
	var all []run
	i, j := 0, 0
	for i < len(was) || j < len(is) {
		if i < len(was) && j < len(is) && was[i] == is[j] {
			i, j = i+1, j+1
			continue
		}
		if len(all) == 0 || all[len(all)-1].before+all[len(all)-1].beforeLen != i || all[len(all)-1].after+all[len(all)-1].afterLen != j {
			all = append(all, run{before: i, after: j})
		}
		last := &all[len(all)-1]
		if j == len(is) || i < len(was) && common[i+1][j] >= common[i][j+1] {
			i, last.beforeLen = i+1, last.beforeLen+1
		} else {
			j, last.afterLen = j+1, last.afterLen+1
		}
	}
	return all
}

// commonLengths are, for each pair of places, how many entries the two lists have in
// common from there on, in order.
func commonLengths(was, is []string) [][]int {
	common := make([][]int, len(was)+1)
	for i := range common {
		common[i] = make([]int, len(is)+1)
	}
	for i, left := range slices.Backward(was) {
		for j, right := range slices.Backward(is) {
			if left == right {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	return common
}
