// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/localplane"
	"github.com/strata-run/strata/internal/localplane/planetest"
)

// TestAdoption: what each collision protection makes of an object without an owner,
// and of one that another manager controls. The object's own wins over its phase's.
func TestAdoption(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason        string
		controlled    bool
		phase, object v1alpha1.CollisionProtection
		adopted       bool
	}{
		"Default":                {reason: "the default is Prevent"},
		"Prevent":                {reason: "nothing is adopted", phase: v1alpha1.CollisionPrevent},
		"IfNoController":         {reason: "no owner controls it", phase: v1alpha1.CollisionIfNoController, adopted: true},
		"None":                   {reason: "anything is adopted", phase: v1alpha1.CollisionNone, adopted: true},
		"ObjectOverPhase":        {reason: "the object says otherwise than its phase", phase: v1alpha1.CollisionNone, object: v1alpha1.CollisionPrevent},
		"Controlled":             {reason: "another owner controls it", controlled: true, phase: v1alpha1.CollisionIfNoController},
		"ControlledNone":         {reason: "and is overruled", controlled: true, phase: v1alpha1.CollisionPrevent, object: v1alpha1.CollisionNone, adopted: true},
		"ControlledPrevent":      {reason: "and is respected", controlled: true, phase: v1alpha1.CollisionPrevent},
		"UnownedObjectOverPhase": {reason: "the object may be laxer", phase: v1alpha1.CollisionPrevent, object: v1alpha1.CollisionIfNoController, adopted: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := planetest.Namespace(t, plane)
			theirs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "a"}, Data: map[string]string{"value": "theirs", "extra": "kept"}}
			if tc.controlled {
				owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "owner"}}
				must(t, admin.Create(t.Context(), owner))
				theirs.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: owner.UID, Controller: new(true)}}
			}
			must(t, admin.Create(t.Context(), theirs, client.FieldOwner("them")))
			wanted := configMapManifest(t, ns, "a", "ours")
			wanted.CollisionProtection = tc.object
			one := phase("one", wanted)
			one.CollisionProtection = tc.phase
			pkg := newPackage(t, v1alpha1.PackageSpec{}, one)
			if tc.adopted {
				eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
				isAdopted(t, pkg, theirs)
				return
			}
			revision := eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionProgressing, v1alpha1.ReasonObjectCollisions)
			isUntouched(t, theirs)
			found := revision.Status.Objects
			if len(found) != 1 || found[0].Hint == "" || tc.controlled && !containsAll(found[0].Message, "ConfigMap owner") {
				t.Errorf("%s: the status names not the owner and the remedy: %+v", tc.reason, found)
			}
		})
	}
}

func isAdopted(t *testing.T, pkg *v1alpha1.Package, before *corev1.ConfigMap) {
	t.Helper()
	after := configMap(t, before.Namespace, before.Name)
	if after.UID != before.UID || after.Data["value"] != "ours" || after.Data["extra"] != "kept" {
		t.Errorf("the adopted object has %v, want our value and their extra one", after.Data)
	}
	if !metav1.IsControlledBy(after, pkg) || len(after.OwnerReferences) != len(before.OwnerReferences)+1 {
		t.Errorf("the adopted object has the owners %v, want ours as controller and the others kept", after.OwnerReferences)
	}
}

// isUntouched compares byte for byte.
func isUntouched(t *testing.T, before *corev1.ConfigMap) {
	t.Helper()
	was, err := json.Marshal(before)
	must(t, err)
	is, err := json.Marshal(configMap(t, before.Namespace, before.Name))
	must(t, err)
	if !bytes.Equal(was, is) {
		t.Errorf("the refused object was changed:\nbefore %s\nafter  %s", was, is)
	}
}

// TestBlockerIsWatched: a collision is checked again when the object in the way
// changes, and never on a timer.
func TestBlockerIsWatched(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	theirs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "a"}, Data: map[string]string{"value": "theirs"}}
	must(t, admin.Create(t.Context(), theirs))
	pkg := newPackage(t, v1alpha1.PackageSpec{}, phase("one", configMapManifest(t, ns, "a", "ours"), configMapManifest(t, ns, "b", "ours")))
	eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionProgressing, v1alpha1.ReasonObjectCollisions)
	since := time.Now()
	asked := func() []localplane.AuditEvent {
		return slices.DeleteFunc(requests(t, since), func(e localplane.AuditEvent) bool { return e.Namespace != ns })
	}
	planetest.Eventually(t, "the package to come to rest", func() (bool, error) {
		about := asked()
		if len(about) > 0 {
			since = time.Now()
		}
		return time.Since(since) > 2*time.Second, fmt.Errorf("%d requests", len(about))
	})
	planetest.Stays(t, 8*time.Second, "no request is about a refused object that does not change", func() (bool, error) {
		about := asked()
		return len(about) == 0, fmt.Errorf("%d requests", len(about))
	})
	// Another refusal, with as much as the object tells.
	patchAs(t, configMap(t, ns, "a"), "them", fields{"metadata": fields{"labels": fields{v1alpha1.LabelPackage: "other"}}})
	planetest.Eventually(t, "the new state of the object to be reported", func() (bool, error) {
		text := message(getRevision(t, pkg.Name, 1).Status.Conditions, v1alpha1.ConditionProgressing)
		return containsAll(text, `Package "other"`), errors.New(text)
	})
	must(t, admin.Delete(t.Context(), theirs))
	eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
}

// TestForegroundDeletion: kubectl delete --cascade=foreground waits until all is
// gone. The garbage collector may be faster than the teardown, so the order of the
// phases is not kept for sure; what is retained stays.
func TestForegroundDeletion(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	kept := configMapManifest(t, ns, "kept", "1")
	kept.Deletion = v1alpha1.ObjectRetain
	pkg := newPackage(t, v1alpha1.PackageSpec{}, phase("one", configMapManifest(t, ns, "first", "1"), kept), phase("two", configMapManifest(t, ns, "second", "1")))
	eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
	patchAs(t, configMap(t, ns, "second"), "tester", fields{"metadata": fields{"finalizers": []string{"example.com/stuck"}}})
	must(t, admin.Delete(t.Context(), pkg, client.PropagationPolicy(metav1.DeletePropagationForeground)))
	planetest.Stays(t, 4*time.Second, "the package stays as long as its objects", func() (bool, error) { return exists(t, &v1alpha1.Package{}, "", pkg.Name), nil })
	patchAs(t, configMap(t, ns, "second"), "tester", fields{"metadata": fields{"finalizers": nil}})
	planetest.Eventually(t, "the package to go", func() (bool, error) {
		return !exists(t, &v1alpha1.Package{}, "", pkg.Name), nil
	})
	if exists(t, configMapType(), ns, "first") || exists(t, configMapType(), ns, "second") {
		t.Error("objects have outlived a package that was deleted in the foreground")
	}
	if !exists(t, configMapType(), ns, "kept") {
		t.Error("a retained object was deleted")
	}
}

// TestStuckFinalizer: an object that cannot go is named with its finalizer and since
// when, and the rest of its phase goes on.
func TestStuckFinalizer(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	pkg := newPackage(t, v1alpha1.PackageSpec{}, phase("one", configMapManifest(t, ns, "first", "1")),
		phase("two", configMapManifest(t, ns, "stuck", "1"), configMapManifest(t, ns, "free", "1")))
	eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
	patchAs(t, configMap(t, ns, "stuck"), "tester", fields{"metadata": fields{"finalizers": []string{"example.com/stuck"}}})
	must(t, admin.Delete(t.Context(), pkg))
	planetest.Eventually(t, "the rest of the phase to go", func() (bool, error) { return !exists(t, configMapType(), ns, "free"), nil })
	planetest.Eventually(t, "the finalizer to be named", func() (bool, error) {
		text := message(getPackage(t, pkg.Name).Status.Conditions, v1alpha1.ConditionProgressing)
		return containsAll(text, "stuck", "example.com/stuck", "finalizer"), errors.New(text)
	})
	if !exists(t, configMapType(), ns, "first") {
		t.Error("the next phase was begun")
	}
	patchAs(t, configMap(t, ns, "stuck"), "tester", fields{"metadata": fields{"finalizers": nil}})
	planetest.Eventually(t, "the package to go", func() (bool, error) { return !exists(t, &v1alpha1.Package{}, "", pkg.Name), nil })
}

// TestDefinitionWithObjects: a CustomResourceDefinition is deleted only if a revision
// says so, and no object of its kind is left.
func TestDefinitionWithObjects(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	definition := manifests(t, ns, kindAndObject)[1]
	definition.Deletion = v1alpha1.ObjectDelete
	pkg := newPackage(t, v1alpha1.PackageSpec{}, phase("one", definition))
	eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
	gadget := &unstructured.Unstructured{Object: fields{"apiVersion": ns + ".example.org/v1", "kind": "Gadget", "metadata": fields{"namespace": ns, "name": "mine"}}}
	planetest.Eventually(t, "the kind to be served", func() (bool, error) {
		err := admin.Create(t.Context(), gadget.DeepCopy())
		return err == nil, err
	})
	must(t, admin.Delete(t.Context(), pkg))
	planetest.Eventually(t, "the object in the way to be named", func() (bool, error) {
		text := message(getPackage(t, pkg.Name).Status.Conditions, v1alpha1.ConditionProgressing)
		return containsAll(text, "gadgets."+ns, ns+"/mine", "delete it first"), errors.New(text)
	})
	crd := &unstructured.Unstructured{Object: fields{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}}
	must(t, admin.Get(context.Background(), types.NamespacedName{Name: "gadgets." + ns + ".example.org"}, crd))
	if crd.GetDeletionTimestamp() != nil {
		t.Error("the definition is being deleted, and the object with it")
	}
	must(t, admin.Delete(t.Context(), gadget))
	planetest.Eventually(t, "the package to go", func() (bool, error) {
		return !exists(t, &v1alpha1.Package{}, "", pkg.Name), nil
	})
	planetest.Eventually(t, "the definition to go", func() (bool, error) {
		return !exists(t, crd, "", "gadgets."+ns+".example.org"), nil
	})
}
