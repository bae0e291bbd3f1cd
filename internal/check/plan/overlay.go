// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-run/strata/internal/content"
)

// Overlay reads packed content that is not stored yet, and everything else from where
// it is stored.
type Overlay struct {
	// Packed is the content that is not stored yet.
	Packed content.Packed
	// Stored is asked for everything else. Without it nothing else is known.
	Stored content.Stored
}

var _ content.Stored = Overlay{}

// Slice reads the manifests of an ObjectSlice.
func (o Overlay) Slice(ctx context.Context, name string) ([]*unstructured.Unstructured, error) {
	for i := range o.Packed.Slices {
		if o.Packed.Slices[i].Name == name {
			return content.Unpack(&o.Packed.Slices[i])
		}
	}
	if o.Stored == nil {
		return nil, &content.UnavailableError{Slice: name, Reason: "is not part of the content"}
	}
	return o.Stored.Slice(ctx, name)
}

// Secret reads the manifests of a Secret.
func (o Overlay) Secret(ctx context.Context, name string) ([]content.Sealed, error) {
	for i := range o.Packed.Secrets {
		if o.Packed.Secrets[i].Name == name {
			return content.UnpackSecret(&o.Packed.Secrets[i])
		}
	}
	if o.Stored == nil {
		return nil, &content.UnavailableError{Secret: name, Reason: "is not part of the content"}
	}
	return o.Stored.Secret(ctx, name)
}
