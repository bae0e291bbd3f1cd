// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package kyma

import (
	"context"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/front/kyma/servicemesh"
)

// operatorLabels are on all that Kyma's own operator has installed: its installer puts them there.
var operatorLabels = client.MatchingLabels{
	"operator.istio.io/managed":                           "Reconcile",
	"install.operator.istio.io/owning-resource":           "default-operator",
	"install.operator.istio.io/owning-resource-namespace": servicemesh.IstioNamespace,
}

// operatorKinds are what that operator installs, but CRDs and the namespace. Webhooks come first:
// without what they ask, they keep pods from being created.
var operatorKinds = []schema.GroupVersionKind{
	{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "MutatingWebhookConfiguration"},
	{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingWebhookConfiguration"},
	{Version: "v1", Kind: "Service"},
	{Group: "apps", Version: "v1", Kind: "Deployment"},
	{Group: "apps", Version: "v1", Kind: "DaemonSet"},
	{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"},
	{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"},
	{Version: "v1", Kind: "ConfigMap"},
	{Version: "v1", Kind: "ServiceAccount"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRoleBinding"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"},
}

// prune deletes what Kyma's own operator has installed and the mesh does not contain, once for a
// process: that operator makes nothing any more. What the package has taken over carries its label.
func (k *observer) prune(ctx context.Context) error {
	if k.pruned {
		return nil
	}
	var errs []error
	for _, kind := range operatorKinds {
		list := front.MetadataList(kind)
		if err := k.live.List(ctx, list, operatorLabels); err != nil {
			errs = append(errs, fmt.Errorf("listing objects of kind %s that Kyma's operator has installed: %w", kind.Kind, err))
			continue
		}
		for i := range list.Items {
			object := &list.Items[i]
			if _, ours := object.Labels[v1alpha1.LabelPackage]; ours || metav1.GetControllerOf(object) != nil {
				continue
			}
			object.SetGroupVersionKind(kind)
			if err := k.writer.Delete(ctx, object, client.Preconditions{UID: &object.UID}); client.IgnoreNotFound(err) != nil {
				errs = append(errs, fmt.Errorf("deleting %s %s, which Kyma's operator has installed: %w", kind.Kind, object.Name, err))
				continue
			}
			log.FromContext(ctx).Info("Deleted what Kyma's operator has installed and the mesh does not contain", "kind", kind.Kind, "namespace", object.Namespace, "name", object.Name)
		}
	}
	k.pruned = len(errs) == 0
	return errors.Join(errs...)
}

// runs says whether the mesh is rolled out: all that it has taken over carries its label.
func runs(existing []v1alpha1.Package) bool {
	return slices.ContainsFunc(existing, func(p v1alpha1.Package) bool {
		return p.Name == servicemesh.PackageIstio && p.Status.CurrentRevision != 0 && p.Status.CurrentRevision == p.Status.TargetRevision
	})
}
