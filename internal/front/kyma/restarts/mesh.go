// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/yaml"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/controller/decoding"
	"github.com/strata-run/strata/internal/front/kyma/servicemesh"
)

// annotationLedger on an Istio resource is since when which setting of its mesh is what it is.
const annotationLedger = "strata.run/restart-causes"

// proxyProtocol is an EnvoyFilter of ours that only the ingress gateway takes in.
const proxyProtocol = "proxy-protocol"

// clockSkew is how far another clock may be ahead of ours. A time that lies further ahead is none:
// waiting for it would be waiting for ever.
const clockSkew = time.Minute

var filterKind = schema.GroupVersionKind{Group: "networking.istio.io", Version: "v1alpha3", Kind: "EnvoyFilter"}

// mesh is what pods are compared with.
type mesh struct {
	istio *v1alpha2.Istio
	// before are resources that are being deleted, one of which may have described it.
	before []*v1alpha2.Istio
	// rolledOut says that what the resource asks for is what runs. Without it the rest is
	// not known.
	rolledOut bool
	revision  int64
	target    Target
	ledger    Ledger
	// moves are the namespaces that have left it or joined it.
	moves moves

	// Without a resource: pkg is the package that is still there, was says that there has been
	// a mesh, and window is the one for restarts.
	pkg    *v1alpha1.Package
	was    bool
	window string
	// gone is since when it is gone, zero while it is not.
	gone time.Time
}

// key tells meshes apart that pods may be outdated in.
func (m *mesh) key() string {
	return fmt.Sprint(m.istio.UID, m.ledger, m.target.Updated, m.target.GatewayUpdated)
}

// settles is how long it takes until a pod that is made now can be distinguished from
// those made before the newest change, as creation times have seconds. Zero when it can.
func (m *mesh) settles(now time.Time) time.Duration {
	newest := time.Time{}
	for _, at := range append(m.ledger.Times(), m.target.Updated, m.target.GatewayUpdated) {
		if at.After(newest) && !at.After(now.Add(clockSkew)) {
			newest = at
		}
	}
	return newest.Truncate(time.Second).Add(time.Second).Sub(now)
}

// known is what was read of the cluster, and is valid until an event says that it has changed.
type known struct {
	// target is the one of a revision of a package.
	target   Target
	pkg      types.UID
	revision int64
	// ledger is the one of the resource with that UID, as written last: the cache may not
	// have it yet. The same goes for moves, of the resource movesOf.
	ledger  Ledger
	of      types.UID
	moves   moves
	movesOf types.UID
}

// observe reads what the mesh wants; without one there is no resource in it. The ledger is
// written before anything is done by it.
func (c *Controller) observe(ctx context.Context) (*mesh, error) {
	m := &mesh{}
	list := &v1alpha2.IstioList{}
	if c.Served() {
		if err := c.Cache.List(ctx, list); err != nil {
			return nil, fmt.Errorf("listing Istio resources: %w", err)
		}
	}
	all := make([]*v1alpha2.Istio, 0, len(list.Items))
	for i := range list.Items {
		all = append(all, &list.Items[i])
	}
	if m.istio = servicemesh.Oldest(all); m.istio == nil {
		return m, c.observeLeaving(ctx, m, all)
	}
	for _, istio := range all {
		if istio.Namespace == v1alpha2.Namespace && !istio.DeletionTimestamp.IsZero() {
			m.before = append(m.before, istio)
		}
	}
	if err := decoding.Problem(m.istio); err != nil {
		return m, reconcile.TerminalError(fmt.Errorf("reading Istio %s/%s: %w", m.istio.Namespace, m.istio.Name, err))
	}
	applied, err := servicemesh.ParseLastApplied(m.istio.Annotations)
	if err != nil {
		return m, reconcile.TerminalError(fmt.Errorf("finding out what was rolled out for Istio %s/%s: %w", m.istio.Namespace, m.istio.Name, err))
	}
	pkg, rolledOut, err := c.rolledOut(ctx, m.istio, applied)
	if err != nil {
		return m, err
	}
	m.rolledOut = rolledOut
	if m.ledger, err = c.baseline(ctx, m, applied, pkg); err != nil || !rolledOut {
		return m, err
	}
	if err := c.readMoves(ctx, m, pkg); err != nil {
		return m, err
	}
	if m.target, err = c.target(ctx, pkg); err != nil {
		return m, err
	}
	m.target.Spec, m.target.Since, m.revision = applied.IstioSpec, pkg.CreationTimestamp.Time, pkg.Status.CurrentRevision
	m.ledger, err = c.advance(ctx, m.istio, m.ledger, &m.target)
	return m, err
}

// rolledOut says whether what the resource asks for is what runs.
func (c *Controller) rolledOut(ctx context.Context, istio *v1alpha2.Istio, applied servicemesh.LastApplied) (*v1alpha1.Package, bool, error) {
	pkg := &v1alpha1.Package{}
	err := c.Cache.Get(ctx, types.NamespacedName{Name: servicemesh.PackageIstio}, pkg)
	if apierrors.IsNotFound(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("reading Package %s: %w", servicemesh.PackageIstio, err)
	}
	wanted := servicemesh.LastApplied{IstioSpec: istio.Spec, IstioTag: applied.IstioTag}
	s := &pkg.Status
	return pkg, applied.IstioTag != "" && applied.String() == wanted.String() && pkg.DeletionTimestamp.IsZero() &&
		s.CurrentRevision > 0 && s.CurrentRevision == s.TargetRevision && meta.IsStatusConditionTrue(s.Conditions, v1alpha1.ConditionReady), nil
}

// baseline is the ledger so far. The first one is of what was rolled out before: also of
// what another operator has, as long as nothing else was. A resource that takes the place of
// another one goes on where that has ended.
func (c *Controller) baseline(ctx context.Context, m *mesh, applied servicemesh.LastApplied, pkg *v1alpha1.Package) (Ledger, error) {
	text := m.istio.Annotations[annotationLedger]
	if c.known.of == m.istio.UID {
		if text == "" && len(c.known.ledger) > 0 {
			// Who replaces a resource as a whole takes its annotations off. Right after our own
			// write the cache may not have it yet: then this changes nothing.
			return c.known.ledger, c.write(ctx, m.istio, c.known.ledger)
		}
		return c.known.ledger, nil
	}
	if ledger, err := ParseLedger(text); err == nil && text != "" {
		c.known.ledger, c.known.of = ledger, m.istio.UID
		return ledger, nil
	}
	if c.known.of != "" && pkg != nil && c.known.pkg == pkg.UID {
		return c.known.ledger, c.write(ctx, m.istio, c.known.ledger)
	}
	if before := m.inherited(pkg, annotationLedger); before != "" {
		if ledger, err := ParseLedger(before); err == nil {
			return ledger, c.write(ctx, m.istio, ledger)
		}
	}
	none := servicemesh.LastApplied{IstioTag: applied.IstioTag}
	if !m.rolledOut && applied.String() == none.String() {
		return Ledger{}, nil // nothing is known yet
	}
	ledger := Baseline(applied.IstioSpec)
	return ledger, c.write(ctx, m.istio, ledger)
}

// advance takes the target into the ledger.
func (c *Controller) advance(ctx context.Context, istio *v1alpha2.Istio, ledger Ledger, t *Target) (Ledger, error) {
	next := ledger.Next(t, c.Now())
	if next.String() == ledger.String() {
		return ledger, nil
	}
	return next, c.write(ctx, istio, next)
}

// write keeps the ledger on the resource.
func (c *Controller) write(ctx context.Context, istio *v1alpha2.Istio, ledger Ledger) error {
	if err := c.annotate(ctx, istio, annotationLedger, ledger.String()); err != nil {
		return fmt.Errorf("noting on Istio %s/%s since when its mesh is as it is: %w", istio.Namespace, istio.Name, err)
	}
	c.known.ledger, c.known.of = ledger, istio.UID
	return nil
}

// inherited is what a resource says whose place another one takes while the mesh stays.
func (m *mesh) inherited(pkg *v1alpha1.Package, key string) string {
	if pkg == nil || !pkg.DeletionTimestamp.IsZero() {
		return ""
	}
	for _, istio := range m.before {
		if value := istio.Annotations[key]; value != "" {
			return value
		}
	}
	return ""
}

// annotate sets an annotation of the resource, or takes it away when it is empty.
func (c *Controller) annotate(ctx context.Context, istio *v1alpha2.Istio, key, value string) error {
	changed := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: istio.Namespace, Name: istio.Name, UID: istio.UID}}
	changed.SetGroupVersionKind(v1alpha2.GroupVersion.WithKind("Istio"))
	return c.annotateObject(ctx, changed, key, value)
}

// annotateObject does so with any object. With a UID, it must be that very one.
func (c *Controller) annotateObject(ctx context.Context, o *metav1.PartialObjectMetadata, key, value string) error {
	metadata := map[string]any{"annotations": map[string]any{key: value}}
	if value == "" {
		metadata["annotations"] = map[string]any{key: nil}
	}
	if o.UID != "" {
		metadata["uid"] = o.UID
	}
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return fmt.Errorf("encoding annotation %s: %w", key, err)
	}
	return c.Writer.Patch(ctx, o, client.RawPatch(types.MergePatchType, patch), fieldOwner)
}

// target is what a revision wants of pods, and what EnvoyFilters do. It is read once for each.
func (c *Controller) target(ctx context.Context, pkg *v1alpha1.Package) (Target, error) {
	t, stamped := c.known.target, c.stamped.Swap(false)
	var err error
	if c.known.pkg == pkg.UID && c.known.revision == pkg.Status.CurrentRevision {
		if !stamped {
			return t, nil
		}
	} else if t, err = c.readTarget(ctx); err != nil {
		return t, err
	} else if t.Configured, t.Policed, err = c.appliedAt(ctx); err != nil {
		return t, err
	}
	if t.Updated, t.GatewayUpdated, err = c.updated(ctx); err != nil {
		c.stamped.Store(true)
		return t, err
	}
	c.known.target, c.known.pkg, c.known.revision = t, pkg.UID, pkg.Status.CurrentRevision
	return t, nil
}

// readTarget reads what the revision that runs wants of pods.
func (c *Controller) readTarget(ctx context.Context) (Target, error) {
	input := &corev1.ConfigMap{}
	if err := c.Live.Get(ctx, types.NamespacedName{Namespace: servicemesh.IstioNamespace, Name: servicemesh.InputConfigMap}, input); err != nil {
		return Target{}, fmt.Errorf("reading the merged input of the mesh, ConfigMap %s/%s: %w", servicemesh.IstioNamespace, servicemesh.InputConfigMap, err)
	}
	operator := map[string]any{}
	if err := yaml.Unmarshal([]byte(input.Data[servicemesh.InputKey]), &operator); err != nil {
		return Target{}, fmt.Errorf("reading the merged input of the mesh, ConfigMap %s/%s: %w", servicemesh.IstioNamespace, servicemesh.InputConfigMap, err)
	}
	return TargetOf(operator)
}

// appliedAt is when the configuration of the mesh that gateways read as they start was written
// last, by any manager, and when the newest of its network policies was made. Zero for what is
// not there.
func (c *Controller) appliedAt(ctx context.Context) (configured, policed time.Time, err error) {
	config := &metav1.PartialObjectMetadata{}
	config.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	err = c.Live.Get(ctx, types.NamespacedName{Namespace: servicemesh.IstioNamespace, Name: servicemesh.MeshConfigMap}, config)
	if client.IgnoreNotFound(err) != nil {
		return configured, policed, fmt.Errorf("reading ConfigMap %s/%s: %w", servicemesh.IstioNamespace, servicemesh.MeshConfigMap, err)
	}
	for i := range config.ManagedFields {
		if at := config.ManagedFields[i].Time; at != nil && at.After(configured) {
			configured = at.Time
		}
	}
	policies := &metav1.PartialObjectMetadataList{}
	policies.SetGroupVersionKind(networkingv1.SchemeGroupVersion.WithKind("NetworkPolicyList"))
	if err := c.Live.List(ctx, policies, client.InNamespace(servicemesh.IstioNamespace), client.MatchingLabels{v1alpha2.LabelModule: v1alpha2.ModuleName}); err != nil {
		return configured, policed, fmt.Errorf("listing NetworkPolicies in %s: %w", servicemesh.IstioNamespace, err)
	}
	for i := range policies.Items {
		if at := policies.Items[i].CreationTimestamp; policies.Items[i].DeletionTimestamp.IsZero() && at.After(policed) {
			policed = at.Time
		}
	}
	return configured, policed, nil
}

// updated is when EnvoyFilters of ours have changed last, as they tell by annotation.
func (c *Controller) updated(ctx context.Context) (all, gateway time.Time, err error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(filterKind.GroupVersion().WithKind(filterKind.Kind + "List"))
	err = c.Live.List(ctx, list, client.InNamespace(servicemesh.IstioNamespace), client.MatchingLabels{v1alpha2.LabelModule: v1alpha2.ModuleName})
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		return all, gateway, nil
	}
	if err != nil {
		return all, gateway, fmt.Errorf("listing EnvoyFilters: %w", err)
	}
	for i := range list.Items {
		at, err := time.Parse(time.RFC3339, list.Items[i].Annotations[v1alpha2.AnnotationUpdatedAt])
		if err != nil || at.After(c.Now().Add(clockSkew)) {
			continue // it does not ask for restarts
		}
		last := &all
		if list.Items[i].Name == proxyProtocol {
			last = &gateway
		}
		if at.After(*last) {
			*last = at
		}
	}
	return all, gateway, nil
}
