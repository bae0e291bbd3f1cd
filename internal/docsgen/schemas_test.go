// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"reflect"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type inlined struct {
	Inner string `json:"inner"`
}

type sample struct {
	metav1.TypeMeta `json:",inline"`
	inlined         `json:",inline"`

	Name   string            `json:"name"`
	When   *metav1.Time      `json:"when,omitempty"`
	Counts map[string]int64  `json:"counts,omitempty"`
	List   []sampleItem      `json:"list"`
	Any    any               `json:"any,omitempty"`
	Raw    []byte            `json:"raw,omitempty"`
	Hidden string            `json:"-"`
	Again  *sampleItem       `json:"again,omitempty"`
	Labels map[string]string `json:"labels,omitzero"`
}

type sampleItem struct {
	Next []sampleItem `json:"next,omitempty"`
}

func TestSchemaPages(t *testing.T) {
	pages, err := schemaPages(fstest.MapFS{}, "v9", map[string]any{"Sample": sample{}})
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(pages["schemas/Sample.json"]), &got); err != nil {
		t.Fatal(err)
	}
	item := map[string]any{"$ref": "#/$defs/sampleItem"}
	want := map[string]any{
		"$schema": dialect, "title": "Sample", "type": "object",
		"required": []any{"apiVersion", "kind", "inner", "list", "name"},
		"properties": map[string]any{
			"apiVersion": map[string]any{"const": "v9"}, "kind": map[string]any{"const": "Sample"},
			"inner": map[string]any{"type": "string"}, "name": map[string]any{"type": "string"},
			"when":   map[string]any{"type": "string", "format": "date-time"},
			"counts": map[string]any{"type": "object", "additionalProperties": map[string]any{"type": "integer"}},
			"list":   map[string]any{"type": "array", "items": item}, "any": map[string]any{},
			"raw":   map[string]any{"type": "string", "contentEncoding": "base64"},
			"again": item, "labels": map[string]any{"type": "object", "additionalProperties": map[string]any{"type": "string"}},
		},
		"$defs": map[string]any{"sampleItem": map[string]any{
			"type": "object", "properties": map[string]any{"next": map[string]any{"type": "array", "items": item}},
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

func TestSchemaPages_RefusesWhatHasNoForm(t *testing.T) {
	type nameless struct{ Field string }
	type channel struct {
		Field chan int `json:"field"`
	}
	for _, document := range []any{nameless{}, channel{}} {
		if _, err := schemaPages(fstest.MapFS{}, "v9", map[string]any{"Sample": document}); err == nil {
			t.Errorf("%T was described", document)
		}
	}
}

func TestComments(t *testing.T) {
	root := fstest.MapFS{"internal/docsgen/a.go": {Data: []byte(`package main

// sampleItem is an item
// of a list.
//
// More of it.
type sampleItem struct {
	// Next are those that
	// follow.
	// +optional
	Next []sampleItem
}
`)}}
	got, err := comments{root: root, packages: map[string]map[string]typeComment{}}.of(reflect.TypeFor[sampleItem]())
	if err != nil {
		t.Fatal(err)
	}
	if got.text != "sampleItem is an item of a list." || got.fields["Next"] != "Next are those that follow." {
		t.Errorf("got %+v", got)
	}
}
