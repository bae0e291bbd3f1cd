// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/controller/front"
	"github.com/strata-run/strata/internal/events"
	"github.com/strata-run/strata/internal/render"
	"github.com/strata-run/strata/internal/render/gatewayclass"
	"github.com/strata-run/strata/internal/status"
)

// gatewayClassFacts are what the front of GatewayClasses looks at besides them.
type gatewayClassFacts struct {
	// Input is what is rendered from.
	Input gatewayclass.Input
	// Ownership is who manages the Istio CRDs, and Migration what is left of an
	// OLM-based installation.
	Ownership gatewayclass.Ownership
	Migration gatewayclass.Migration
	// HandedOver says why nothing is managed any more, empty when it is.
	HandedOver string
	// Orphaned are the subscriptions that an operator before this one has made.
	Orphaned []gatewayclass.Subscription
	// Plane is the control plane's package, nil while there is none.
	Plane *v1alpha1.Package
	// Sync tells starts of istiod apart, empty while it is not available.
	Sync string
}

// gatewayClassFront installs one istiod for all GatewayClasses of our controller.
func gatewayClassFront(mgr manager.Manager, kinds *front.Kinds, o Options) front.Front[*gatewayv1.GatewayClass, gatewayClassFacts] {
	observer := &gatewayClassObserver{
		Client: mgr.GetClient(), Cache: mgr.GetCache(), Live: mgr.GetAPIReader(), Mapper: mgr.GetRESTMapper(), Served: kinds.Served, Now: time.Now,
		Settings: gatewayclass.Input{DefaultVersion: o.IstioVersion, Images: o.Images.All, VersionImages: o.Images.Versions},
	}
	return front.Front[*gatewayv1.GatewayClass, gatewayClassFacts]{
		Name:        "gatewayclass",
		Finalizer:   gatewayclass.Finalizer,
		List:        func() client.ObjectList { return &gatewayv1.GatewayClassList{} },
		Selects:     isOurClass,
		Observe:     observer.Observe,
		Render:      renderGatewayClasses,
		Leave:       leaveGatewayClasses,
		Annotations: syncGateways,
		Status:      setGatewayClassStatus,
		Events:      gatewayClassEvents,
		Again:       func(facts gatewayClassFacts) time.Duration { return facts.Migration.Again(time.Now()) },
		LiveStatus:  true, // istiod writes its own condition into the same list
		Watches:     gatewayClassWatches(),
	}
}

func isOurClass(class *gatewayv1.GatewayClass) bool {
	return class.Spec.ControllerName == gatewayclass.ControllerName
}

func renderGatewayClasses(in front.Input[*gatewayv1.GatewayClass, gatewayClassFacts]) ([]render.Package, error) {
	return gatewayclass.Render(in.Facts.Input)
}

// leaveGatewayClasses lets the CRDs stay for whoever manages them now, without a trace of
// us; they are retained anyway, and with a canary, which may be going at the same time,
// that has to do. When no class is left the control planes go first, as they use the CRDs.
func leaveGatewayClasses(in front.Input[*gatewayv1.GatewayClass, gatewayClassFacts]) front.Departure {
	return front.Departure{
		Orphan: in.Facts.HandedOver != "" || len(in.Resources) > 0 && in.Facts.Ownership.HandsOff() && find(in.Existing, gatewayclass.PackageCanary) == nil,
		Order:  []string{gatewayclass.PackageCanary, gatewayclass.PackageControlPlane, gatewayclass.PackageCRDs},
	}
}

// syncGateways marks each start of istiod on the classes.
func syncGateways(class *gatewayv1.GatewayClass, state front.State[gatewayClassFacts]) map[string]string {
	if state.Facts.Sync == "" || !class.DeletionTimestamp.IsZero() {
		return nil
	}
	return map[string]string{gatewayclass.AnnotationSync: state.Facts.Sync}
}

func setGatewayClassStatus(class *gatewayv1.GatewayClass, state front.State[gatewayClassFacts]) {
	if !class.DeletionTimestamp.IsZero() {
		return // it goes when its packages are gone
	}
	ownership := state.Facts.Ownership
	crds := status.CRDOwnership{Reason: string(ownership.Scenario), Missing: ownership.Missing}
	if crds.Reason != "" {
		crds.Message = ownership.Message()
	}
	warnings := gatewayClassWarnings(state)
	packages := state.Packages
	if isUnobserved(state) {
		// Its package says whether istiod serves, whatever else could not be read.
		packages = []status.FrontPackage{{Name: gatewayclass.PackageControlPlane, Package: state.Facts.Plane, Target: &v1alpha1.Revision{}}}
	}
	if held := state.Facts.HandedOver; held != "" {
		packages = []status.FrontPackage{{Name: gatewayclass.PackageCRDs, Held: held}, {Name: gatewayclass.PackageControlPlane, Held: held}}
	}
	conditions, generation := &class.Status.Conditions, class.Generation
	installed, cause := packages, state.Err
	if err := gatewayclass.CheckClass(class); err != nil {
		installed, cause = nil, err
	}
	status.SetControllerInstalled(conditions, generation, gatewayclass.PackageControlPlane, installed, cause, state.Now, warnings...)
	status.SetCRDsReady(conditions, generation, gatewayclass.PackageCRDs, packages, crds, state.Err, state.Now)
}

// gatewayClassWarnings are what needs somebody's attention while istiod serves.
func gatewayClassWarnings(state front.State[gatewayClassFacts]) []string {
	var warnings []string
	facts := state.Facts
	if facts.Ownership.Scenario == gatewayclass.ScenarioUnknownManagement || facts.Ownership.Scenario == gatewayclass.ScenarioMixedOwnership {
		warnings = append(warnings, "the Istio CRDs are left as they are, see the condition "+status.ConditionCRDsReady)
	}
	for _, s := range facts.Orphaned {
		warnings = append(warnings, fmt.Sprintf("subscription %s was made by the operator before this one, which is not needed any more: remove it if nothing else uses it", s))
	}
	canary := slices.ContainsFunc(state.Packages, func(p status.FrontPackage) bool { return p.Name == gatewayclass.PackageCanary })
	if lost := facts.Input.CanaryGateways; len(lost) > 0 && len(state.Packages) > 0 && !canary {
		const most = 4
		names := strings.Join(lost[:min(len(lost), most)], ", ")
		if len(lost) > most {
			names += fmt.Sprintf(" and %d more", len(lost)-most)
		}
		warnings = append(warnings, fmt.Sprintf("there is no canary, and nobody serves the Gateways that are labelled for it: set the label %s of %s to %s",
			gatewayclass.LabelRevision, names, gatewayclass.IstioRevision))
	}
	return warnings
}

// isUnobserved says that the cluster could not be read while there is a control plane, so
// that nothing was rendered. It says nothing about what is asked for.
func isUnobserved(state front.State[gatewayClassFacts]) bool {
	_, rendered := errors.AsType[*front.RenderError](state.Err)
	return state.Err != nil && !rendered && len(state.Packages) == 0 && state.Facts.Plane != nil
}

func gatewayClassEvents(before, after *gatewayv1.GatewayClass) []front.Event {
	var all []front.Event
	for _, e := range events.GatewayClass(before.Status.Conditions, after.Status.Conditions) {
		all = append(all, front.Event{Type: e.Type, Reason: e.Reason, Action: e.Action, Note: e.Note})
	}
	return all
}

// gatewayClassWatches are the further kinds that matter, most of which exist on OpenShift
// only.
func gatewayClassWatches() []front.Watch {
	watches := []front.Watch{
		{Object: front.Definition(), Changed: matters},
		{Object: &gatewayv1.Gateway{}, Changed: movedToCanary},
	}
	for _, kind := range []metav1.TypeMeta{typeOf(kindSubscription), typeOf(kindInstallPlan)} {
		watches = append(watches, front.Watch{Object: &metav1.PartialObjectMetadata{TypeMeta: kind}, Changed: ofMesh})
	}
	for _, kind := range platformKinds {
		watches = append(watches, front.Watch{Object: untyped(kind), Changed: named("cluster")})
	}
	for _, kind := range []runtimeKind{gatewayclass.KindIstio, gatewayclass.KindIstioRevision} {
		watches = append(watches, front.Watch{Object: untyped(kind), Changed: named(gatewayclass.IstioRevision)})
	}
	return watches
}
