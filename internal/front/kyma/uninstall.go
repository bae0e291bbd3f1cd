// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package kyma

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/front/kyma/servicemesh"
)

// observeUninstall looks for what keeps the mesh from being taken away.
func (k *observer) observeUninstall(ctx context.Context, group front.Group[*v1alpha2.Istio]) (observed, error) {
	facts := observed{Restarts: k.restarts()}
	// No mesh is wanted that would depend on what was watched for it.
	k.objects.Stop()
	if err := k.forgetNodes(ctx); err != nil {
		return facts, err
	}
	last := slices.IndexFunc(group.Deleting, func(istio *v1alpha2.Istio) bool { return istio.Namespace == v1alpha2.Namespace })
	if last < 0 || len(group.Existing) == 0 {
		k.meter.describes(nil)
	}
	if len(group.Existing) == 0 {
		k.known = nil // the next mesh is another one
	}
	installed := slices.ContainsFunc(group.Existing, func(p v1alpha1.Package) bool {
		return p.Name == servicemesh.PackageIstio && p.DeletionTimestamp.IsZero()
	})
	forced := slices.ContainsFunc(group.Deleting, func(istio *v1alpha2.Istio) bool {
		return istio.Annotations[v1alpha2.AnnotationForceDelete] == "true"
	})
	if !installed || forced {
		k.blockers.Stop()
		if err := k.pruneOperator(ctx, group); err != nil || len(group.Existing) > 0 || !facts.Restarts.Uninstalled {
			return facts, err
		}
		return facts, k.purge(ctx, group, forced)
	}
	found, err := k.blockers.Look(ctx)
	if err != nil {
		return facts, err
	}
	if facts.Blocked = servicemesh.Blocking(found); facts.Blocked == nil {
		// A watch may lag behind, and what is taken away does not come back.
		if found, err = k.blockers.Confirm(ctx); err != nil {
			return facts, err
		}
		facts.Blocked = servicemesh.Blocking(found)
	}
	if blocked, ok := errors.AsType[*servicemesh.BlockedError](facts.Blocked); ok && k.reported != fmt.Sprint(len(group.Deleting), blocked) {
		k.reported = fmt.Sprint(len(group.Deleting), blocked)
		log.FromContext(ctx).Info("Deletion is blocked by custom resources", "count", blocked.Count, "kinds", blocked.Kinds, "resources", blocked.Listed)
		k.announceOrphan(group, blocked)
	}
	if facts.Blocked == nil {
		err = k.pruneOperator(ctx, group)
	}
	return facts, err
}

// announceOrphan records on the package what blocks the deletion of a mesh that has no resource any
// more, whose status would say it: a user has taken its finalizer off.
func (k *observer) announceOrphan(group front.Group[*v1alpha2.Istio], blocked *servicemesh.BlockedError) {
	if len(group.Deleting) > 0 {
		return
	}
	for i := range group.Existing {
		if pkg := &group.Existing[i]; pkg.Name == servicemesh.PackageIstio {
			k.recorder.Eventf(pkg, nil, corev1.EventTypeWarning, ReasonMeshWithoutResource, "Delete", "Its Istio resource is gone, and %s", blocked)
		}
	}
}

// pruneOperator prunes before a mesh goes, or with one that has never come up: webhooks that are
// left would keep pods from being created.
func (k *observer) pruneOperator(ctx context.Context, group front.Group[*v1alpha2.Istio]) error {
	if len(group.Deleting) == 0 {
		return nil
	}
	return k.prune(ctx)
}
