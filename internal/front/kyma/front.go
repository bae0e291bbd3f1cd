// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package kyma

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/front/kyma/restarts"
	"github.com/strata-run/strata/internal/front/kyma/servicemesh"
	"github.com/strata-run/strata/internal/history"
	"github.com/strata-run/strata/internal/istio"
	"github.com/strata-run/strata/internal/telemetry"
)

// observed are what the kyma front looks at besides its resources.
type observed struct {
	// Oldest is the name of the resource that describes the mesh, empty for none.
	Oldest string
	// Cluster is what rendering depends on.
	Cluster servicemesh.Cluster
	// CRDVersion is the newest version that a CRD in place is from, empty when none tells.
	CRDVersion string
	// ForeignCRDs says that another package has CRDs of Istio.
	ForeignCRDs bool
	// Switches are what ConfigMaps say, and Warning is about one that cannot be read.
	Switches servicemesh.Switches
	Warning  string
	// Blocked is why the mesh cannot be taken away.
	Blocked error
	// Filters are EnvoyFilters of users that configure the ingress gateway.
	Filters    []string
	FiltersErr error
	// Restarts are those of workloads with an outdated proxy.
	Restarts restarts.State
	// Again is when to look again.
	Again time.Duration
}

type (
	groupInput = front.Input[*v1alpha2.Istio, observed]
	groupState = front.State[observed]
)

// Setup implements [front.Settings]. It adds the restarts of workloads, too.
func (o *Options) Setup(w front.Wiring) error {
	observer, err := newObserver(w, o)
	if err != nil {
		return err
	}
	w.Meter.Add(observer.meter)
	restarter, err := restarts.Setup(w, restarts.Config{
		Recorder: w.Recorder, Meter: observer.meter, Changed: observer.changed,
		Settings: restarts.Settings{Limit: o.RestartLimit, Deadline: o.RestartDeadline, Interval: o.Interval},
	})
	if err != nil {
		return err
	}
	observer.restarts = restarter.State
	return front.Setup(w, &v1alpha2.Istio{}, newFront(o.rendering, observer))
}

// frontName is the front's name, which stands on its packages.
const frontName = "kyma"

// newFront installs the service mesh that the oldest Istio resource describes.
func newFront(settings servicemesh.Settings, o *observer) front.Front[*v1alpha2.Istio, observed] {
	return front.Front[*v1alpha2.Istio, observed]{
		Name:      frontName,
		Finalizer: v1alpha2.Finalizer,
		Namespace: v1alpha2.Namespace,
		NeedsFinalizer: func(istio *v1alpha2.Istio, among []*v1alpha2.Istio) bool {
			oldest := servicemesh.Oldest(among)
			return oldest != nil && oldest.UID == istio.UID
		},
		List:    func() client.ObjectList { return &v1alpha2.IstioList{} },
		Selects: func(*v1alpha2.Istio) bool { return true },
		Observe: o.Observe,
		Render:  (&rendering{settings: settings}).render,
		Teardown: func(in groupInput) front.Teardown {
			return front.Teardown{Blocked: in.Facts.Blocked, Order: []string{servicemesh.PackageIstio, servicemesh.PackageCRDs}}
		},
		Stays: stays,
		Annotations: func(istio *v1alpha2.Istio, state groupState) map[string]string {
			return annotations(settings, istio, state)
		},
		Status: func(istio *v1alpha2.Istio, state groupState) { setStatus(settings, istio, state) },
		Conditions: func(istio *v1alpha2.Istio) []telemetry.ResourceCondition {
			return front.ConditionsOf(istio, "", ptr.Deref(istio.Status.Conditions, nil))
		},
		Events: changeEvents,
		Again:  func(facts observed) time.Duration { return facts.Again },
		Watches: []front.Watch{
			{Object: front.Definition(), Changed: predicate.Or(front.Named(definitionVPA), handsChange)},
			{Object: front.Metadata(filterKind), Changed: front.Within(servicemesh.IstioNamespace)},
		},
		Signal: o.signal,
	}
}

// installed is the version of Istio that runs, empty when there is none.
func installed(resource *v1alpha2.Istio, existing []v1alpha1.Package) (string, error) {
	running, rollingOut := "", false
	for i := range existing {
		if pkg := &existing[i]; pkg.Name == servicemesh.PackageIstio && pkg.Status.CurrentRevision != 0 {
			running, rollingOut = pkg.Status.Version, pkg.Status.TargetRevision > pkg.Status.CurrentRevision
		}
	}
	if running != "" && !rollingOut {
		return running, nil
	}
	// The mesh may have been installed by Kyma's own operator, or a rollout that is not over
	// has it in place.
	applied, err := servicemesh.ParseLastApplied(resource.Annotations)
	if running != "" {
		// What cannot be read is no newer.
		return cmp.Or(istio.Newer(running, applied.IstioTag), running), nil
	}
	if err == nil && applied.IstioTag == "" && resource.Annotations[v1alpha2.AnnotationLastApplied] != "" {
		err = fmt.Errorf("reading annotation %s: IstioTag is missing", v1alpha2.AnnotationLastApplied)
	}
	return applied.IstioTag, err
}

// annotations are what the oldest resource carries: what was rolled out last, and the
// size that the cluster had then.
func annotations(settings servicemesh.Settings, istio *v1alpha2.Istio, state groupState) map[string]string {
	if istio.Name != state.Facts.Oldest || istio.Namespace != v1alpha2.Namespace || !istio.DeletionTimestamp.IsZero() || state.Err != nil {
		return nil
	}
	wanted := keptOf(state.Facts)
	i := slices.IndexFunc(state.Packages, func(p front.Package) bool { return p.Name == servicemesh.PackageIstio })
	if i < 0 || state.Packages[i].Package == nil {
		return wanted
	}
	p := &state.Packages[i]
	early := ""
	if p.Package.Status.CurrentRevision != p.Package.Status.TargetRevision {
		early = servicemesh.Installed(p.Target)
	}
	running := cmp.Or(early, p.Package.Status.Version)
	if running == "" {
		return wanted
	}
	applied, err := servicemesh.ParseLastApplied(istio.Annotations)
	if err != nil {
		applied = servicemesh.LastApplied{}
	}
	if rolledOut(p) {
		applied = servicemesh.LastApplied{IstioSpec: istio.Spec, IstioTag: settings.Images.Tag}
	} else {
		// The version that runs is recorded at once: nothing that fails afterwards may make the
		// version gate take it for an older one.
		applied.IstioTag = running
	}
	wanted[v1alpha2.AnnotationLastApplied] = applied.String()
	return wanted
}

// keptOf is what is kept of observations, for the passes to come.
func keptOf(facts observed) map[string]string {
	kept := map[string]string{annotationClusterSize: string(facts.Cluster.Size), annotationSwitches: facts.Switches.String()}
	if facts.Cluster.Provider != "" {
		kept[annotationInfrastructure] = facts.Cluster.Infrastructure()
	}
	if facts.Cluster.FilterUpdatedAt != "" {
		// It may be what the resource before has handed down.
		kept[annotationFilter] = servicemesh.FilterDigest(facts.Cluster) + " " + facts.Cluster.FilterUpdatedAt
	}
	return kept
}

// rolledOut says whether what a front wants is what runs.
func rolledOut(p *front.Package) bool {
	return p.Blocked == "" && p.Target != nil && p.Need == history.NeedNone && p.Package.Status.CurrentRevision == p.Target.Spec.Revision &&
		meta.IsStatusConditionTrue(p.Package.Status.Conditions, v1alpha1.ConditionReady)
}

func setStatus(settings servicemesh.Settings, istio *v1alpha2.Istio, state groupState) {
	_, unrendered := errors.AsType[*front.RenderError](state.Err)
	SetStatus(istio, State{
		Oldest: state.Facts.Oldest, Version: settings.Images.Tag, Size: state.Facts.Cluster.Size, Warning: state.Facts.Warning,
		Packages: state.Packages, Deleting: state.Unwanted, Blocked: state.Blocked,
		Err: state.Err, Unrendered: unrendered,
		Filters: state.Facts.Filters, FiltersErr: state.Facts.FiltersErr, Now: state.Now,
		Restarts: state.Facts.Restarts, Awaited: awaited(istio, state.Packages, state.Facts.Restarts.Seen),
	})
}
