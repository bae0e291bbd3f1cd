// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayclass

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/istio"
)

// platformKinds are those of OpenShift's own configuration, in the order in which
// [PlatformOf] takes them.
var platformKinds = []schema.GroupVersionKind{
	{Group: "config.openshift.io", Version: "v1", Kind: "Proxy"},
	{Group: "config.openshift.io", Version: "v1", Kind: "Infrastructure"},
	{Group: "config.openshift.io", Version: "v1", Kind: "APIServer"},
}

// observing is how long it may take to observe the cluster.
const observing = 30 * time.Second

// observer reads what the front of GatewayClasses needs to know, and writes
// what belongs in no revision. All that it reads at rest is cached.
type observer struct {
	Client client.Client
	// Cache has the kinds that the front watches, Live reads from the API server.
	Cache, Live client.Reader
	// Mapper knows which kinds the API server serves, and Served which of the watched
	// ones are in the cache.
	Mapper meta.RESTMapper
	Served func(kind schema.GroupVersionKind) bool
	Now    func() time.Time
	// Settings are the manager's.
	Settings Input
	// NoRoom is for classes that have no room for conditions.
	NoRoom front.Warning

	istiod  startOfIstiod
	retired bool
}

// Observe reads the facts for all classes.
func (o *observer) Observe(ctx context.Context, group front.Group[*gatewayv1.GatewayClass]) (observed, error) {
	facts := observed{Input: o.Settings, Plane: find(group.Existing, PackageControlPlane)}
	in := &facts.Input
	for _, class := range group.Resources {
		in.Classes = append(in.Classes, *class)
	}
	for i := range group.Existing {
		in.Existing = append(in.Existing, group.Existing[i].Name)
	}
	if facts.Plane != nil {
		in.Running, in.AllowedVersion = facts.Plane.Status.Version, facts.Plane.Annotations[v1alpha1.AnnotationAllowVersion]
	}
	if len(group.Resources) == 0 {
		return facts, nil // nothing will be rendered
	}
	// A kind that goes away just now would be waited for.
	ctx, cancel := context.WithTimeout(ctx, observing)
	defer cancel()
	if facts.HandedOver = HandOver(in.Classes); facts.HandedOver != "" {
		err := errors.Join(o.observeCRDs(ctx, group, &facts), o.freeClasses(ctx, group))
		return facts, err
	}
	o.recordRoom(group.Resources)
	err := errors.Join(o.observeCRDs(ctx, group, &facts), o.observeMigration(ctx, &facts), o.observeCluster(ctx, in))
	if err != nil {
		// What is not known in full is not known.
		return observed{Input: *in, Migration: facts.Migration, Plane: facts.Plane}, err
	}
	err = o.observeIstiod(ctx, group, &facts)
	return facts, err
}

// recordRoom records an event on classes that have no room for our conditions.
func (o *observer) recordRoom(classes []*gatewayv1.GatewayClass) {
	for _, class := range classes {
		text := ""
		if missing := MissingOnClass(class.Status.Conditions); missing != "" {
			text = fmt.Sprintf("There are %d conditions of other controllers, which is the maximum of a GatewayClass, so %s cannot be set", MaxClassConditions, missing)
		}
		o.NoRoom.Record(class, text)
	}
}

// observeCRDs finds out which operator manages the Istio CRDs, and takes over those
// that no operator manages any more.
func (o *observer) observeCRDs(ctx context.Context, group front.Group[*gatewayv1.GatewayClass], facts *observed) error {
	in := &facts.Input
	list := front.MetadataList(front.Definition().GroupVersionKind())
	if err := o.Cache.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing CustomResourceDefinitions: %w", err)
	}
	var existing []CRD
	found := map[string]*metav1.PartialObjectMetadata{}
	names := istio.CRDNames()
	for i := range list.Items {
		item := &list.Items[i]
		switch {
		case slices.Contains(names, item.Name):
			found[item.Name] = item
			existing = append(existing, CRD{Name: item.Name, Labels: item.Labels, Annotations: item.Annotations})
		case item.Name == InferencePoolCRD, item.Name == ExperimentalInferencePoolCRD:
			in.InferencePools = true
		}
	}
	cached := &olmReader{Reader: o.Cache, served: o.isCached}
	living, err := living(ctx, cached, existing)
	if err != nil {
		return err
	}
	if facts.Orphaned, err = cached.Orphaned(ctx); err != nil {
		return err
	}
	for i := range group.Existing {
		if group.Existing[i].Name == PackageCRDs {
			in.CRDVersion = istio.Newer(group.Existing[i].Status.Version, "")
		}
	}
	facts.Ownership = OwnersOf(*in, existing, living)
	in.ForeignCRDs = facts.Ownership.HandsOff()
	in.CRDVersion = istio.Newer(in.CRDVersion, facts.Ownership.Version)
	// Whether they may be written is decided above, from their labels.
	in.CRDCollisions = v1alpha1.CollisionIfNoController
	if facts.HandedOver != "" {
		return nil
	}
	if !facts.Ownership.HandsOff() && find(group.Existing, PackageCRDs) == nil {
		if err := o.confirmCRDs(ctx, found); err != nil {
			return err
		}
	}
	return o.takeOver(ctx, facts.Ownership, existing, found)
}

// confirmCRDs asks the API server which Istio CRDs there are, before they become ours: a
// user may have installed them, or changed their labels, just before the class was
// created, and the cache may not have that yet.
func (o *observer) confirmCRDs(ctx context.Context, cached map[string]*metav1.PartialObjectMetadata) error {
	live := front.MetadataList(front.Definition().GroupVersionKind())
	if err := o.Live.List(ctx, live); err != nil {
		return fmt.Errorf("listing CustomResourceDefinitions: %w", err)
	}
	names := istio.CRDNames()
	for i := range live.Items {
		name := live.Items[i].Name
		if !slices.Contains(names, name) {
			continue
		}
		if known := cached[name]; known == nil || !maps.Equal(known.Labels, live.Items[i].Labels) {
			return behind(name, "the cache is outdated, and it might be taken over because of that")
		}
	}
	return nil
}

// isCached says whether a kind can be read from the cache.
func (o *observer) isCached(kind schema.GroupVersionKind) (bool, error) { return o.Served(kind), nil }

// isServed asks the API server whether it serves a kind.
func (o *observer) isServed(kind schema.GroupVersionKind) (bool, error) {
	return isServed(o.Mapper, kind)
}

// takeOver puts our label on CRDs in the place of OLM's. The API server is asked once
// more whether the subscriptions are gone: a cache may lag behind.
func (o *observer) takeOver(ctx context.Context, ownership Ownership, existing []CRD, found map[string]*metav1.PartialObjectMetadata) error {
	if len(ownership.TakeOver) == 0 {
		return nil
	}
	alive, err := living(ctx, &olmReader{Reader: o.Live, served: o.isServed}, existing)
	if err != nil {
		return err
	}
	for _, crd := range existing {
		if !slices.Contains(ownership.TakeOver, crd.Name) {
			continue
		}
		if slices.ContainsFunc(crd.Subscriptions(), func(s Subscription) bool { return alive[s] }) {
			return behind(crd.Name, "a subscription of it exists, which the cache does not have")
		}
		if err := o.relabel(ctx, found[crd.Name], crd.TakeOver()); err != nil {
			return fmt.Errorf("taking over CustomResourceDefinition %s from OLM: %w", crd.Name, err)
		}
	}
	return nil
}

// behind is an error that makes the loop look again without a word.
func behind(name, why string) error {
	return apierrors.NewConflict(resourceOfCRDs, name, errors.New(why))
}

// relabel changes labels of exactly the state that was decided on.
func (o *observer) relabel(ctx context.Context, crd *metav1.PartialObjectMetadata, labels map[string]any) error {
	changed := front.Definition()
	changed.ObjectMeta = *crd.ObjectMeta.DeepCopy()
	return o.Client.Patch(ctx, changed, front.MetadataPatch{"labels": labels}, front.FieldOwner)
}

// observeMigration looks for what an OLM-based operator has installed, and asks for its
// removal.
func (o *observer) observeMigration(ctx context.Context, facts *observed) error {
	var istio, revision *unstructured.Unstructured
	err := errors.Join(
		o.get(ctx, KindIstio, IstioRevision, &istio),
		o.get(ctx, KindIstioRevision, IstioRevision, &revision))
	if err != nil {
		return err
	}
	facts.Migration = MigrationOf(istio, revision)
	now := o.Now()
	facts.Input.Migration, facts.Again = facts.Migration.Message(now), facts.Migration.Again(now)
	if !facts.Migration.Delete {
		return nil
	}
	uid, version := istio.GetUID(), istio.GetResourceVersion()
	err = o.Client.Delete(ctx, istio, client.Preconditions{UID: &uid, ResourceVersion: &version}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting Istio %s of the OLM-based control plane: %w", istio.GetName(), err)
	}
	return nil
}

// observeCluster reads OpenShift's configuration, and which Gateways use the canary.
func (o *observer) observeCluster(ctx context.Context, in *Input) error {
	configs := make([]*unstructured.Unstructured, len(platformKinds))
	for i, kind := range platformKinds {
		if err := o.get(ctx, kind, "cluster", &configs[i]); err != nil {
			return err
		}
	}
	in.Platform = PlatformOf(configs[0], configs[1], configs[2])
	if !o.Served(gatewayKind) {
		return nil
	}
	gateways := &gatewayv1.GatewayList{}
	if err := o.Cache.List(ctx, gateways, client.MatchingLabels{LabelRevision: CanaryRevision}, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing the Gateways of the canary: %w", err)
	}
	for i := range gateways.Items {
		in.CanaryGateways = append(in.CanaryGateways, client.ObjectKeyFromObject(&gateways.Items[i]).String())
	}
	if len(in.CanaryGateways) == 0 && slices.Contains(in.Existing, PackageCanary) && !AsksForCanary(in.Classes) {
		return o.confirmCanary(ctx, in)
	}
	slices.Sort(in.CanaryGateways)
	return nil
}

// confirmCanary asks the API server which Gateways the canary serves, before it is deleted
// for want of them: a Gateway may have been moved just before its class, and the cache may
// not have that yet.
func (o *observer) confirmCanary(ctx context.Context, in *Input) error {
	list := front.MetadataList(gatewayKind)
	if err := o.Live.List(ctx, list, client.MatchingLabels{LabelRevision: CanaryRevision}); err != nil {
		return fmt.Errorf("listing the Gateways of the canary: %w", err)
	}
	for i := range list.Items {
		in.CanaryGateways = append(in.CanaryGateways, client.ObjectKeyFromObject(&list.Items[i]).String())
	}
	slices.Sort(in.CanaryGateways)
	return nil
}

// get reads an object from the cache, which stays nil when there is none, or its kind is
// not served.
func (o *observer) get(ctx context.Context, kind schema.GroupVersionKind, name string, into **unstructured.Unstructured) error {
	if !o.Served(kind) {
		return nil
	}
	object := front.Untyped(kind)
	err := o.Cache.Get(ctx, types.NamespacedName{Name: name}, object)
	switch {
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return nil
	case err != nil:
		return fmt.Errorf("reading %s %s: %w", kind.Kind, name, err)
	}
	*into = object
	return nil
}
