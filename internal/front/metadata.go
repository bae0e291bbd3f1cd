// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// getter reads one object.
type getter interface {
	Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error
}

// Read reads an untyped object, and says whether it exists. The error names it.
func Read(ctx context.Context, from getter, namespace, name string, object client.Object) (bool, error) {
	key, kind := types.NamespacedName{Namespace: namespace, Name: name}, object.GetObjectKind().GroupVersionKind().Kind
	found, err := Found(from.Get(ctx, key, object))
	if err != nil {
		return false, fmt.Errorf("reading %s %s: %w", kind, strings.TrimPrefix(key.String(), "/"), err)
	}
	return found, nil
}

// MetadataPatch is a merge patch of metadata, for exactly the state of the object that it is sent with.
type MetadataPatch map[string]any

// Type is the type of the patch.
func (MetadataPatch) Type() types.PatchType { return types.MergePatchType }

// Data is the patch of an object as it was read.
func (p MetadataPatch) Data(object client.Object) ([]byte, error) {
	metadata := maps.Clone(p)
	metadata["uid"], metadata["resourceVersion"] = object.GetUID(), object.GetResourceVersion()
	data, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return nil, fmt.Errorf("encoding a patch of metadata: %w", err)
	}
	return data, nil
}
