// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
)

// sized is a package with a number of objects.
func sized(count int, mayShrink bool) []content.Package {
	phase := content.Phase{Name: "all"}
	for i := range count {
		object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
		object.SetNamespace("default")
		object.SetName(fmt.Sprintf("o-%d", i))
		phase.Objects = append(phase.Objects, content.Object{Manifest: object})
	}
	return []content.Package{{Name: "plane", Phases: []content.Phase{phase}, MayShrink: mayShrink}}
}

func TestReconciler_MayShrink(t *testing.T) {
	f := newFixture(t)
	f.class("a", ours)
	f.rendered = sized(5, true)
	f.mustPass()
	want(t, "the first content shrinks nothing", "annotations", map[string]string(nil), f.pkg("plane").Annotations)

	f.rolledOut("plane", 1)
	f.rendered = sized(1, true)
	want(t, "shrinking is allowed before the revision is there", "writes", []string{"patch plane", "create plane-2", "status a"}, f.mustPass())
	small := f.pkg("plane").Annotations[v1alpha1.AnnotationAllowPrune]
	if revision := f.revisions(); small == "" {
		t.Errorf("shrinking to one object is not allowed; revisions %v", revision)
	}

	f.rendered = sized(2, true)
	f.mustPass()
	if larger := f.pkg("plane").Annotations[v1alpha1.AnnotationAllowPrune]; larger == small {
		t.Error("content that is larger than the target, and smaller than what runs, is not allowed")
	}
	f.rendered = sized(6, true)
	want(t, "growing needs no permission", "writes", []string{"create plane-4"}, f.mustPass())
}

func TestReconciler_MayNotShrink(t *testing.T) {
	f := newFixture(t)
	f.class("a", ours)
	f.rendered = sized(5, false)
	f.mustPass()
	f.rolledOut("plane", 1)
	f.rendered = sized(1, false)
	want(t, "a front that does not expect it gets no permission", "writes", []string{"create plane-2", "status a"}, f.mustPass())
}
