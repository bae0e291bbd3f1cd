// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/front/gateway/ingress"
	"github.com/strata-run/strata/internal/telemetry"
)

// frontName is the front's name, which stands on its packages.
const frontName = "gateway"

// newFront makes the DNSRecords of Gateways, and writes into the Gateways' status
// whether they and the load balancers work. Other controllers write into the same
// status, which is why it is made from a live read.
func newFront(observer *observer) front.Front[*gatewayv1.Gateway, Facts] {
	return front.Front[*gatewayv1.Gateway, Facts]{
		Name:    frontName,
		List:    func() client.ObjectList { return &gatewayv1.GatewayList{} },
		Selects: func(g *gatewayv1.Gateway) bool { return g.Namespace == Namespace },
		Group:   func(g *gatewayv1.Gateway) string { return groupOf(g.Name) },
		Observe: observer.Observe,
		Render:  renderRecords,
		Status: func(g *gatewayv1.Gateway, state front.State[Facts]) {
			known := observer.steady.recall(g)
			setStatus(g, state)
			if known {
				observer.steady.apply(g, state.Now.Time)
			}
		},
		Again:      func(Facts) time.Duration { return observer.steady.after(time.Now()) },
		Conditions: conditionsOf,
		LiveStatus: true,
		Changed:    changed,
		Watches: []front.Watch{
			// A class cannot change sides, so that only its coming and going matters.
			{Object: &gatewayv1.GatewayClass{}, Changed: predicate.Funcs{UpdateFunc: func(event.UpdateEvent) bool { return false }}},
			{Object: &corev1.Service{}, Groups: ofLabel},
			{Object: &corev1.Event{}, Groups: observer.ofService},
			{Object: front.Untyped(RecordKind), Groups: ofLabel},
			{Object: front.Untyped(DNSKind)},
			{Object: front.Untyped(InfrastructureKind)},
		},
	}
}

func groupOf(name string) string { return Namespace + "/" + name }

func renderRecords(in front.Input[*gatewayv1.Gateway, Facts]) ([]content.Package, error) {
	var packages []content.Package
	for _, g := range in.Resources { // a group is one Gateway
		decision, err := Decide(g, in.Facts)
		if err != nil {
			return nil, err
		}
		if decision.Package != nil {
			packages = append(packages, *decision.Package)
		}
	}
	return packages, nil
}

func setStatus(g *gatewayv1.Gateway, state front.State[Facts]) {
	facts := state.Facts
	if !g.DeletionTimestamp.IsZero() {
		return
	}
	switch facts.Class {
	case ClassMissing: // which controller it will name is not known
	case ClassForeign:
		ingress.RemoveFromGateway(g)
	case ClassOurs:
		ingress.Gateway(g, ingress.GatewayInput{
			Service: facts.Service, Others: facts.Others, Events: facts.Events, Config: facts.Config, Platform: facts.Platform,
			Records: facts.Records, Missing: missingRecords(g, state), Now: state.Now,
		})
	}
}

// conditionsOf are our conditions of a Gateway and of its listeners.
func conditionsOf(g *gatewayv1.Gateway) []telemetry.ResourceCondition {
	all := front.ConditionsOf(g, "", g.Status.Conditions, ingress.ConditionLoadBalancerReady)
	for i := range g.Status.Listeners {
		listener := &g.Status.Listeners[i]
		all = append(all, front.ConditionsOf(g, string(listener.Name), listener.Conditions, ingress.ConditionDNSReady)...)
	}
	return all
}

// missingRecords says why a hostname may have no record.
func missingRecords(g *gatewayv1.Gateway, state front.State[Facts]) string {
	if state.Err != nil {
		return state.Err.Error()
	}
	if decision, err := Decide(g, state.Facts); err == nil && decision.Reason != "" {
		return decision.Reason
	}
	for _, p := range state.Packages {
		if why := unfinished(p); why != "" {
			return why
		}
	}
	return ""
}

// unfinished says why a package has not been rolled out, empty if it has.
func unfinished(p front.Package) string {
	if p.Package == nil {
		return ""
	}
	if why := front.Excluded(p); why != "" {
		return why
	}
	progressing := meta.FindStatusCondition(p.Package.Status.Conditions, v1alpha1.ConditionProgressing)
	if progressing == nil || progressing.Reason == v1alpha1.ReasonRolledOut {
		return ""
	}
	return fmt.Sprintf("package %s: %s", p.Name, progressing.Message)
}

// changed lets news through of what a Gateway asks for, and of its status: the
// controller of the Gateways carries conditions of listeners over by position, so that
// ours have to be put right after it has written.
var changed = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, ok := e.ObjectOld.(*gatewayv1.Gateway)
	after, also := e.ObjectNew.(*gatewayv1.Gateway)
	return ok && also && (before.Generation != after.Generation || !equality.Semantic.DeepEqual(before.Status, after.Status) ||
		before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero())
}}

// ofLabel is the Gateway that an object says that it belongs to.
func ofLabel(_ context.Context, object client.Object) []string {
	name := object.GetLabels()[LabelGateway]
	if name == "" || object.GetNamespace() != Namespace {
		return nil
	}
	return []string{groupOf(name)}
}
