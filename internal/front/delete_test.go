// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"context"
	"errors"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
)

func TestReconciler_PackageBeingDeleted(t *testing.T) {
	f := newFixture(t)
	f.class("a", ours)
	f.rendered = []content.Package{rendering("plane", "1")}
	f.mustPass()
	if err := f.API.Delete(t.Context(), f.pkg("plane")); err != nil {
		t.Fatal(err)
	}
	f.rendered = []content.Package{rendering("plane", "2")}
	if _, err := f.pass(); err == nil {
		t.Error("the error was not returned, so no retry would follow")
	}
	want(t, "no revision is added to a package that goes", "revisions", []string{"plane-1"}, f.revisions())
	want(t, "the cause is reported", "ControllerInstalled", "Unknown/Pending: package plane is being deleted, and is created again afterwards", f.installed("a"))

	pkg := f.pkg("plane")
	pkg.Finalizers = nil
	if err := f.API.Update(t.Context(), pkg); err != nil {
		t.Fatal(err)
	}
	// The package loop lets go of the revisions, and the garbage collector takes them.
	revision := &v1alpha1.Revision{}
	if err := f.API.Get(t.Context(), types.NamespacedName{Name: "plane-1"}, revision); err != nil {
		t.Fatal(err)
	}
	revision.Finalizers = nil
	if err := f.API.Update(t.Context(), revision); err != nil {
		t.Fatal(err)
	}
	if err := f.API.Delete(t.Context(), revision); err != nil {
		t.Fatal(err)
	}
	f.mustPass()
	want(t, "it is created again afterwards", "revisions", []string{"plane-1"}, f.revisions())
}

// Nothing is made for a class that cannot be held: it could not be taken back.
func TestReconciler_HoldFirst(t *testing.T) {
	f := newFixture(t)
	f.class("a", ours)
	f.rendered = []content.Package{rendering("plane", "1")}
	f.Refuse = refusing("patch a")
	if _, err := f.pass(); !errors.Is(err, errRefused) {
		t.Errorf("got error %v", err)
	}
	want(t, "nothing is made", "writes", nil, f.Writes)
}

// The packages go with the last class, and the class goes after them.
func TestReconciler_Deletes(t *testing.T) {
	f := newFixture(t)
	f.class("a", ours)
	f.class("b", ours)
	f.rendered = []content.Package{rendering("crds", "1"), rendering("plane", "1")}
	f.Create(&v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: "other", Labels: map[string]string{v1alpha1.LabelFront: "other"}}})
	f.mustPass()
	f.deleteClass("a")
	f.mustPass()
	want(t, "a class that others stand in for goes at once", "classes", []string{"b!"}, f.classes())

	f.deleteClass("b")
	want(t, "the packages go with the last class", "writes", []string{"delete crds", "delete plane"}, f.mustPass())
	want(t, "which is held until they are gone", "classes", []string{"b!"}, f.classes())
	want(t, "they are deleted once", "writes", nil, f.mustPass())
	f.finish("crds")
	want(t, "one of them is not enough", "writes", nil, f.mustPass())
	f.finish("plane")
	want(t, "the class goes after them", "writes", []string{"patch b"}, f.mustPass())
	want(t, "the class goes after them", "classes", nil, f.classes())
	if f.pkg("other").DeletionTimestamp != nil {
		t.Error("a package of another front was deleted")
	}
	want(t, "at the end there is nothing to do", "writes", nil, f.mustPass())
}

// With its definition every resource is deleted: what it describes stays, whatever blocks
// or orders a teardown otherwise.
func TestReconciler_DefinitionDeleted(t *testing.T) {
	f := newFixture(t)
	f.class("a", ours)
	f.rendered = []content.Package{rendering("crds", "1"), rendering("plane", "1")}
	f.loop.Front.Teardown = func(Input[*gatewayv1.GatewayClass, string]) Teardown {
		return Teardown{Blocked: errRefused, Order: []string{"plane", "crds"}}
	}
	f.mustPass()
	var policies []metav1.DeletionPropagation
	f.deletion = func(options *client.DeleteOptions) { policies = append(policies, *options.PropagationPolicy) }
	f.deleteClass("a")
	f.loop.isRemoved = func(context.Context) (bool, error) { return false, errRefused }
	if _, err := f.pass(); !errors.Is(err, errRefused) {
		t.Errorf("the pass ended with %v: what is not known lets nothing go", err)
	}
	f.loop.isRemoved = func(context.Context) (bool, error) { return true, nil }
	f.Writes = nil
	want(t, "both packages go", "writes", []string{"delete crds", "delete plane"}, f.mustPass())
	want(t, "their objects stay", "policies", []metav1.DeletionPropagation{metav1.DeletePropagationOrphan, metav1.DeletePropagationOrphan}, policies)
}

// What keeps one resource after its packages is no trouble of the others.
func TestReconciler_Stays(t *testing.T) {
	f := newFixture(t)
	f.class("a", ours)
	f.class("b", ours)
	f.class("c", ours)
	f.rendered = []content.Package{rendering("plane", "1")}
	f.mustPass()
	kept := errors.New("something of it is still there")
	f.loop.Front.Stays = func(class *gatewayv1.GatewayClass, _ string) error {
		if class.Name == "b" {
			return kept
		}
		return nil
	}
	f.deleteClass("a")
	f.deleteClass("b")
	f.rendered = []content.Package{rendering("plane", "2")}
	if _, err := f.pass(); !errors.Is(err, kept) {
		t.Errorf("the pass ends with %v, and has to be made again", err)
	}
	want(t, "the others go", "classes", []string{"b!", "c!"}, f.classes())
	want(t, "what stays is reported, and not that something is wrong with its packages", "ControllerInstalled", "Unknown/Pending: istiod 1.0-2 is being installed", f.installed("c"))
	kept = fmt.Errorf("wait: %w", ErrNotYet)
	f.mustPass()
	want(t, "what only takes its time is no trouble, and stays", "classes", []string{"b!", "c!"}, f.classes())
	f.loop.Front.Stays = nil
	f.mustPass()
	want(t, "nothing keeps it any more", "classes", []string{"c!"}, f.classes())
}

// finish takes the finalizer off a package, as its teardown does.
func (f *fixture) finish(name string) {
	f.T.Helper()
	pkg := f.pkg(name)
	pkg.Finalizers = nil
	if err := f.API.Update(f.T.Context(), pkg); err != nil {
		f.T.Fatal(err)
	}
}

func TestReconciler_DeleteFails(t *testing.T) {
	f := newFixture(t)
	f.class("a", ours)
	f.rendered = []content.Package{rendering("plane", "1")}
	f.mustPass()
	f.deleteClass("a")
	f.Refuse = refusing("delete plane")
	if _, err := f.pass(); !errors.Is(err, errRefused) {
		t.Errorf("got error %v", err)
	}
	want(t, "the class is held while the package is there", "classes", []string{"a!"}, f.classes())
}

// Classes have the same conditions, each with its own generation; conditions of other controllers
// stay.
func TestReconciler_SeveralClasses(t *testing.T) {
	f := newFixture(t)
	f.class("a", ours)
	f.class("b", ours)
	f.rendered = []content.Package{rendering("plane", "1")}
	f.Refuse = refusing("status a")
	if _, err := f.pass(); !errors.Is(err, errRefused) {
		t.Errorf("got error %v", err)
	}
	want(t, "one class' trouble is not the other's", "ControllerInstalled", "Unknown/Pending: istiod 1.0-1 is being installed", f.installed("b"))
	f.Refuse = nil
	f.mustPass()
	want(t, "another try mends it", "ControllerInstalled", "Unknown/Pending: istiod 1.0-1 is being installed", f.installed("a"))
}
