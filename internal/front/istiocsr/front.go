// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/telemetry"
)

// observed are what the front of IstioCSRs looks at besides them.
type observed struct {
	Facts

	// Pointing are the meshes that point at the agents. [Facts.Clients] and
	// Unread are those of one of them.
	Pointing references

	// Unremoved says, of the namespaces of IstioCSRs that are being deleted, why the copy of the
	// CA certificates that was to go is still there.
	Unremoved map[string]error

	// Before are the namespaces, sorted, of other agents of the mesh whose CA certificates
	// may be in use, and of which no copy is kept.
	Before []string

	// Again is when something changes without an event, such as the CA certificates
	// by time alone; 0 when nothing does.
	Again time.Duration
}

// waitFor has the facts read again after a time, 0 for never, or earlier.
func (f *observed) waitFor(again time.Duration) {
	if f.Again == 0 || again > 0 && again < f.Again {
		f.Again = again
	}
}

type (
	groupInput = front.Input[*operatorv1alpha1.IstioCSR, observed]
	groupState = front.State[observed]
)

// frontName is the front's name, which stands on its packages.
const frontName = "istiocsr"

// newFront runs one istio-csr agent in the cluster, for the oldest IstioCSR.
func newFront(o *observer) front.Front[*operatorv1alpha1.IstioCSR, observed] {
	image := o.image
	return front.Front[*operatorv1alpha1.IstioCSR, observed]{
		Name:      frontName,
		Finalizer: operatorv1alpha1.Finalizer,
		List:      func() client.ObjectList { return &operatorv1alpha1.IstioCSRList{} },
		// Another definition of the kind might let others through.
		Selects: func(ic *operatorv1alpha1.IstioCSR) bool { return ic.Name == operatorv1alpha1.Name },
		Observe: o.Observe,
		Render: func(in groupInput) ([]content.Package, error) {
			ic := Running(in.Resources)
			return []content.Package{Render(Input{IstioCSR: ic, Image: image, Facts: in.Facts.Facts})}, nil
		},
		Teardown: teardown,
		Stays:    func(ic *operatorv1alpha1.IstioCSR, facts observed) error { return facts.Unremoved[ic.Namespace] },
		Conditions: func(ic *operatorv1alpha1.IstioCSR) []telemetry.ResourceCondition {
			return front.ConditionsOf(ic, "", ic.Status.Conditions)
		},
		Status: func(ic *operatorv1alpha1.IstioCSR, state groupState) {
			facts := state.Facts.Facts
			facts.Clients, facts.Unread = state.Facts.Pointing.clients[ic.Namespace], state.Facts.Pointing.unread[ic.Namespace]
			SetStatus(ic, State{
				Image: image, Facts: facts, Packages: state.Packages, Deleting: state.Unwanted, Err: state.Err, Now: state.Now,
				Unremoved: state.Facts.Unremoved[ic.Namespace],
			})
		},
		Events:  changeEvents,
		Again:   func(facts observed) time.Duration { return facts.Again },
		Watches: watches(),
		Signal:  o.signal,
	}
}

// teardown lets an agent run on without its IstioCSR, unless that says otherwise.
// What is not known to be wanted gone stays, too.
func teardown(in groupInput) front.Teardown {
	var plan front.Teardown
	for i := range in.Existing {
		name := in.Existing[i].Name
		removed := slices.ContainsFunc(in.Deleting, func(ic *operatorv1alpha1.IstioCSR) bool {
			return RemovesOnDeletion(ic) && PackageName(ic.Namespace) == name
		})
		if !removed {
			plan.Orphans = append(plan.Orphans, name)
		}
	}
	return plan
}

// watches are the kinds of which all objects matter; single ones are watched by
// the observer.
func watches() []front.Watch {
	watches := []front.Watch{{Object: front.Definition(), Changed: comesOrGoes}}
	for _, kind := range ClientKinds() {
		watches = append(watches, front.Watch{Object: front.Untyped(kind.Kind), Changed: predicate.GenerationChangedPredicate{}})
	}
	return watches
}

// comesOrGoes lets through the CRDs that an agent needs, when they are created or
// deleted.
var comesOrGoes = predicate.And(
	predicate.NewPredicateFuncs(func(crd client.Object) bool { return slices.Contains(definitions, crd.GetName()) }),
	predicate.Funcs{UpdateFunc: func(event.UpdateEvent) bool { return false }},
)
