// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/strata-run/strata/internal/check/diff"
	"github.com/strata-run/strata/revisions/probes"
)

// difference is one value that is another one than it is wanted to be.
type difference struct {
	path    string
	was, is any
}

// text says what differs, without the values of a Secret.
func (d *difference) text(secret bool) string {
	if secret {
		return d.path + " cannot be changed"
	}
	return fmt.Sprintf("%s cannot be changed: it is %s and would be %s", d.path, valueText(d.was), valueText(d.is))
}

func valueText(value any) string {
	const most, mark = 200, "…"
	if value == nil {
		return "unset"
	}
	data, err := json.Marshal(value)
	if err != nil {
		return "a value that cannot be written"
	}
	return probes.Cut(string(data), most+len(mark), mark)
}

// comparer finds the first difference of a wanted value from the live one, nil
// when there is none.
type comparer func(path string, is, was any) *difference

// exact wants the whole value to be equal. It is for fields in which an API server
// sets nothing by itself.
func exact(path string, is, was any) *difference {
	return walk(path, is, was, true)
}

// partial wants what is set to be equal, whatever the API server has added.
func partial(path string, is, was any) *difference {
	return walk(path, is, was, false)
}

// first compares the first entries of two lists.
func first(path string, is, was any) *difference {
	wanted, _ := is.([]any)
	live, _ := was.([]any)
	if len(wanted) == 0 || len(live) == 0 {
		return nil
	}
	return walk(path+"[0]", wanted[0], live[0], true)
}

// shrunk finds a quantity that is smaller than before.
func shrunk(path string, is, was any) *difference {
	wanted, live, ok := quantities(is, was)
	if !ok || wanted.Cmp(live) >= 0 {
		return nil
	}
	return &difference{path: path, was: was, is: is}
}

// text compares plain text with the live value in base64.
func text(path string, is, was any) *difference {
	wanted, _ := is.(map[string]any)
	live, _ := was.(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		plain, _ := wanted[key].(string)
		if live[key] != base64.StdEncoding.EncodeToString([]byte(plain)) {
			return &difference{path: path + probes.FieldStep(key)}
		}
	}
	return nil
}

// but compares objects without some of their fields.
func but(compare comparer, fields ...string) comparer {
	return func(path string, is, was any) *difference {
		wanted, ok := is.(map[string]any)
		if !ok {
			return nil
		}
		rest := maps.Clone(wanted)
		maps.DeleteFunc(rest, func(name string, _ any) bool { return slices.Contains(fields, name) })
		return compare(path, rest, was)
	}
}

// walk finds the first change that an API server would not have made by itself.
func walk(path string, is, was any, whole bool) *difference {
	for _, change := range diff.Values(was, is) {
		added := change.After == nil && !change.IsEntry
		if isNothing(change.Before) && isNothing(change.After) || !whole && (added || sameQuantity(change.After, change.Before)) {
			continue
		}
		return &difference{path: path + strings.TrimSuffix(change.Path, "."), was: change.Before, is: change.After}
	}
	return nil
}

// isNothing says whether a value is none, or one that an API server may leave out.
func isNothing(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	default:
		return v == "" || v == false || v == int64(0) || v == float64(0)
	}
}

// sameQuantity says whether two values are one quantity, such as 1000m and 1.
func sameQuantity(is, was any) bool {
	wanted, live, ok := quantities(is, was)
	return ok && wanted.Cmp(live) == 0
}

// quantities reads two values as quantities.
func quantities(is, was any) (wanted, live resource.Quantity, ok bool) {
	wanted, wantedErr := resource.ParseQuantity(fmt.Sprint(is))
	live, liveErr := resource.ParseQuantity(fmt.Sprint(was))
	return wanted, live, wantedErr == nil && liveErr == nil
}
