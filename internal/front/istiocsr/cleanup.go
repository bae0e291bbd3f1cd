// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front"
)

// uninstalling are the packages, sorted, that have to release what agents of one mesh share
// before that of an IstioCSR can have it.
func uninstalling(ic *operatorv1alpha1.IstioCSR, group front.Group[*operatorv1alpha1.IstioCSR]) []string {
	var names []string
	for i := range group.Existing {
		name := group.Existing[i].Name
		elsewhere := slices.ContainsFunc(group.Deleting, func(other *operatorv1alpha1.IstioCSR) bool {
			return PackageName(other.Namespace) == name && other.Spec.Undecodable == "" &&
				other.Spec.IstioCSRConfig.Istio.Namespace != ic.Spec.IstioCSRConfig.Istio.Namespace
		})
		if name != PackageName(ic.Namespace) && !elsewhere {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// releaseMeshObjects removes the label of an agent's package that is gone from what that package
// orphaned in the mesh for another agent: with the label it would count as the other
// package's for ever.
func (o *observer) releaseMeshObjects(ctx context.Context, ic *operatorv1alpha1.IstioCSR, binding *unstructured.Unstructured) error {
	owner := binding.GetLabels()[v1alpha1.LabelPackage]
	if !strings.HasPrefix(owner, PackagePrefix) || owner == PackageName(ic.Namespace) || metav1.GetControllerOf(binding) != nil {
		return nil
	}
	exists, err := front.Read(ctx, o.live, "", owner, front.Metadata(v1alpha1.GroupVersion.WithKind("Package")))
	if err != nil || exists {
		return err
	}
	for _, object := range MeshObjects() {
		key := types.NamespacedName{Namespace: ic.Spec.IstioCSRConfig.Istio.Namespace, Name: object.Name}
		if err := o.releaseObject(ctx, key, owner, front.Metadata(object.Kind)); err != nil {
			return err
		}
	}
	return nil
}

// releaseObject removes the label of a package from an object without a controller.
func (o *observer) releaseObject(ctx context.Context, key types.NamespacedName, owner string, current *metav1.PartialObjectMetadata) error {
	kind := current.Kind
	err := o.live.Get(ctx, key, current)
	switch {
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return nil
	case err != nil:
		return fmt.Errorf("reading %s %s: %w", kind, key, err)
	case current.Labels[v1alpha1.LabelPackage] != owner, metav1.GetControllerOf(current) != nil:
		return nil
	}
	patch := front.MetadataPatch{"labels": map[string]any{v1alpha1.LabelPackage: nil}}
	if err := o.writer.Patch(ctx, current, patch, front.FieldOwner); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("releasing %s %s, which package %s has left: %w", kind, key, owner, err)
	}
	return nil
}
