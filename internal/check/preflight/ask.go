// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"encoding/json"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/revisions"
)

// This file has every request of a check. None of them changes anything.

// clusterWide is a namespace that cannot exist, so no RoleBinding grants anything
// in it: of the rules there, all hold in the whole cluster.
const clusterWide = "*"

// read is the live state of a changed object, and whether it exists. A read that
// is forbidden is a finding.
func (c *Checker) read(ctx context.Context, in Input, change change, found *findings) (*unstructured.Unstructured, bool, error) {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(change.kind())
	err := c.Live.Get(ctx, types.NamespacedName{Namespace: change.id.Namespace, Name: change.id.Name}, live)
	switch {
	case err == nil:
		return live, true, nil
	case apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse):
		return nil, false, nil
	case apierrors.IsForbidden(err):
		found.add(CheckPermission, change.id, fmt.Sprintf("%s may not get %s", in.identity(), change.id), grantRemedy(in))
		return nil, false, nil
	default:
		return nil, false, fmt.Errorf("reading the live %s: %w", change.id, err)
	}
}

// rulesIn asks what the identity may do in a namespace.
func (c *Checker) rulesIn(ctx context.Context, namespace string) (rights, error) {
	review := &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace}}
	if err := c.review(ctx, "SelfSubjectRulesReview", review); err != nil {
		return rights{}, fmt.Errorf("asking for the rights in namespace %s: %w", namespace, err)
	}
	return rights{rules: review.Status.ResourceRules, complete: !review.Status.Incomplete}, nil
}

// may asks whether the identity may do one thing.
func (c *Checker) may(ctx context.Context, attributes authorizationv1.ResourceAttributes) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &attributes}}
	if err := c.review(ctx, "SelfSubjectAccessReview", review); err != nil {
		return false, fmt.Errorf("asking for the right to %s %s: %w", attributes.Verb, attributes.Resource, err)
	}
	return review.Status.Allowed, nil
}

// review sends a question about rights, and reads the answer into it. It is sent
// untyped, so that the client needs no scheme.
func (c *Checker) review(ctx context.Context, kind string, question any) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(question)
	if err != nil {
		return fmt.Errorf("encoding: %w", err)
	}
	request := &unstructured.Unstructured{Object: content}
	request.SetGroupVersionKind(authorizationv1.SchemeGroupVersion.WithKind(kind))
	if err := c.Writer.Create(ctx, request); err != nil {
		return err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(request.Object, question); err != nil {
		return fmt.Errorf("decoding: %w", err)
	}
	return nil
}

// tryOut applies an object as the engine would, without effect. Of an object that
// exists the UID is given, so that it is not tried out as a new one.
func (c *Checker) tryOut(ctx context.Context, request *unstructured.Unstructured) error {
	data, err := json.Marshal(request.Object)
	if err != nil {
		return fmt.Errorf("encoding: %w", err)
	}
	answer := &unstructured.Unstructured{}
	answer.SetGroupVersionKind(request.GroupVersionKind())
	answer.SetNamespace(request.GetNamespace())
	answer.SetName(request.GetName())
	return c.Writer.Patch(ctx, answer, client.RawPatch(types.ApplyPatchType, data), client.DryRunAll, client.FieldOwner(revisions.DefaultFieldOwner), client.ForceOwnership)
}
