// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/output"
)

// TestUnused: what is deleted only while no custom resource of it exists is neither said to stay nor
// to go for sure.
func TestUnused(t *testing.T) {
	definition := v1alpha1.Object{Deletion: v1alpha1.ObjectDeleteUnused, Object: &runtime.RawExtension{
		Raw: []byte(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.example.org"}}`),
	}}
	reference := ItemsOf(&v1alpha1.Revision{Spec: v1alpha1.RevisionSpec{Phases: []v1alpha1.Phase{{Objects: []v1alpha1.Object{definition}}}}}, nil)[0][0].Ref
	pkg := &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Status: v1alpha1.PackageStatus{CurrentRevision: 1, TargetRevision: 1}}
	from := v1alpha1.Revision{ObjectMeta: metav1.ObjectMeta{Name: "web-1"}, Spec: v1alpha1.RevisionSpec{
		Package: "web", Revision: 1, Phases: []v1alpha1.Phase{{Name: "definitions", Objects: []v1alpha1.Object{definition}}},
	}, Status: v1alpha1.RevisionStatus{Inventory: []v1alpha1.InventoryEntry{{ObjectReference: reference}}}}
	write := func(of func(p *output.Printer)) string {
		var out strings.Builder
		of(output.New(&out, 200, false))
		return out.String()
	}
	snapshot := Snapshot{Package: pkg, Revisions: []v1alpha1.Revision{from}}
	changes, same := ChangesBetween(&from, &v1alpha1.Revision{}, nil)
	for of, text := range map[string]string{
		"Deletion": write(func(p *output.Printer) { WriteDeletion(p, BuildDeletion(snapshot, CascadeBackground)) }),
		"Rollback": write(func(p *output.Printer) { WriteChanges(p, changes, same) }),
		"Adoption": write(func(p *output.Printer) {
			WriteAdoption(p, Adoption{Package: "web", Revision: 1, Objects: []AdoptedObject{{ObjectReference: reference, Unused: true}}})
		}),
	} {
		if !strings.Contains(text, "when no custom resource of it exists") || strings.Contains(text, "in place") {
			t.Errorf("%s:\n%s", of, text)
		}
	}
	if orphaned := BuildDeletion(snapshot, CascadeOrphan); len(orphaned.Retain) != 1 || len(orphaned.DeleteUnused) != 0 {
		t.Errorf("what is orphaned stays: %+v", orphaned)
	}
}
