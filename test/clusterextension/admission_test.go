// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// kindRows are the rows of testdata/admission.yaml about one kind. The file says what they mean.
type kindRows struct {
	Smallest map[string]any
	Fields   []struct {
		Field          string
		Accept, Refuse []any
		Because        string
		With           map[string]any
	}
	Changes []struct {
		Of, Change map[string]any
		Refused    string
	}
	Defaults map[string]any
}

func readRows(t *testing.T) map[string]kindRows {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "admission.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]kindRows{}
	if err := yaml.UnmarshalStrict(data, &rows); err != nil {
		t.Fatal(err)
	}
	return rows
}

// with is an object with other values at paths such as spec.namespace; null takes a field away.
func with(t *testing.T, object *unstructured.Unstructured, values map[string]any) *unstructured.Unstructured {
	t.Helper()
	object = object.DeepCopy()
	for path, value := range values {
		fields := strings.Split(path, ".")
		if value == nil {
			unstructured.RemoveNestedField(object.Object, fields...)
			continue
		}
		if err := unstructured.SetNestedField(object.Object, wholeNumbers(value), fields...); err != nil {
			t.Fatal(err)
		}
	}
	return object
}

// wholeNumbers are values as unstructured objects have them, and the long texts that rows only describe:
// "a*63" is 63 times a.
func wholeNumbers(value any) any {
	switch v := value.(type) {
	case float64:
		return int64(v)
	case string:
		var letter, rest string
		var times int
		if n, _ := fmt.Sscanf(strings.Replace(v, "*", " ", 1), "%1s %d%s", &letter, &times, &rest); n >= 2 && strings.HasPrefix(v, letter+"*") {
			return strings.Repeat(letter, times) + rest
		}
	case []any:
		for i := range v {
			v[i] = wholeNumbers(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = wholeNumbers(v[key])
		}
	}
	return value
}

func TestAdmission(t *testing.T) {
	for kind, rows := range readRows(t) {
		t.Run(kind, func(t *testing.T) {
			smallest := &unstructured.Unstructured{Object: wholeNumbers(maps.Clone(rows.Smallest)).(map[string]any)}
			if err := admin.Create(t.Context(), smallest.DeepCopy(), client.DryRunAll); err != nil {
				t.Fatalf("the smallest %s is refused: %v", kind, err)
			}
			for _, row := range rows.Fields {
				of := with(t, smallest, row.With)
				for _, value := range row.Accept {
					if err := tryCreate(t, of, row.Field, value); err != nil {
						t.Errorf("%s: %#v is refused: %v", row.Field, value, err)
					}
				}
				for _, value := range row.Refuse {
					err := tryCreate(t, of, row.Field, value)
					if !errors.IsInvalid(err) || row.Because == "" || !strings.Contains(err.Error(), row.Because) {
						t.Errorf("%s: %#v: the answer is %v, want a refusal with %q", row.Field, value, err, row.Because)
					}
				}
			}
			testChanges(t, smallest, rows)
			testDefaults(t, smallest, rows.Defaults)
		})
	}
}

func tryCreate(t *testing.T, of *unstructured.Unstructured, field string, value any) error {
	t.Helper()
	return admin.Create(t.Context(), with(t, of, map[string]any{field: value}), client.DryRunAll)
}

func testChanges(t *testing.T, smallest *unstructured.Unstructured, rows kindRows) {
	t.Helper()
	for i, row := range rows.Changes {
		before := with(t, smallest, row.Of)
		before.SetName(fmt.Sprintf("change-%d", i))
		if err := admin.Create(t.Context(), before); err != nil {
			t.Fatalf("change %v of %v: %v", row.Change, row.Of, err)
		}
		err := admin.Update(t.Context(), with(t, before, row.Change), client.DryRunAll)
		if row.Refused == "" && err != nil {
			t.Errorf("the change %v of %v is refused: %v", row.Change, row.Of, err)
		}
		if row.Refused != "" && (!errors.IsInvalid(err) || !strings.Contains(err.Error(), row.Refused)) {
			t.Errorf("the change %v of %v: the answer is %v, want a refusal with %q", row.Change, row.Of, err, row.Refused)
		}
		if err := admin.Delete(t.Context(), before); err != nil {
			t.Fatal(err)
		}
	}
}

func testDefaults(t *testing.T, smallest *unstructured.Unstructured, defaults map[string]any) {
	t.Helper()
	stored := smallest.DeepCopy()
	if err := admin.Create(t.Context(), stored, client.DryRunAll); err != nil {
		t.Fatal(err)
	}
	for path, want := range defaults {
		got, _, err := unstructured.NestedFieldNoCopy(stored.Object, strings.Split(path, ".")...)
		if err != nil || got != wholeNumbers(want) {
			t.Errorf("%s is stored as %v, want %v (%v)", path, got, want, err)
		}
	}
}
