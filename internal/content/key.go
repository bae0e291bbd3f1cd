// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"context"
	"crypto/rand"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/strata-run/strata/api/v1alpha1"
)

const (
	// keyName is the Secret of the manager's namespace with the key for salts. When
	// it is lost a new one is made; then equal content looks like new content once,
	// and everything that is stored can still be read.
	keyName = "strata-content-key"

	// keyData is the key of its data that holds the key.
	keyData = "key"
)

// Pack packs rendered phases. For those with manifests of kind Secret it reads, or
// makes, the key that keeps their digests from being guessed.
func (c *Store) Pack(ctx context.Context, phases []Phase, probes []v1alpha1.Probe) (Packed, error) {
	packer := Packer{}
	if HasSecrets(phases) {
		var err error
		if packer.Key, err = c.contentKey(ctx); err != nil {
			return Packed{}, err
		}
	}
	return packer.Pack(phases, probes)
}

// contentKey is read once: it is immutable.
func (c *Store) contentKey(ctx context.Context) ([]byte, error) {
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.key != nil {
		return c.key, nil
	}
	secret, err := c.secret(ctx, keyName)
	if apierrors.IsNotFound(err) {
		if err := c.createKey(ctx); err != nil && !apierrors.IsAlreadyExists(err) {
			return nil, fmt.Errorf("creating Secret %s/%s: %w", c.Namespace, keyName, err)
		}
		// Another writer may have been first.
		secret, err = c.secret(ctx, keyName)
	}
	if err != nil {
		return nil, err
	}
	if key := secret.Data[keyData]; len(key) != KeySize {
		return nil, fmt.Errorf("reading Secret %s/%s: data.%s has %d bytes and needs %d: delete the Secret, and a new one is made",
			c.Namespace, keyName, keyData, len(key), KeySize)
	}
	c.key = secret.Data[keyData]
	return c.key, nil
}

func (c *Store) createKey(ctx context.Context) error {
	key := make([]byte, KeySize)
	if _, err := rand.Read(key); err != nil {
		return fmt.Errorf("making a key: %w", err)
	}
	immutable := true
	return c.createSecret(ctx, corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: keyName},
		Type:       corev1.SecretTypeOpaque, Immutable: &immutable, Data: map[string][]byte{keyData: key},
	})
}

// createSecret creates a Secret in the manager's namespace.
func (c *Store) createSecret(ctx context.Context, secret corev1.Secret) error {
	secret.Namespace = c.Namespace
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&secret)
	if err != nil {
		return fmt.Errorf("encoding Secret %s: %w", secret.Name, err)
	}
	object := &unstructured.Unstructured{Object: fields}
	object.SetGroupVersionKind(secretKind)
	return c.Client.Create(ctx, object)
}
