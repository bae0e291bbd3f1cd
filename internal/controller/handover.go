// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front/gatewayclass"
)

// HandOver is what the front of GatewayClasses has of a cluster.
type HandOver struct {
	// Packages are the front's, and Classes the GatewayClasses with its controller name.
	Packages []v1alpha1.Package
	Classes  []gatewayv1.GatewayClass

	live client.Client
}

// FindHandOver reads what there is to be handed over.
func FindHandOver(ctx context.Context, config *rest.Config) (*HandOver, error) {
	live, err := newLive(config)
	if err != nil {
		return nil, err
	}
	h := &HandOver{live: live}
	err = h.read(ctx)
	return h, err
}

func (h *HandOver) read(ctx context.Context) error {
	packages, classes := &v1alpha1.PackageList{}, &gatewayv1.GatewayClassList{}
	if err := h.live.List(ctx, packages, client.MatchingLabels{v1alpha1.LabelFront: gatewayclass.FrontName}); err != nil && !meta.IsNoMatchError(err) {
		return fmt.Errorf("listing packages: %w", err)
	}
	if err := h.live.List(ctx, classes); err != nil && !meta.IsNoMatchError(err) {
		return fmt.Errorf("listing GatewayClasses: %w", err)
	}
	h.Packages, h.Classes = packages.Items, nil
	for i := range classes.Items {
		if classes.Items[i].Spec.ControllerName == gatewayclass.ControllerName {
			h.Classes = append(h.Classes, classes.Items[i])
		}
	}
	return nil
}

// Annotate asks every class to be handed over: a manager that runs, or is started later, makes
// no package and sets no finalizer any more.
func (h *HandOver) Annotate(ctx context.Context, options ...client.PatchOption) error {
	for i := range h.Classes {
		before := h.Classes[i].DeepCopy()
		metav1.SetMetaDataAnnotation(&h.Classes[i].ObjectMeta, gatewayclass.AnnotationHandOver, "true")
		if err := h.live.Patch(ctx, &h.Classes[i], client.MergeFrom(before), options...); err != nil {
			return fmt.Errorf("annotating GatewayClass %s: %w", before.Name, err)
		}
	}
	return nil
}

// Pass hands over without the front: the packages are deleted and their objects stay, without
// owner reference and label, and the classes lose the front's finalizer and conditions. It says
// what is left for another pass.
func (h *HandOver) Pass(ctx context.Context, config *rest.Config, namespace string) ([]string, error) {
	for i := range h.Packages {
		pkg := &h.Packages[i]
		before := pkg.DeepCopy()
		// Without it the policies of config/policy refuse every user but the manager.
		metav1.SetMetaDataAnnotation(&pkg.ObjectMeta, v1alpha1.AnnotationAllowDeletion, "hand-over")
		if err := h.live.Patch(ctx, pkg, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("annotating package %s: %w", pkg.Name, err)
		}
		err := h.live.Delete(ctx, pkg, client.Preconditions{UID: &pkg.UID}, client.PropagationPolicy(metav1.DeletePropagationOrphan))
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("deleting package %s: %w", pkg.Name, err)
		}
	}
	err := release(ctx, config, namespace, func(pkg *v1alpha1.Package) bool { return pkg.Labels[v1alpha1.LabelFront] == gatewayclass.FrontName })
	if err := errors.Join(err, h.read(ctx)); err != nil {
		return nil, err
	}
	if len(h.Packages) == 0 {
		for i := range h.Classes {
			if err := gatewayclass.Free(ctx, h.live, &h.Classes[i]); err != nil && !apierrors.IsConflict(err) {
				return nil, err
			}
		}
	}
	return h.Left(ctx)
}

// Left names what has not been handed over yet.
func (h *HandOver) Left(ctx context.Context) ([]string, error) {
	if err := h.read(ctx); err != nil {
		return nil, err
	}
	var left []string
	for i := range h.Packages {
		left = append(left, "package "+h.Packages[i].Name)
	}
	for i := range h.Classes {
		if gatewayclass.IsMarked(&h.Classes[i]) {
			left = append(left, "GatewayClass "+h.Classes[i].Name)
		}
	}
	return left, nil
}
