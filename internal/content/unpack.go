// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-run/strata/api/v1alpha1"
)

// inflateLimit bounds what a slice may inflate to, in bytes.
const inflateLimit = 32 << 20

// UnavailableError says that content cannot be had as it was stored. It heals
// when the slice is restored.
type UnavailableError struct {
	// Slice is the ObjectSlice's name, empty when the revision itself is altered.
	Slice string
	// Reason is what is wrong with it.
	Reason string
}

// Error names the slice and what is wrong.
func (e *UnavailableError) Error() string {
	if e.Slice == "" {
		return e.Reason
	}
	return fmt.Sprintf("ObjectSlice %s %s: restore it, or create a new revision", e.Slice, e.Reason)
}

// Unpack reads the manifests of a slice, and proves that they are what the
// slice's name says. What is wrong is an *UnavailableError.
func Unpack(slice *v1alpha1.ObjectSlice) ([]*unstructured.Unstructured, error) {
	altered := func(format string, args ...any) error {
		return &UnavailableError{Slice: slice.Name, Reason: fmt.Sprintf(format, args...)}
	}
	reader, err := gzip.NewReader(bytes.NewReader(slice.Data))
	if err != nil {
		return nil, altered("does not hold gzip'd data: %v", err)
	}
	raw, err := io.ReadAll(io.LimitReader(reader, inflateLimit+1))
	if err != nil {
		return nil, altered("cannot be inflated: %v", err)
	}
	if len(raw) > inflateLimit {
		return nil, altered("inflates to more than %d bytes", inflateLimit)
	}
	if SliceName(raw) != slice.Name {
		return nil, altered("holds other content than its name says (%s)", SliceName(raw))
	}
	var manifests []*unstructured.Unstructured
	for line := range bytes.SplitSeq(raw, []byte("\n")) {
		manifest := &unstructured.Unstructured{}
		if err := manifest.UnmarshalJSON(line); err != nil {
			return nil, altered("holds a manifest that cannot be read: %v", err)
		}
		manifests = append(manifests, manifest)
	}
	return manifests, nil
}
