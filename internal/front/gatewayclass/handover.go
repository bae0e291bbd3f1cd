// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayclass

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/strata-run/strata/internal/front"
)

// FrontName is the front's name, which stands on its packages.
const FrontName = "gatewayclass"

// classConditions are those that the front sets.
var classConditions = []string{ConditionControllerInstalled, ConditionCRDsReady}

// freeClasses takes what the front has set off classes that are handed over, once all packages
// are gone. What another operator has set since stays, which only a live read shows.
func (o *observer) freeClasses(ctx context.Context, group front.Group[*gatewayv1.GatewayClass]) error {
	if len(group.Existing) > 0 {
		return nil
	}
	for _, class := range group.Resources {
		if !isHeld(class) {
			continue
		}
		live := &gatewayv1.GatewayClass{}
		if err := o.Live.Get(ctx, client.ObjectKeyFromObject(class), live); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("reading GatewayClass %s: %w", class.Name, err)
		}
		if err := free(ctx, o.Client, live); err != nil {
			return err
		}
	}
	return nil
}

// free takes the front's finalizer and conditions off a class that was just read from the API
// server, unless all of them are another operator's by now.
func free(ctx context.Context, writer client.Client, class *gatewayv1.GatewayClass) error {
	if !isMarked(class) {
		return nil
	}
	locked := client.MergeFromWithOptimisticLock{}
	before := class.DeepCopy()
	if controllerutil.RemoveFinalizer(class, Finalizer) {
		if err := writer.Patch(ctx, class, client.MergeFromWithOptions(before, locked)); err != nil {
			return client.IgnoreNotFound(fmt.Errorf("taking the finalizer off GatewayClass %s: %w", class.Name, err))
		}
	}
	before = class.DeepCopy()
	for _, condition := range classConditions {
		meta.RemoveStatusCondition(&class.Status.Conditions, condition)
	}
	if len(class.Status.Conditions) == len(before.Status.Conditions) {
		return nil
	}
	if err := writer.Status().Patch(ctx, class, client.MergeFromWithOptions(before, locked)); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("taking the conditions off GatewayClass %s: %w", class.Name, err))
	}
	return nil
}

// isHeld says whether a class has a finalizer or conditions as the front sets them.
func isHeld(class *gatewayv1.GatewayClass) bool {
	return controllerutil.ContainsFinalizer(class, Finalizer) ||
		slices.ContainsFunc(classConditions, func(name string) bool { return meta.FindStatusCondition(class.Status.Conditions, name) != nil })
}

// isMarked says whether the finalizer of a class or one of its conditions is the manager's by
// managedFields. Another operator may use the same names. What has no entry at all counts as
// the manager's.
func isMarked(class *gatewayv1.GatewayClass) bool {
	if controllerutil.ContainsFinalizer(class, Finalizer) &&
		isManaged(class.ManagedFields, "f:metadata", "f:finalizers", fmt.Sprintf("v:%q", Finalizer)) {
		return true
	}
	return slices.ContainsFunc(classConditions, func(name string) bool {
		return meta.FindStatusCondition(class.Status.Conditions, name) != nil &&
			isManaged(class.ManagedFields, "f:status", "f:conditions", fmt.Sprintf(`k:{"type":%q}`, name))
	})
}

// isManaged says whether a field has an entry of the manager, or none at all.
func isManaged(entries []metav1.ManagedFieldsEntry, path ...string) bool {
	return front.Owns(front.Manager, entries, path...) ||
		!slices.ContainsFunc(entries, func(e metav1.ManagedFieldsEntry) bool { return front.Owns(e.Manager, entries, path...) })
}
