// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package uninstall

import (
	"fmt"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/localplane/planetest"
	"github.com/strata-run/strata/test/setup"
)

// as is a client of a user who may do everything.
func (c *cluster) as(user string) client.Client {
	c.Helper()
	config, err := c.plane.ConfigFor(user, "system:masters")
	c.must(err)
	made, err := client.New(config, client.Options{Scheme: c.admin.Scheme()})
	c.must(err)
	return made
}

// refused fails unless the API server has refused a request with the words given.
func (c *cluster) refused(what string, err error, words string) {
	c.Helper()
	if !apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), words) {
		c.Errorf("%s: got %v, want it refused with %q", what, err, words)
	}
}

func revisionBy(number int64, by string) *v1alpha1.Revision {
	return &v1alpha1.Revision{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.RevisionName("shop", number)}, Spec: v1alpha1.RevisionSpec{
		Package: "shop", Revision: number, Origin: &v1alpha1.Origin{Kind: v1alpha1.OriginCLI, CreatedBy: by},
		Phases: []v1alpha1.Phase{{Name: "all", Objects: []v1alpha1.Object{
			manifest(fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"shop","namespace":"default"},"data":{"a":"%d"}}`, number)),
		}}},
	}}
}

// The policies of config/policy, with the manager that they have to let through.
func TestPolicies(t *testing.T) {
	c := newCluster(t)
	folder := os.DirFS(root)
	c.must(setup.Apply(t.Context(), c.admin, setup.Files{From: folder, Pattern: "config/policy/actors.yaml"}, setup.Files{From: folder, Pattern: "config/policy/protection.yaml"}))
	c.start()
	alice, bob := c.as("alice"), c.as("bob")
	pkg := &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	c.must(alice.Create(t.Context(), pkg))
	planetest.Eventually(t, "the policies are in force", func() (bool, error) {
		err := alice.Create(t.Context(), revisionBy(9, "the-ceo"), client.DryRunAll)
		return err != nil, err
	})
	c.refused("a claimed name", alice.Create(t.Context(), revisionBy(1, "the-ceo")), "the request comes from alice")
	claim := revisionBy(1, "alice")
	claim.Spec.Origin.Kind = v1alpha1.OriginRollback
	c.refused("a rollback that is none", alice.Create(t.Context(), claim), "for the manager alone")
	for number := range int64(2) {
		c.must(alice.Create(t.Context(), revisionBy(number+1, "alice")))
		c.succeeded(number + 1)
	}

	patch := func(by client.Client, text string) error {
		return by.Patch(t.Context(), &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}, client.RawPatch("application/merge-patch+json", []byte(text)))
	}
	rollback := `{"spec":{"rollback":{"toRevision":1,"requestedAt":"2026-01-01T00:00:00Z","by":"%s"}}}`
	c.refused("a rollback in the name of another user", patch(bob, fmt.Sprintf(rollback, "alice")), "the request comes from bob")
	c.must(patch(bob, fmt.Sprintf(rollback, "bob")))
	back := c.succeeded(3)
	if back.Spec.Origin.CreatedBy != "bob" {
		t.Errorf("the history says that %q has rolled back, want bob", back.Spec.Origin.CreatedBy)
	}
	c.refused("a new request under the name of the last", patch(alice, `{"spec":{"rollback":{"toRevision":2,"requestedAt":"2026-01-01T00:00:01Z"}}}`), "the request comes from alice")
	c.refused("a pause in the name of another user", patch(bob, `{"spec":{"paused":{"reason":"x","by":"alice"}}}`), "spec.paused.by is alice")
	c.refused("an approval in the name of another user", patch(bob, `{"spec":{"approvedBy":"alice"}}`), "spec.approvedBy is alice")
	c.must(patch(bob, `{"spec":{"approvedBy":"bob","approvedDigest":"sha256:`+strings.Repeat("0", 64)+`"}}`))
	c.refused("another approval under the name of the last", patch(alice, `{"spec":{"approvedDigest":"sha256:`+strings.Repeat("1", 64)+`"}}`), "spec.approvedBy is bob")
	digest := "sha256:" + strings.Repeat("2", 64)
	gates := func(text string) string { return strings.ReplaceAll(`{"spec":{"gates":[`+text+`]}}`, "DIGEST", digest) }
	c.refused("a gate opened in the name of another user", patch(bob, gates(`{"name":"check","approvedDigest":"DIGEST","approvedBy":"alice"}`)), "approvedBy of gate check is alice")
	c.must(patch(bob, gates(`{"name":"check","approvedDigest":"DIGEST","approvedBy":"bob"}`)))
	c.must(patch(alice, gates(`{"name":"check","approvedDigest":"DIGEST","approvedBy":"bob"},{"name":"more"}`)))
	c.refused("a gate moved on under the name of the last", patch(alice, gates(`{"name":"check","approvedDigest":"sha256:`+strings.Repeat("3", 64)+`","approvedBy":"bob"}`)), "approvedBy of gate check is bob")
	c.must(patch(alice, `{"spec":{"gates":null}}`))
	c.must(patch(alice, `{"metadata":{"labels":{"a":"b"}}}`))

	pause := func(by client.Client, text string) error {
		return by.Patch(t.Context(), &v1alpha1.Revision{ObjectMeta: metav1.ObjectMeta{Name: back.Name}}, client.RawPatch("application/merge-patch+json", []byte(text)))
	}
	paused := `{"spec":{"lifecycleState":"Paused"},"metadata":{"annotations":{"strata.run/paused-by":"%s"}}}`
	c.refused("the pause of a revision in the name of another user", pause(alice, fmt.Sprintf(paused, "bob")), "strata.run/paused-by is bob")
	c.must(pause(bob, fmt.Sprintf(paused, "bob")))
	c.must(pause(alice, `{"metadata":{"labels":{"a":"b"}}}`))
	c.refused("another reason under the name of the last", pause(alice, `{"metadata":{"annotations":{"strata.run/pause-reason":"x"}}}`), "strata.run/paused-by is bob")
	c.must(pause(alice, `{"spec":{"lifecycleState":"Active"}}`))
	c.refused("a new pause under the name of the last", pause(alice, `{"spec":{"lifecycleState":"Paused"}}`), "strata.run/paused-by is bob")

	c.refused("a finalizer taken off by hand", patch(alice, `{"metadata":{"finalizers":null}}`), "the garbage collector deletes every object")
	c.refused("the deletion of a definition", alice.Delete(t.Context(), definition("packages.strata.run")), "strata.run/allow-deletion")
	slice := &v1alpha1.ObjectSlice{ObjectMeta: metav1.ObjectMeta{Name: "sha256-" + strings.Repeat("a", 64)}}
	slice.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Package", Name: "shop", UID: pkg.UID}}
	slice.Data, slice.Objects, slice.Bytes = []byte("x"), 1, 2
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "strata-system", Name: slice.Name, OwnerReferences: slice.OwnerReferences}, Type: v1alpha1.SecretTypeManifests}
	other := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "strata-system", Name: "other", OwnerReferences: slice.OwnerReferences}}
	for _, kept := range []client.Object{slice, secret} {
		c.must(alice.Create(t.Context(), kept))
		c.refused("the deletion of content in use", alice.Delete(t.Context(), kept), "in use by package shop")
	}
	c.must(alice.Create(t.Context(), other))
	c.must(alice.Delete(t.Context(), other))

	c.must(alice.Delete(t.Context(), pkg))
	planetest.Eventually(t, "the manager tears down and the slice goes with the package", func() (bool, error) {
		err := alice.Get(t.Context(), client.ObjectKeyFromObject(pkg), pkg)
		if !apierrors.IsNotFound(err) {
			return false, err
		}
		err = alice.Get(t.Context(), client.ObjectKeyFromObject(slice), slice)
		return apierrors.IsNotFound(err), err
	})
}

// succeeded waits until a revision has succeeded.
func (c *cluster) succeeded(number int64) *v1alpha1.Revision {
	c.Helper()
	revision := &v1alpha1.Revision{}
	planetest.Eventually(c.T, fmt.Sprintf("revision %d has succeeded", number), func() (bool, error) {
		err := c.admin.Get(c.Context(), client.ObjectKey{Name: v1alpha1.RevisionName("shop", number)}, revision)
		return err == nil && revision.Status.SucceededAt != nil, fmt.Errorf("%w: %+v", err, revision.Status.Conditions)
	})
	return revision
}
