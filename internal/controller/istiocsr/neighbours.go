// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/controller/front"
	"github.com/strata-run/strata/internal/render/istiocsr"
)

// bindingKind is that of what gives an agent its rights in a mesh.
var bindingKind = schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding"}

// observeNeighbours looks for agents that have rights in the mesh and that nobody is about
// to remove: the next agent takes over the binding, and not their rights.
func (o *observer) observeNeighbours(ctx context.Context, ic *operatorv1alpha1.IstioCSR, group front.Group[*operatorv1alpha1.IstioCSR], facts *observed) error {
	key := types.NamespacedName{Namespace: ic.Spec.IstioCSRConfig.Istio.Namespace, Name: istiocsr.AgentName}
	binding := front.Untyped(bindingKind)
	if _, err := front.Found(o.pins.Get(ctx, key, binding)); err != nil {
		return fmt.Errorf("reading RoleBinding %s: %w", key, err)
	}
	if facts.GoingFirst = goingFirst(ic, group); len(facts.GoingFirst) == 0 {
		if err := o.releaseLeft(ctx, ic, binding); err != nil {
			return err
		}
	}
	for _, namespace := range istiocsr.OthersBound(ic, binding) {
		if goes(group, namespace) {
			continue
		}
		key := types.NamespacedName{Namespace: namespace, Name: istiocsr.AgentName}
		deployment := &metav1.PartialObjectMetadata{}
		deployment.SetGroupVersionKind(deploymentKind)
		runs, err := front.Found(o.pins.Get(ctx, key, deployment))
		if err != nil {
			return fmt.Errorf("reading Deployment %s: %w", key, err)
		}
		if runs {
			facts.LeftRunning = append(facts.LeftRunning, namespace)
		}
	}
	return nil
}

// goes says whether the agent in a namespace is being removed with its IstioCSR. One that
// has no package never got the agent there.
func goes(group front.Group[*operatorv1alpha1.IstioCSR], namespace string) bool {
	removed := func(ic *operatorv1alpha1.IstioCSR) bool {
		return ic.Namespace == namespace && istiocsr.RemovesOnDeletion(ic)
	}
	return slices.ContainsFunc(group.Leaving, removed) && hasPackage(group, namespace)
}

// hasPackage says whether there is a package of the agent in a namespace.
func hasPackage(group front.Group[*operatorv1alpha1.IstioCSR], namespace string) bool {
	return slices.ContainsFunc(group.Existing, func(pkg v1alpha1.Package) bool { return pkg.Name == istiocsr.PackageName(namespace) })
}
