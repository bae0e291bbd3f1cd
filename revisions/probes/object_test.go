// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// object reads a manifest the way a client does, with int64 and float64 numbers.
func object(t testing.TB, manifest string) *unstructured.Unstructured {
	t.Helper()
	text, err := yaml.YAMLToJSON([]byte(manifest))
	if err != nil {
		t.Fatalf("converting the manifest: %v", err)
	}
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON(text); err != nil {
		t.Fatalf("reading the manifest: %v", err)
	}
	return obj
}

// path reads a path that is part of a test.
func path(t testing.TB, text string) Path {
	t.Helper()
	p, err := ParsePath(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// fixed is a probe that gives one answer.
func fixed(status Status, message string) Probe {
	return Func(func(*unstructured.Unstructured) Result { return Result{Status: status, Message: message} })
}

// probeCase is one object with what a probe has to say of it.
type probeCase struct {
	reason string
	object string
	want   Result
}

// testProbe puts every object to the probe, and checks that it is left alone.
func testProbe(t *testing.T, p Probe, cases map[string]probeCase) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			obj := object(t, tc.object)
			before := obj.DeepCopy()
			got := p.Probe(obj)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nProbe(): -want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(before, obj); diff != "" {
				t.Errorf("the object was changed: -before, +after:\n%s", diff)
			}
		})
	}
}

// testDefault puts every object to the default probe of a kind.
func testDefault(t *testing.T, group, kind string, cases map[string]probeCase) {
	t.Helper()
	p, ok := Default(schema.GroupKind{Group: group, Kind: kind})
	if !ok {
		t.Fatalf("there is no default probe for %s.%s", kind, group)
	}
	testProbe(t, p, cases)
}
