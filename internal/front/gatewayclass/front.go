// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayclass

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/telemetry"
)

// observed are what the front of GatewayClasses looks at besides them.
type observed struct {
	// Input is what is rendered from.
	Input Input
	// Ownership is who manages the Istio CRDs, and Migration what is left of an
	// OLM-based installation.
	Ownership Ownership
	Migration Migration
	// Again is when to observe again without an event, 0 for not at all.
	Again time.Duration
	// HandedOver says why nothing is managed any more, empty when it is.
	HandedOver string
	// Orphaned are the subscriptions that an operator before this one has made.
	Orphaned []Subscription
	// Plane is the control plane's package, nil while there is none.
	Plane *v1alpha1.Package
	// Sync identifies a start of istiod, empty while it is not available.
	Sync string
}

// setup adds the front to a manager. Of the settings, only what is the manager's to say is
// read: versions and images.
func setup(w front.Wiring, settings Input) error {
	if err := setupLabeler(w); err != nil {
		return err
	}
	mgr := w.Manager
	return front.Setup(w, &gatewayv1.GatewayClass{}, newFront(&observer{
		Client: mgr.GetClient(), Cache: mgr.GetCache(), Live: mgr.GetAPIReader(), Mapper: mgr.GetRESTMapper(), Served: w.Kinds.Served, Now: time.Now,
		Settings: settings, NoRoom: front.Warning{Recorder: w.Recorder, Reason: telemetry.ReasonNoRoomForCondition, Action: "SetCondition"},
	}))
}

// newFront installs one istiod for all GatewayClasses of our controller.
func newFront(o *observer) front.Front[*gatewayv1.GatewayClass, observed] {
	return front.Front[*gatewayv1.GatewayClass, observed]{
		Name:           FrontName,
		Finalizer:      Finalizer,
		NeedsFinalizer: func(_ *gatewayv1.GatewayClass, among []*gatewayv1.GatewayClass) bool { return handedOver(among) == "" },
		List:           func() client.ObjectList { return &gatewayv1.GatewayClassList{} },
		Selects:        isOurClass,
		Observe:        o.Observe,
		Render:         func(in groupInput) ([]content.Package, error) { return Render(in.Facts.Input) },
		Teardown:       teardown,
		Annotations:    syncGateways,
		Status:         setStatus,
		Events: func(before, after *gatewayv1.GatewayClass) []telemetry.Event {
			return conditionEvents(before.Status.Conditions, after.Status.Conditions)
		},
		Conditions: func(class *gatewayv1.GatewayClass) []telemetry.ResourceCondition {
			return front.ConditionsOf(class, "", class.Status.Conditions, classConditions...)
		},
		Again:      func(facts observed) time.Duration { return facts.Again },
		LiveStatus: true, // istiod writes its own condition into the same list
		Watches:    watches(),
	}
}

func isOurClass(class *gatewayv1.GatewayClass) bool {
	return class.Spec.ControllerName == ControllerName
}

// groupInput is what is rendered for all classes.
type groupInput = front.Input[*gatewayv1.GatewayClass, observed]

// teardown keeps the CRDs, which are retained anyway, without our labels for the operator
// that manages them now. When no class is left the control planes are deleted first, as
// they use the CRDs. All of it stays for another operator that takes over.
func teardown(in groupInput) front.Teardown {
	plan := front.Teardown{Order: []string{PackageCanary, PackageControlPlane, PackageCRDs}}
	switch {
	case in.Facts.HandedOver != "", len(in.Resources) == 0 && asksForHandOver(in.Deleting):
		plan.Orphans = plan.Order
	case len(in.Resources) > 0 && in.Facts.Ownership.HandsOff():
		plan.Orphans = []string{PackageCRDs}
	}
	return plan
}

// handedOver is why nothing is managed for classes any more, empty when it is.
func handedOver(classes []*gatewayv1.GatewayClass) string {
	all := make([]gatewayv1.GatewayClass, len(classes))
	for i, class := range classes {
		all[i] = *class
	}
	return HandOver(all)
}

// asksForHandOver says whether one of the classes that are being deleted was to be handed over:
// its deletion ends that no more than it ends the other operator's istiod.
func asksForHandOver(deleted []*gatewayv1.GatewayClass) bool {
	return slices.ContainsFunc(deleted, func(class *gatewayv1.GatewayClass) bool {
		return strings.TrimSpace(class.Annotations[AnnotationHandOver]) != ""
	})
}

// syncGateways marks each start of istiod on the classes.
func syncGateways(class *gatewayv1.GatewayClass, state front.State[observed]) map[string]string {
	if state.Facts.Sync == "" || !class.DeletionTimestamp.IsZero() {
		return nil
	}
	return map[string]string{AnnotationSync: state.Facts.Sync}
}

func setStatus(class *gatewayv1.GatewayClass, state front.State[observed]) {
	if !class.DeletionTimestamp.IsZero() {
		return // it goes when its packages are gone
	}
	ownership := state.Facts.Ownership
	crds := CRDOwnership{Reason: string(ownership.Scenario), Missing: ownership.Missing}
	if crds.Reason != "" {
		crds.Message = ownership.Message()
	}
	warnings := append(warningsOf(state), Overruled(class, state.Facts.Input.Classes)...)
	packages := state.Packages
	if isUnobserved(state) || isOfAnother(class, state) {
		// Its package says whether istiod serves, whatever else could not be read.
		packages = []front.Package{{Name: PackageControlPlane, Package: state.Facts.Plane, Target: &v1alpha1.Revision{}}}
	}
	if reason := state.Facts.HandedOver; reason != "" {
		if len(state.Unwanted) == 0 {
			return // another operator may set the conditions by now
		}
		packages = []front.Package{{Name: PackageCRDs, Blocked: reason}, {Name: PackageControlPlane, Blocked: reason}}
	}
	conditions, generation := &class.Status.Conditions, class.Generation
	installed, cause := packages, state.Err
	if err := CheckClass(class); err != nil {
		installed, cause = nil, err
	}
	SetControllerInstalled(conditions, generation, PackageControlPlane, installed, cause, state.Now, warnings...)
	SetCRDsReady(conditions, generation, PackageCRDs, packages, crds, state.Err, state.Now)
}

// warningsOf are what a user has to look at while istiod serves.
func warningsOf(state front.State[observed]) []string {
	var warnings []string
	facts := state.Facts
	if facts.Ownership.Scenario == ScenarioUnknownManagement || facts.Ownership.Scenario == ScenarioMixedOwnership {
		warnings = append(warnings, "the Istio CRDs are left as they are, see the condition "+ConditionCRDsReady)
	}
	for _, s := range facts.Orphaned {
		warnings = append(warnings, fmt.Sprintf("subscription %s was made by the operator before this one, which is not needed any more: remove it if nothing else uses it", s))
	}
	canary := slices.ContainsFunc(state.Packages, func(p front.Package) bool { return p.Name == PackageCanary })
	if lost := facts.Input.CanaryGateways; len(lost) > 0 && len(state.Packages) > 0 && !canary {
		const most = 4
		names := strings.Join(lost[:min(len(lost), most)], ", ")
		if len(lost) > most {
			names += fmt.Sprintf(" and %d more", len(lost)-most)
		}
		warnings = append(warnings, fmt.Sprintf("there is no canary, and no istiod serves the Gateways that are labelled for it: set the label %s of %s to %s",
			LabelRevision, names, IstioRevision))
	}
	return warnings
}

// isUnobserved says that the cluster could not be read while there is a control plane, so
// that nothing was rendered. It says nothing about what is asked for.
func isUnobserved(state front.State[observed]) bool {
	_, rendered := errors.AsType[*front.RenderError](state.Err)
	return state.Err != nil && !rendered && len(state.Packages) == 0 && state.Facts.Plane != nil
}

// isOfAnother says that what another class asks for cannot be rendered, while there is a
// control plane, which serves this one all the same.
func isOfAnother(class *gatewayv1.GatewayClass, state front.State[observed]) bool {
	other := AtFault(state.Err)
	return other != "" && other != class.Name && len(state.Packages) == 0 && state.Facts.Plane != nil
}

// watches are the further kinds that matter, most of which exist on OpenShift
// only.
func watches() []front.Watch {
	watches := []front.Watch{
		{Object: front.Definition(), Changed: matters},
		{Object: &gatewayv1.Gateway{}, Changed: movedToCanary},
	}
	for _, kind := range []schema.GroupVersionKind{kindSubscription, kindInstallPlan} {
		watches = append(watches, front.Watch{Object: front.Metadata(kind), Changed: ofMesh})
	}
	for _, kind := range platformKinds {
		watches = append(watches, front.Watch{Object: front.Untyped(kind), Changed: front.Named("cluster")})
	}
	for _, kind := range []schema.GroupVersionKind{KindIstio, KindIstioRevision} {
		watches = append(watches, front.Watch{Object: front.Untyped(kind), Changed: front.Named(IstioRevision)})
	}
	return watches
}
