// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package kyma

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolsevents "k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/front/kyma/crwatch"
	"github.com/strata-run/strata/internal/front/kyma/restarts"
	"github.com/strata-run/strata/internal/front/kyma/servicemesh"
	"github.com/strata-run/strata/internal/istio"
	revisionscache "github.com/strata-run/strata/revisions/cache"
)

const (
	// annotationClusterSize on an Istio resource is the size that the cluster had when its
	// mesh was rendered last, which the next measure depends on.
	annotationClusterSize = "strata.run/cluster-size"

	// annotationInfrastructure on an Istio resource is what nodes have shown last of the cluster's
	// infrastructure.
	annotationInfrastructure = "strata.run/cluster-infrastructure"

	// annotationFilter on an Istio resource is a digest of the EnvoyFilter for the proxy
	// protocol, and since when it is that.
	annotationFilter = "strata.run/proxy-protocol"

	// annotationSwitches on an Istio resource is what ConfigMaps said when they could be read
	// last.
	annotationSwitches = "strata.run/cluster-switches"

	definitionVPA = "verticalpodautoscalers.autoscaling.k8s.io"
)

var filterKind = schema.GroupVersionKind{Group: "networking.istio.io", Version: "v1alpha3", Kind: "EnvoyFilter"}

// observer reads what a mesh depends on. Nodes are watched while an Istio resource asks for a
// mesh, what blocks a deletion while one waits, and single objects one by one: nothing costs a
// request at rest.
type observer struct {
	cache    cache.Cache
	live     client.Reader
	writer   client.Writer
	now      func() time.Time
	objects  *revisionscache.Objects
	blockers *crwatch.Watcher
	meter    *meter
	served   func(kind schema.GroupVersionKind) bool
	recorder toolsevents.EventRecorder
	interval time.Duration
	// experimental says that the cluster may be taken for one with two IP stacks.
	experimental bool
	// restarts is what restarts of workloads have come to.
	restarts func() restarts.State
	// signal reports changes of what is watched.
	signal front.Signal

	// nodes says that nodes are watched.
	nodes bool
	// flipped is the size that was logged last for a cluster that had another one.
	flipped servicemesh.Size
	// known is what is kept on the resource, for one that has lost it.
	known map[string]string
	// pruned says that nothing is left of an installation by Kyma's own operator.
	pruned bool
	// reported is what was logged last about a deletion that is blocked.
	reported string
	// filters are the EnvoyFilters of users as of versions of all of them.
	filters  []string
	versions string
}

func newObserver(w front.Wiring, o *Options) (*observer, error) {
	mgr := w.Manager
	k := &observer{
		cache: mgr.GetCache(), live: mgr.GetAPIReader(), writer: mgr.GetClient(), now: time.Now, served: w.Kinds.Served,
		meter: newMeter(), recorder: w.Recorder, interval: o.Interval, experimental: o.Experimental, signal: front.NewSignal(),
	}
	var err error
	k.objects = w.Informers.Objects(k.changed)
	if k.blockers, err = crwatch.Setup(mgr, servicemesh.BlockingKinds, v1alpha2.LabelModule, w.Informers.Objects(k.changed)); err != nil {
		return nil, fmt.Errorf("setting up the watches of the kyma front: %w", err)
	}
	return k, nil
}

func (k *observer) changed() { k.signal.Raise(&v1alpha2.Istio{}) }

// Observe reads the facts about the resource that describes the mesh, or about what keeps it
// from being taken away.
func (k *observer) Observe(ctx context.Context, group front.Group[*v1alpha2.Istio]) (observed, error) {
	facts := observed{}
	istio := servicemesh.Oldest(group.Resources)
	if istio == nil {
		return k.observeUninstall(ctx, group)
	}
	facts.Oldest, facts.Again, k.reported = istio.Name, k.interval, ""
	if err := front.Unreadable(istio); err != nil {
		return facts, err
	}
	k.meter.describes(istio)
	k.blockers.Stop()
	k.objects.Begin()
	istio = handedDown(istio, group.Deleting, k.known)
	if err := errors.Join(k.observeCRDs(ctx, &facts), k.observeCluster(ctx, istio, &facts)); err != nil {
		return facts, err
	}
	if err := k.own(ctx, istio); err != nil {
		// The mesh does not depend on it.
		log.FromContext(ctx).Error(err, "Owner reference could not be set")
	}
	k.objects.End()
	if runs(group.Existing) {
		if err := k.prune(ctx); err != nil {
			return facts, err
		}
	}
	k.known = keptOf(facts)
	facts.Filters, facts.FiltersErr = k.userFilters(ctx)
	facts.Restarts = k.restarts()
	return facts, nil
}

// handedDown is the resource with the annotations of the one that it replaces, or of what was
// known of that one, where it has none itself: the mesh stays as it is. A client that replaces
// a whole resource removes its annotations.
func handedDown(istio *v1alpha2.Istio, deleted []*v1alpha2.Istio, known map[string]string) *v1alpha2.Istio {
	with := istio.DeepCopy()
	for _, key := range []string{annotationClusterSize, annotationInfrastructure, annotationFilter, annotationSwitches} {
		values := []string{with.Annotations[key]}
		for _, before := range deleted {
			if before.Namespace == v1alpha2.Namespace {
				values = append(values, before.Annotations[key])
			}
		}
		if value := cmp.Or(append(values, known[key])...); value != "" {
			metav1.SetMetaDataAnnotation(&with.ObjectMeta, key, value)
		}
	}
	return with
}

// observeCRDs finds out whose the CRDs in place are, and of which version.
func (k *observer) observeCRDs(ctx context.Context, facts *observed) error {
	for _, name := range istio.CRDNames() {
		crd := front.Definition()
		found, err := front.Read(ctx, k.cache, "", name, crd)
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		facts.ForeignCRDs = facts.ForeignCRDs || isForeign(crd)
		facts.CRDVersion = istio.Newer(facts.CRDVersion, crd.Annotations[servicemesh.AnnotationCRDVersion])
	}
	return nil
}

// isForeign says whether a CRD is in the hands of another package. One that has been removed
// leaves its CRDs in place, with its label and without a controller.
func isForeign(crd metav1.Object) bool {
	pkg := crd.GetLabels()[v1alpha1.LabelPackage]
	return pkg != "" && pkg != servicemesh.PackageCRDs && metav1.GetControllerOfNoCopy(crd) != nil
}

// handsChange lets through CRDs of Istio that come, go, change hands, or tell another version.
var handsChange = predicate.And(
	predicate.NewPredicateFuncs(func(crd client.Object) bool { return slices.Contains(istio.CRDNames(), crd.GetName()) }),
	predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return isForeign(e.ObjectOld) != isForeign(e.ObjectNew) ||
			e.ObjectOld.GetAnnotations()[servicemesh.AnnotationCRDVersion] != e.ObjectNew.GetAnnotations()[servicemesh.AnnotationCRDVersion]
	}},
)

// userFilters are the EnvoyFilters of users that configure the ingress gateway. They are
// read again when one of the namespace has changed.
func (k *observer) userFilters(ctx context.Context) ([]string, error) {
	if !k.served(filterKind) {
		return nil, nil
	}
	known := front.MetadataList(filterKind)
	if err := k.cache.List(ctx, known, client.InNamespace(servicemesh.IstioNamespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing EnvoyFilters: %w", err)
	}
	var versions []string
	for i := range known.Items {
		versions = append(versions, known.Items[i].Name+"="+known.Items[i].ResourceVersion)
	}
	slices.Sort(versions)
	if joined := strconv.Itoa(len(versions)) + strings.Join(versions, ","); joined != k.versions {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(filterKind)
		if err := k.live.List(ctx, list, client.InNamespace(servicemesh.IstioNamespace)); err != nil {
			return nil, fmt.Errorf("listing EnvoyFilters: %w", err)
		}
		k.filters = nil
		for i := range list.Items {
			if servicemesh.ConfiguresIngress(&list.Items[i]) {
				k.filters = append(k.filters, servicemesh.IstioNamespace+"/"+list.Items[i].GetName())
			}
		}
		slices.Sort(k.filters)
		k.versions = joined
	}
	return k.filters, nil
}
