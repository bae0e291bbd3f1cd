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

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front"
)

// HandOver is what the front that can hand over has of a cluster.
type HandOver struct {
	// Front is its name, empty when no front can.
	Front string
	// Packages are the front's, and Resources those with its packages' content.
	Packages  []v1alpha1.Package
	Resources []client.Object

	front front.Registration
	live  client.Client
}

// FindHandOver reads what the front that can hand over has of a cluster.
func FindHandOver(ctx context.Context, config *rest.Config) (*HandOver, error) {
	live, err := newLive(config)
	if err != nil {
		return nil, err
	}
	h := &HandOver{live: live}
	for _, f := range Fronts {
		if f.HandOver != nil {
			h.Front, h.front = f.Name, f
			err := h.read(ctx)
			return h, err
		}
	}
	return h, nil
}

func (h *HandOver) read(ctx context.Context) error {
	packages := &v1alpha1.PackageList{}
	if err := h.live.List(ctx, packages, client.MatchingLabels{v1alpha1.LabelFront: h.front.Name}); err != nil && !meta.IsNoMatchError(err) {
		return fmt.Errorf("listing packages: %w", err)
	}
	resources, err := h.front.HandOver.List(ctx, h.live)
	h.Packages, h.Resources = packages.Items, resources
	return err
}

// Annotate asks every resource to be handed over: a manager that runs, or is started later, makes
// no package and sets no finalizer any more.
func (h *HandOver) Annotate(ctx context.Context, options ...client.PatchOption) error {
	for _, resource := range h.Resources {
		before, ok := resource.DeepCopyObject().(client.Object)
		if !ok {
			continue // a copy has the same type
		}
		annotations := resource.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[h.front.HandOver.Annotation] = "true"
		resource.SetAnnotations(annotations)
		if err := h.live.Patch(ctx, resource, client.MergeFrom(before), options...); err != nil {
			return fmt.Errorf("annotating %s: %w", h.named(resource), err)
		}
	}
	return nil
}

// Pass hands over without the front: the packages are deleted and their objects stay, without
// owner reference and label, and the resources lose the front's finalizer and conditions. It says
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
	err := release(ctx, config, namespace, func(pkg *v1alpha1.Package) bool { return pkg.Labels[v1alpha1.LabelFront] == h.front.Name })
	if err := errors.Join(err, h.read(ctx)); err != nil {
		return nil, err
	}
	if len(h.Packages) == 0 {
		for _, resource := range h.Resources {
			if err := h.front.HandOver.Free(ctx, h.live, resource); err != nil && !apierrors.IsConflict(err) {
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
	for _, resource := range h.Resources {
		if h.front.HandOver.Marked(resource) {
			left = append(left, h.named(resource))
		}
	}
	return left, nil
}

func (h *HandOver) named(resource client.Object) string {
	return h.front.Kind.Kind + " " + resource.GetName()
}
