// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayclass

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/strata-run/strata/internal/controller/loop"
	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/telemetry"
)

// labeler puts the label istio.io/rev on the Gateways of our classes, in every
// namespace: an istiod with a revision serves no others. A label that is there stays,
// whatever it says, so that a Gateway can be moved to a canary. When a Gateway moves to the
// class of another controller, the label goes that the labeler has put there: that controller's
// istiod would ignore the Gateway.
type labeler struct {
	Client   client.Client
	Live     client.Reader
	Recorder events.EventRecorder
	// Served says whether the classes can be read.
	Served    func(kind schema.GroupVersionKind) bool
	conflicts loop.Conflicts
}

// setupLabeler adds the labeler to a manager. It rests while there are no Gateways.
func setupLabeler(w front.Wiring) error {
	mgr, kinds := w.Manager, w.Kinds
	l := &labeler{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Recorder: w.Recorder, Served: kinds.Served}
	c, err := controller.New("gateway-labeler", mgr, controller.Options{Reconciler: l, RateLimiter: loop.RateLimiter()})
	if err != nil {
		return fmt.Errorf("setting up the labeler of Gateways: %w", err)
	}
	gateways := func() error {
		return c.Watch(source.Kind[client.Object](mgr.GetCache(), &gatewayv1.Gateway{}, &handler.EnqueueRequestForObject{}, mayNeedLabel))
	}
	if err := kinds.Await(gatewayKind, &gatewayv1.Gateway{}, gateways); err != nil {
		return fmt.Errorf("setting up the labeler of Gateways: %w", err)
	}
	classes := func() error {
		return c.Watch(source.Kind[client.Object](mgr.GetCache(), &gatewayv1.GatewayClass{}, handler.EnqueueRequestsFromMapFunc(l.ofClass), onlyNew))
	}
	if err := kinds.Await(gatewayClassKind, &gatewayv1.GatewayClass{}, classes); err != nil {
		return fmt.Errorf("setting up the labeler of Gateways: %w", err)
	}
	return nil
}

// onlyNew lets through what has come: a class never becomes ours later.
var onlyNew = predicate.Funcs{
	UpdateFunc: func(event.UpdateEvent) bool { return false },
	DeleteFunc: func(event.DeleteEvent) bool { return false },
}

// mayNeedLabel lets Gateways through that have no label, and those with one of ours when they
// have come to another class.
var mayNeedLabel = predicate.Funcs{
	CreateFunc: func(e event.CreateEvent) bool { return !hasRevision(e.Object) || hasOurRevision(e.Object) },
	DeleteFunc: func(event.DeleteEvent) bool { return false },
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*gatewayv1.Gateway)
		after, also := e.ObjectNew.(*gatewayv1.Gateway)
		moved := ok && also && before.Spec.GatewayClassName != after.Spec.GatewayClassName
		return !hasRevision(e.ObjectNew) || moved && hasOurRevision(e.ObjectNew)
	},
}

// hasOurRevision says whether the label of a Gateway names an istiod of the front.
func hasOurRevision(gateway client.Object) bool {
	revision := gateway.GetLabels()[LabelRevision]
	return revision == IstioRevision || revision == CanaryRevision
}

func hasRevision(gateway client.Object) bool {
	_, labelled := gateway.GetLabels()[LabelRevision]
	return labelled
}

// ofClass are the Gateways that were there before their class, and those that a class of before
// with its name has left a label on.
func (l *labeler) ofClass(ctx context.Context, object client.Object) []reconcile.Request {
	class, ok := object.(*gatewayv1.GatewayClass)
	if !ok || !l.Served(gatewayKind) {
		return nil
	}
	concerned := hasOurRevision
	if isOurClass(class) {
		concerned = func(gateway client.Object) bool { return !hasRevision(gateway) }
	}
	list := &gatewayv1.GatewayList{}
	if err := l.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil // the watch of Gateways brings those that come
	}
	var requests []reconcile.Request
	for i := range list.Items {
		if gateway := &list.Items[i]; string(gateway.Spec.GatewayClassName) == class.Name && concerned(gateway) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(gateway)})
		}
	}
	return requests
}

// Reconcile labels one Gateway, or takes the label off.
func (l *labeler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	return l.conflicts.Decide(ctx, request, loop.Outcome{}, l.label(ctx, request.NamespacedName))
}

func (l *labeler) label(ctx context.Context, name types.NamespacedName) error {
	if !l.Served(gatewayKind) || !l.Served(gatewayClassKind) {
		return nil
	}
	gateway := &gatewayv1.Gateway{}
	if err := l.Client.Get(ctx, name, gateway); err != nil {
		return client.IgnoreNotFound(err)
	}
	if hasRevision(gateway) && !hasOurRevision(gateway) || !gateway.DeletionTimestamp.IsZero() {
		return nil
	}
	class := &gatewayv1.GatewayClass{}
	err := l.Client.Get(ctx, types.NamespacedName{Name: string(gateway.Spec.GatewayClassName)}, class)
	if apierrors.IsNotFound(err) {
		return nil // its creation brings us back
	}
	if err != nil {
		return fmt.Errorf("reading GatewayClass %s: %w", gateway.Spec.GatewayClassName, err)
	}
	switch {
	case isOurClass(class) == hasRevision(gateway):
		return nil
	case hasRevision(gateway):
		return l.unlabel(ctx, name)
	}
	changed := gateway.DeepCopy()
	if err := l.Client.Patch(ctx, changed, front.MetadataPatch{"labels": map[string]any{LabelRevision: IstioRevision}}, front.FieldOwner); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("labelling Gateway %s: %w", name, err))
	}
	l.Recorder.Eventf(changed, nil, corev1.EventTypeNormal, telemetry.ReasonAddedLabel, "Label", "Added the label %s=%s: istiod serves no Gateway without", LabelRevision, IstioRevision)
	return nil
}

// unlabel takes the label off a Gateway that has left, unless it is a user's.
func (l *labeler) unlabel(ctx context.Context, name types.NamespacedName) error {
	gateway := front.Metadata(gatewayKind)
	if err := l.Live.Get(ctx, name, gateway); err != nil {
		return client.IgnoreNotFound(err)
	}
	value := gateway.Labels[LabelRevision]
	if !hasOurRevision(gateway) || !front.Owns(string(front.FieldOwner), gateway.ManagedFields, "f:metadata", "f:labels", "f:"+LabelRevision) {
		return nil
	}
	if err := l.Client.Patch(ctx, gateway, front.MetadataPatch{"labels": map[string]any{LabelRevision: nil}}, front.FieldOwner); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("taking the label off Gateway %s: %w", name, err))
	}
	l.Recorder.Eventf(gateway, nil, corev1.EventTypeNormal, telemetry.ReasonRemovedLabel, "Label", "Removed the label %s=%s: the GatewayClass is another controller's", LabelRevision, value)
	return nil
}
