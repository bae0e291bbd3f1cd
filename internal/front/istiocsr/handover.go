// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/helmimport"
)

// fieldOwner is the field manager of what this front writes itself.
const fieldOwner = client.FieldOwner("strata-front")

// handOver makes what Helm owns of the spec of the agent's Deployment and Service ours,
// before they are adopted: beside Helm we could remove nothing of it, such as a volume with
// a Secret that is not needed any more, or the port of before. It changes metadata alone,
// and is done once for a state of the Deployment.
func (o *observer) handOver(ctx context.Context, namespace, version string) error {
	if o.handed == version {
		return nil
	}
	for _, kind := range []schema.GroupVersionKind{deploymentKind, {Version: "v1", Kind: "Service"}} {
		if err := o.handOverOne(ctx, kind, types.NamespacedName{Namespace: namespace, Name: AgentName}); err != nil {
			return err
		}
	}
	o.handed = version
	return nil
}

func (o *observer) handOverOne(ctx context.Context, kind schema.GroupVersionKind, key types.NamespacedName) error {
	current := &metav1.PartialObjectMetadata{}
	current.SetGroupVersionKind(kind)
	found, err := front.Found(o.live.Get(ctx, key, current))
	if err != nil {
		return fmt.Errorf("reading %s %s: %w", kind.Kind, key, err)
	}
	if !found || releaseOf(current) == "" || metav1.GetControllerOf(current) != nil {
		return nil
	}
	entries, changed, err := helmimport.HandOverSpec(current.GetManagedFields())
	if err != nil || !changed {
		return err
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": current.UID, "resourceVersion": current.ResourceVersion, "managedFields": entries}})
	if err != nil {
		return fmt.Errorf("encoding: %w", err)
	}
	if err := o.writer.Patch(ctx, current, client.RawPatch(types.MergePatchType, patch), fieldOwner); err != nil {
		return fmt.Errorf("taking over the fields of %s %s from Helm: %w", kind.Kind, key, err)
	}
	return nil
}
