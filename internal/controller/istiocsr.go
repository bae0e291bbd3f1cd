// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/controller/front"
	"github.com/strata-run/strata/internal/events"
	"github.com/strata-run/strata/internal/render"
	"github.com/strata-run/strata/internal/render/istiocsr"
	"github.com/strata-run/strata/internal/status"
)

// istioCSRFacts are what the front of IstioCSRs looks at besides them.
type istioCSRFacts struct {
	istiocsr.Facts

	// Pointing are, by the namespaces of IstioCSRs, the meshes that point at the agents
	// there. [istiocsr.Facts.Clients] are those of one of them.
	Pointing map[string][]string

	// Unremoved says, of the namespaces of IstioCSRs that are leaving, why the copy of the
	// CA certificates that was to go is still there.
	Unremoved map[string]error

	// Again is when the CA certificates change by time alone, 0 when they do not.
	Again time.Duration
}

type (
	istioCSRInput = front.Input[*operatorv1alpha1.IstioCSR, istioCSRFacts]
	istioCSRState = front.State[istioCSRFacts]
)

// istioCSRFront runs one istio-csr agent in the cluster, for the oldest IstioCSR.
func istioCSRFront(observer *istioCSRObserver) front.Front[*operatorv1alpha1.IstioCSR, istioCSRFacts] {
	image := observer.image
	return front.Front[*operatorv1alpha1.IstioCSR, istioCSRFacts]{
		Name:      "istiocsr",
		Finalizer: operatorv1alpha1.Finalizer,
		List:      func() client.ObjectList { return &operatorv1alpha1.IstioCSRList{} },
		Selects:   func(*operatorv1alpha1.IstioCSR) bool { return true },
		Observe:   observer.Observe,
		Render: func(in istioCSRInput) ([]render.Package, error) {
			ic := istiocsr.Running(in.Resources)
			return []render.Package{istiocsr.Render(istiocsr.Input{IstioCSR: ic, Image: image, Facts: in.Facts.Facts})}, nil
		},
		Leave: leaveIstioCSR,
		Stays: func(ic *operatorv1alpha1.IstioCSR, facts istioCSRFacts) error { return facts.Unremoved[ic.Namespace] },
		Status: func(ic *operatorv1alpha1.IstioCSR, state istioCSRState) {
			facts := state.Facts.Facts
			facts.Clients = state.Facts.Pointing[ic.Namespace]
			status.SetIstioCSR(ic, status.IstioCSRState{
				Image: image, Facts: facts, Packages: state.Packages, Departing: state.Departing, Err: state.Err, Now: state.Now,
				Unremoved: state.Facts.Unremoved[ic.Namespace],
			})
		},
		Events:  istioCSREvents,
		Again:   func(facts istioCSRFacts) time.Duration { return facts.Again },
		Watches: istioCSRWatches(),
		Signal:  observer.signal,
	}
}

// leaveIstioCSR lets an agent run on without its IstioCSR, unless that says otherwise.
// What is not known to be wanted gone stays, too.
func leaveIstioCSR(in istioCSRInput) front.Departure {
	removed := func(pkg v1alpha1.Package) bool {
		return slices.ContainsFunc(in.Leaving, func(ic *operatorv1alpha1.IstioCSR) bool {
			return istiocsr.RemovesOnDeletion(ic) && istiocsr.PackageName(ic.Namespace) == pkg.Name
		})
	}
	running := ""
	if ic := istiocsr.Running(in.Resources); ic != nil {
		running = istiocsr.PackageName(ic.Namespace)
	}
	departing := slices.DeleteFunc(slices.Clone(in.Existing), func(pkg v1alpha1.Package) bool { return pkg.Name == running })
	return front.Departure{Orphan: len(departing) == 0 || slices.ContainsFunc(departing, func(pkg v1alpha1.Package) bool { return !removed(pkg) })}
}

func istioCSREvents(before, after *operatorv1alpha1.IstioCSR) []front.Event {
	var all []front.Event
	for _, e := range events.IstioCSR(before, after) {
		all = append(all, front.Event{Type: e.Type, Reason: e.Reason, Action: e.Action, Note: e.Note})
	}
	return all
}

// istioCSRWatches are the kinds of which all objects matter; single ones are watched by
// the observer.
func istioCSRWatches() []front.Watch {
	watches := []front.Watch{{Object: front.Definition(), Changed: comesOrGoes}}
	for _, kind := range istiocsr.ClientKinds() {
		watches = append(watches, front.Watch{Object: untyped(kind.Kind), Changed: predicate.GenerationChangedPredicate{}})
	}
	return watches
}

// comesOrGoes lets through the CRDs that an agent needs, when they are created or
// deleted.
var comesOrGoes = predicate.And(
	predicate.NewPredicateFuncs(func(crd client.Object) bool { return slices.Contains(istioCSRDefinitions, crd.GetName()) }),
	predicate.Funcs{UpdateFunc: func(event.UpdateEvent) bool { return false }},
)
