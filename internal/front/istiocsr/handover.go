// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/helmimport"
)

// handOver makes what Helm owns of the spec of the agent's Deployment and Service ours,
// before they are adopted: beside Helm we could remove nothing of it, such as a volume with
// a Secret that is not needed any more, or the port of before. It changes metadata alone,
// and is done once for a state of the Deployment.
func (o *observer) handOver(ctx context.Context, namespace, version string) error {
	if o.handed == version {
		return nil
	}
	for _, kind := range []schema.GroupVersionKind{deploymentKind, {Version: "v1", Kind: "Service"}} {
		if err := o.handOverOne(ctx, kind, namespace); err != nil {
			return err
		}
	}
	o.handed = version
	return nil
}

func (o *observer) handOverOne(ctx context.Context, kind schema.GroupVersionKind, namespace string) error {
	current := front.Metadata(kind)
	found, err := front.Read(ctx, o.live, namespace, AgentName, current)
	if err != nil || !found || releaseOf(current) == "" || metav1.GetControllerOf(current) != nil {
		return err
	}
	entries, changed, err := helmimport.HandOverSpec(current.GetManagedFields())
	if err != nil || !changed {
		return err
	}
	if err := o.writer.Patch(ctx, current, front.MetadataPatch{"managedFields": entries}, front.FieldOwner); err != nil {
		return fmt.Errorf("taking over the fields of %s %s/%s from Helm: %w", kind.Kind, namespace, AgentName, err)
	}
	return nil
}
