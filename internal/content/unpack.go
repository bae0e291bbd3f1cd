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

const (
	// inflateLimit bounds what one slice or Secret may inflate to, in bytes: no API server
	// takes an object that is larger.
	inflateLimit = 4 << 20
	// MaxBytes bounds what all that a revision refers to may inflate to.
	MaxBytes = 32 << 20
	// MaxObjects bounds how many objects a revision may have.
	MaxObjects = 10_000
)

// UnavailableError says that content cannot be had as it was stored. It heals
// when what it names is restored.
type UnavailableError struct {
	// Slice is the ObjectSlice's name, empty when it is not about one.
	Slice string
	// Secret is the namespace and name of the Secret, empty when it is not about one.
	Secret string
	// Reason is what is wrong with it, or with the revision itself.
	Reason string
}

// Error names the slice or Secret, what is wrong, and the remedy.
func (e *UnavailableError) Error() string {
	const remedy = "apply the same content again, which restores it, or create a new revision"
	switch {
	case e.Slice != "":
		return fmt.Sprintf("ObjectSlice %s %s: %s", e.Slice, e.Reason, remedy)
	case e.Secret != "":
		return fmt.Sprintf("Secret %s %s: %s", e.Secret, e.Reason, remedy)
	default:
		return e.Reason
	}
}

// Unpack reads the manifests of a slice, and proves that they are what the
// slice's name says. What is wrong is an *UnavailableError.
func Unpack(slice *v1alpha1.ObjectSlice) ([]*unstructured.Unstructured, error) {
	altered := func(format string, args ...any) error {
		return &UnavailableError{Slice: slice.Name, Reason: fmt.Sprintf(format, args...)}
	}
	raw, err := inflate(slice.Data)
	if err != nil {
		return nil, altered("%v", err)
	}
	if SliceName(raw) != slice.Name {
		return nil, altered("contains other content than its name says (%s)", SliceName(raw))
	}
	var manifests []*unstructured.Unstructured
	for line := range bytes.SplitSeq(raw, []byte("\n")) {
		manifest := &unstructured.Unstructured{}
		if err := manifest.UnmarshalJSON(line); err != nil {
			return nil, altered("contains a manifest that cannot be read: %v", err)
		}
		manifests = append(manifests, manifest)
	}
	return manifests, nil
}

// inflate undoes compress. Its errors say what is wrong with the data, and quote
// nothing of it.
func inflate(data []byte) ([]byte, error) {
	reader, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("does not contain gzip data: %w", err)
	}
	raw, err := io.ReadAll(io.LimitReader(reader, inflateLimit+1))
	if err != nil {
		return nil, fmt.Errorf("cannot be inflated: %w", err)
	}
	if len(raw) > inflateLimit {
		return nil, fmt.Errorf("inflates to more than %d bytes", inflateLimit)
	}
	return raw, nil
}
