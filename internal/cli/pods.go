// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/pods"
)

func isWorkload(ref v1alpha1.ObjectReference) bool {
	return pods.IsWorkload(schema.GroupKind{Group: ref.Group, Kind: ref.Kind})
}

// failingPods are the pods of a workload that do not run, by name.
func (c *cluster) failingPods(ctx context.Context, ref v1alpha1.ObjectReference, uid string, manifest *unstructured.Unstructured) ([]pods.Trouble, error) {
	own, err := pods.List(ctx, c.client, pods.Workload{
		Kind: schema.GroupKind{Group: ref.Group, Kind: ref.Kind}, Namespace: ref.Namespace, Name: ref.Name, UID: types.UID(uid), Manifest: manifest,
	})
	if err != nil {
		return nil, err
	}
	return pods.Failing(own), nil
}
