// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
)

var (
	sliceKind  = v1alpha1.GroupVersion.WithKind("ObjectSlice")
	secretKind = schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
)

// Store are the contents that a cluster stores. Every field is required; those
// who only read need no Client and no Now.
type Store struct {
	// Client writes.
	Client client.Client
	// Live reads from the API server.
	Live client.Reader
	// Namespace is the manager's, for Secrets.
	Namespace string
	// Now is the clock.
	Now func() time.Time

	lock sync.Mutex
	key  []byte
}

// Slice reads the manifests of an ObjectSlice. What is missing or altered is a
// *UnavailableError.
func (c *Store) Slice(ctx context.Context, name string) ([]*unstructured.Unstructured, error) {
	slice := &v1alpha1.ObjectSlice{}
	err := c.Live.Get(ctx, types.NamespacedName{Name: name}, slice)
	switch {
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return nil, &UnavailableError{Slice: name, Reason: "does not exist"}
	case err != nil:
		return nil, fmt.Errorf("reading ObjectSlice %s: %w", name, err)
	}
	return Unpack(slice)
}

// Secret reads the manifests of a Secret of the manager's namespace. What is
// missing, altered or of another type is a *UnavailableError. No error
// quotes a value.
func (c *Store) Secret(ctx context.Context, name string) ([]Sealed, error) {
	secret, err := c.secret(ctx, name)
	switch {
	case apierrors.IsNotFound(err):
		return nil, &UnavailableError{Secret: c.Namespace + "/" + name, Reason: "does not exist"}
	case err != nil:
		return nil, err
	}
	return UnpackSecret(secret)
}

// secret reads a Secret of the manager's namespace, as unstructured: the scheme of
// the client needs no typed Secret.
func (c *Store) secret(ctx context.Context, name string) (*corev1.Secret, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(secretKind)
	if err := c.Live.Get(ctx, types.NamespacedName{Namespace: c.Namespace, Name: name}, object); err != nil {
		return nil, fmt.Errorf("reading Secret %s/%s: %w", c.Namespace, name, err)
	}
	secret := &corev1.Secret{}
	if runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, secret) != nil {
		// The error is left out, as it may quote a value.
		return nil, fmt.Errorf("reading Secret %s/%s: it is not well formed", c.Namespace, name)
	}
	return secret, nil
}

// Metadata is an empty object to read the metadata of what a reference names, and
// its key.
func (c *Store) Metadata(reference Reference) (*metav1.PartialObjectMetadata, types.NamespacedName) {
	object, key := &metav1.PartialObjectMetadata{}, types.NamespacedName{Name: reference.Name}
	object.SetGroupVersionKind(sliceKind)
	if reference.Secret {
		object.SetGroupVersionKind(secretKind)
		key.Namespace = c.Namespace
	}
	return object, key
}

// Kinds are empty objects of the kinds of what is stored, for informers of their
// metadata.
func Kinds() []*metav1.PartialObjectMetadata {
	slice, secret := &metav1.PartialObjectMetadata{}, &metav1.PartialObjectMetadata{}
	slice.SetGroupVersionKind(sliceKind)
	secret.SetGroupVersionKind(secretKind)
	return []*metav1.PartialObjectMetadata{slice, secret}
}

// SecretKind is an empty object of kind Secret, and the selector of the Secrets
// that hold manifests: no other Secret has to be watched.
func SecretKind() (*metav1.PartialObjectMetadata, fields.Selector) {
	return Kinds()[1], fields.OneTermEqualSelector("type", v1alpha1.SecretTypeManifests)
}

// ReferenceTo is the reference that names what metadata are of.
func ReferenceTo(object client.Object) Reference {
	return Reference{Secret: object.GetObjectKind().GroupVersionKind() == secretKind, Name: object.GetName()}
}
