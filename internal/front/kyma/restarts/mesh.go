// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"context"
	"fmt"
	"maps"
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
	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/front/kyma/servicemesh"
)

// proxyProtocol is an EnvoyFilter of the mesh that only the ingress gateway takes in.
const proxyProtocol = "proxy-protocol"

// clockSkew is how far another clock may be ahead of ours. A time that lies further ahead is none:
// waiting for it would be waiting for ever.
const clockSkew = time.Minute

var filterKind = schema.GroupVersionKind{Group: "networking.istio.io", Version: "v1alpha3", Kind: "EnvoyFilter"}

// mesh is one observation of what pods are compared with. It does not change once it is made.
type mesh struct {
	// istio describes the mesh, nil without one. Before are resources that are being deleted, one of
	// which may have described it.
	istio  *v1alpha2.Istio
	before []*v1alpha2.Istio
	// pkg is the package of the mesh, nil without one.
	pkg *v1alpha1.Package
	// rolledOut says that what the resource asks for is what runs. Without it the target is not known.
	rolledOut bool
	target    Target
	notes     notes
}

// installed and removed say what there is of the mesh; it is being removed when neither is true.
func (m *mesh) installed() bool { return m.istio != nil }

func (m *mesh) removed() bool { return m.istio == nil && m.pkg == nil }

// key tells meshes apart that pods may be outdated in.
func (m *mesh) key() string {
	return fmt.Sprint(m.istio.UID, m.notes.changes, m.target.Updated, m.target.GatewayUpdated)
}

func (m *mesh) seen() Seen {
	return Seen{Istio: m.istio.UID, Generation: m.istio.Generation, Revision: m.pkg.Status.CurrentRevision}
}

// delay is how long it takes until a pod that is made now can be distinguished from
// those made before the newest change, as creation times have seconds. Zero when it can.
func (m *mesh) delay(now time.Time) time.Duration {
	newest, times := time.Time{}, []time.Time{m.target.Updated, m.target.GatewayUpdated}
	for _, e := range m.notes.changes {
		times = append(times, e.Since)
	}
	for _, at := range times {
		if !at.After(now.Add(clockSkew)) {
			newest = latest(newest, at)
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
	// notes are those of the Istio resource with that UID, as written last.
	notes notes
	istio types.UID
}

// observe reads what the mesh wants; without one there is no resource in it. The notes are
// written before anything is done by them.
func (c *Controller) observe(ctx context.Context) (*mesh, error) {
	list := &v1alpha2.IstioList{}
	if c.served() {
		if err := c.cache.List(ctx, list); err != nil {
			return nil, fmt.Errorf("listing Istio resources: %w", err)
		}
	}
	all := make([]*v1alpha2.Istio, 0, len(list.Items))
	m := &mesh{pkg: &v1alpha1.Package{}}
	for i := range list.Items {
		istio := &list.Items[i]
		all = append(all, istio)
		if istio.Namespace == v1alpha2.Namespace && !istio.DeletionTimestamp.IsZero() {
			m.before = append(m.before, istio)
		}
	}
	err := c.cache.Get(ctx, types.NamespacedName{Name: servicemesh.PackageIstio}, m.pkg)
	if apierrors.IsNotFound(err) {
		m.pkg = nil
	} else if err != nil {
		return nil, fmt.Errorf("reading Package %s: %w", servicemesh.PackageIstio, err)
	}
	if m.istio = servicemesh.Oldest(all); m.istio == nil {
		return m, nil
	}
	if err := decoding.Problem(m.istio); err != nil {
		return nil, reconcile.TerminalError(fmt.Errorf("reading Istio %s/%s: %w", m.istio.Namespace, m.istio.Name, err))
	}
	applied, err := servicemesh.ParseLastApplied(m.istio.Annotations)
	if err != nil {
		return nil, reconcile.TerminalError(fmt.Errorf("finding out what was rolled out for Istio %s/%s: %w", m.istio.Namespace, m.istio.Name, err))
	}
	return m, c.observeTarget(ctx, m, applied)
}

// observeTarget reads the target and the notes. The first notes are of what was rolled out before:
// also of what another operator has, as long as nothing else was.
func (c *Controller) observeTarget(ctx context.Context, m *mesh, applied servicemesh.LastApplied) error {
	m.rolledOut = rolledOut(m, applied)
	none := servicemesh.LastApplied{IstioTag: applied.IstioTag}
	if m.notes = c.notesOf(m); len(m.notes.changes) == 0 && (m.rolledOut || applied.String() != none.String()) {
		m.notes.changes = Baseline(applied.IstioSpec)
	}
	if len(m.notes.changes) > 0 {
		if err := c.recordNotes(ctx, m.istio, m.notes); err != nil {
			return err
		}
	}
	if !m.rolledOut {
		return nil
	}
	var err error
	if m.target, err = c.targetOf(ctx, m.pkg); err != nil {
		return err
	}
	m.target.Spec, m.target.Since = applied.IstioSpec, m.pkg.CreationTimestamp.Time
	// A namespace that has left has not joined, also if it has joined again since.
	m.notes.changes, m.notes.joined = m.notes.changes.Next(&m.target, c.now()), maps.Clone(m.notes.joined)
	var left []any
	c.left.Range(func(name, _ any) bool {
		left = append(left, name)
		delete(m.notes.joined, fmt.Sprint(name))
		return true
	})
	if err := c.recordNotes(ctx, m.istio, m.notes); err != nil {
		return err
	}
	for _, name := range left {
		c.left.Delete(name)
	}
	return nil
}

// rolledOut says whether what the resource asks for is what runs.
func rolledOut(m *mesh, applied servicemesh.LastApplied) bool {
	if m.pkg == nil || applied.IstioTag == "" || !m.pkg.DeletionTimestamp.IsZero() {
		return false
	}
	wanted, s := servicemesh.LastApplied{IstioSpec: m.istio.Spec, IstioTag: applied.IstioTag}, &m.pkg.Status
	return applied.String() == wanted.String() && s.CurrentRevision > 0 && s.CurrentRevision == s.TargetRevision &&
		meta.IsStatusConditionTrue(s.Conditions, v1alpha1.ConditionReady)
}

// targetOf is what a revision wants of pods, and what EnvoyFilters do. It is read once for each.
func (c *Controller) targetOf(ctx context.Context, pkg *v1alpha1.Package) (Target, error) {
	t, changed := c.known.target, c.filtersChanged.Swap(false)
	var err error
	if c.known.pkg == pkg.UID && c.known.revision == pkg.Status.CurrentRevision {
		if !changed {
			return t, nil
		}
	} else if t, err = c.readTarget(ctx); err != nil {
		return t, err
	} else if t.Configured, t.Policed, err = c.appliedAt(ctx); err != nil {
		return t, err
	}
	if t.Updated, t.GatewayUpdated, err = c.updatedAt(ctx); err != nil {
		c.filtersChanged.Store(true)
		return t, err
	}
	c.known.target, c.known.pkg, c.known.revision = t, pkg.UID, pkg.Status.CurrentRevision
	return t, nil
}

// readTarget reads what the revision that runs wants of pods.
func (c *Controller) readTarget(ctx context.Context) (Target, error) {
	input, operator := &corev1.ConfigMap{}, map[string]any{}
	err := c.live.Get(ctx, types.NamespacedName{Namespace: servicemesh.IstioNamespace, Name: servicemesh.InputConfigMap}, input)
	if err == nil {
		err = yaml.Unmarshal([]byte(input.Data[servicemesh.InputKey]), &operator)
	}
	if err != nil {
		return Target{}, fmt.Errorf("reading the merged input of the mesh, ConfigMap %s/%s: %w", servicemesh.IstioNamespace, servicemesh.InputConfigMap, err)
	}
	return TargetOf(operator)
}

// appliedAt is when the configuration of the mesh that gateways read as they start was written
// last, by any manager, and when the newest of its network policies was made. Zero for what is
// not there.
func (c *Controller) appliedAt(ctx context.Context) (configured, policed time.Time, err error) {
	config := front.Metadata(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	if _, err := front.Read(ctx, c.live, servicemesh.IstioNamespace, servicemesh.MeshConfigMap, config); err != nil {
		return configured, policed, err
	}
	for i := range config.ManagedFields {
		if at := config.ManagedFields[i].Time; at != nil {
			configured = latest(configured, at.Time)
		}
	}
	policies, err := c.ofMesh(ctx, networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"))
	for i := range policies {
		if policies[i].DeletionTimestamp.IsZero() {
			policed = latest(policed, policies[i].CreationTimestamp.Time)
		}
	}
	return configured, policed, err
}

// updatedAt is when EnvoyFilters of the mesh have changed last, as their annotation says.
func (c *Controller) updatedAt(ctx context.Context) (all, gateway time.Time, err error) {
	filters, err := c.ofMesh(ctx, filterKind)
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		err = nil
	}
	for i := range filters {
		at, invalid := time.Parse(time.RFC3339, filters[i].Annotations[v1alpha2.AnnotationUpdatedAt])
		switch {
		case invalid != nil || at.After(c.now().Add(clockSkew)): // it does not ask for restarts
		case filters[i].Name == proxyProtocol:
			gateway = latest(gateway, at)
		default:
			all = latest(all, at)
		}
	}
	return all, gateway, err
}

// ofMesh lists the objects of a kind that are the mesh's.
func (c *Controller) ofMesh(ctx context.Context, kind schema.GroupVersionKind) ([]metav1.PartialObjectMetadata, error) {
	list := front.MetadataList(kind)
	err := c.live.List(ctx, list, client.InNamespace(servicemesh.IstioNamespace), client.MatchingLabels{v1alpha2.LabelModule: v1alpha2.ModuleName})
	if err != nil {
		return nil, fmt.Errorf("listing objects of kind %s in %s: %w", kind.Kind, servicemesh.IstioNamespace, err)
	}
	return list.Items, nil
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
