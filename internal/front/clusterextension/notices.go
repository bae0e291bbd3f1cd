// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front/clusterextension/migration"
	"github.com/strata-run/strata/internal/front/clusterextension/resolve"
	"github.com/strata-run/strata/internal/telemetry"
)

// notices records the events of what the status of a ClusterExtension does not show, each once.
type notices struct {
	recorder events.EventRecorder

	lock sync.Mutex
	// last is what was recorded last of each ClusterExtension.
	last map[string]string
}

// resolved records that another bundle was chosen than before. A manager that was started anew takes
// one that a revision holds for known.
func (n *notices) resolved(ce *olmv1.ClusterExtension, choice resolve.Choice, installed *resolve.Identity, revisions []v1alpha1.Revision) {
	is := identity(ce.Spec.Source.Catalog.PackageName, choice.Identity)
	isKnown := slices.ContainsFunc(revisions, func(r v1alpha1.Revision) bool { return r.Spec.Origin != nil && r.Spec.Origin.Identity == is })
	from := ""
	if installed != nil {
		from = "from bundle " + installed.Name + " " + installed.Version + " "
	}
	n.record(ce, "resolved "+is, isKnown, telemetry.Event{Reason: ReasonResolved, Action: "Resolve", Note: fmt.Sprintf("Resolved %sto bundle %s %s of catalog %s", from, choice.Name, choice.Version, choice.Catalog)})
}

// imported records that revision 1 is made of what OLM's own controller has installed.
func (n *notices) imported(ce *olmv1.ClusterExtension, is *migration.Import) {
	note := fmt.Sprintf("Imported bundle %s %s as revision 1, from a release of OLM's own controller", is.Bundle.Name, is.Bundle.Version)
	n.record(ce, "imported "+is.Bundle.Name, false, telemetry.Event{Reason: ReasonImported, Action: "Import", Note: note})
}

// record records an event unless it was the last one. When nothing was recorded yet, one that is known
// is only remembered.
func (n *notices) record(ce *olmv1.ClusterExtension, key string, isKnown bool, e telemetry.Event) {
	n.lock.Lock()
	before, has := n.last[ce.Name]
	key = string(ce.UID) + " " + key
	if n.last == nil {
		n.last = map[string]string{}
	}
	n.last[ce.Name] = key
	n.lock.Unlock()
	if before == key || !has && isKnown || n.recorder == nil {
		return
	}
	e = telemetry.Bounded(e)
	n.recorder.Eventf(ce, nil, corev1.EventTypeNormal, e.Reason, e.Action, "%s", e.Note)
}

func (n *notices) forget(name string) {
	n.lock.Lock()
	defer n.lock.Unlock()
	delete(n.last, name)
}

// kept records which definitions stay when a ClusterExtension goes, as custom resources of them exist.
func (n *notices) kept(ctx context.Context, live client.Reader, ce *olmv1.ClusterExtension) error {
	definitions := &unstructured.UnstructuredList{}
	definitions.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinitionList"})
	if err := live.List(ctx, definitions, client.MatchingLabels(objectLabels(ce.Name))); err != nil {
		return fmt.Errorf("listing the definitions of ClusterExtension %s: %w", ce.Name, err)
	}
	var kept []string
	for i := range definitions.Items {
		count, err := countOf(ctx, live, &definitions.Items[i])
		if err != nil {
			return err
		}
		if count > 0 {
			kind, _, _ := unstructured.NestedString(definitions.Items[i].Object, "spec", "names", "kind")
			kept = append(kept, fmt.Sprintf("%s, as %d of kind %s exist", definitions.Items[i].GetName(), count, kind))
		}
	}
	if len(kept) > 0 {
		n.record(ce, "kept", false, telemetry.Event{Reason: ReasonCustomResourcesKept, Action: "Delete", Note: "Kept the definitions of custom resources that exist: " + strings.Join(kept, "; ")})
	}
	return nil
}

// countOf is how many custom resources of a definition exist; none when it is being deleted, and when
// they may not be listed.
func countOf(ctx context.Context, live client.Reader, definition *unstructured.Unstructured) (int64, error) {
	group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "kind")
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	served := slices.IndexFunc(versions, func(v any) bool { fields, _ := v.(map[string]any); return fields["served"] == true })
	if served < 0 || definition.GetDeletionTimestamp() != nil {
		return 0, nil
	}
	fields, _ := versions[served].(map[string]any)
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: fmt.Sprint(fields["name"]), Kind: kind + "List"})
	err := live.List(ctx, list, client.Limit(1))
	switch {
	case meta.IsNoMatchError(err), apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("listing the resources of definition %s: %w", definition.GetName(), err)
	}
	count := int64(len(list.Items))
	if more := list.GetRemainingItemCount(); more != nil {
		count += *more
	}
	return count, nil
}
