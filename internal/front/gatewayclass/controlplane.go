// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayclass

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/chart"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/istio"
)

// placement says where the objects of a kind go.
type placement struct {
	kind       schema.GroupKind
	phase      string
	namespaced bool
}

// placements are the kinds that the control plane may consist of, in the order in
// which they are written within their phase: a binding after its role, the
// Deployment after its Service. A kind that is missing here is an error, so a new
// version of the chart cannot bring one in unnoticed.
var placements = []placement{
	{schema.GroupKind{Kind: "ServiceAccount"}, PhaseConfig, true},
	{schema.GroupKind{Kind: "ConfigMap"}, PhaseConfig, true},
	{schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "Role"}, PhaseConfig, true},
	{schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}, PhaseConfig, false},
	{schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}, PhaseConfig, true},
	{schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding"}, PhaseConfig, false},
	{schema.GroupKind{Group: "networking.k8s.io", Kind: "NetworkPolicy"}, PhaseConfig, true},
	{schema.GroupKind{Kind: "Service"}, PhaseControlPlane, true},
	{schema.GroupKind{Group: "apps", Kind: "Deployment"}, PhaseControlPlane, true},
	{schema.GroupKind{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}, PhaseControlPlane, true},
	{schema.GroupKind{Group: "policy", Kind: "PodDisruptionBudget"}, PhaseControlPlane, true},
	{schema.GroupKind{Group: "admissionregistration.k8s.io", Kind: "MutatingWebhookConfiguration"}, PhaseWebhooks, false},
	{schema.GroupKind{Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration"}, PhaseWebhooks, false},
}

// renderControlPlane gives the package with an istiod: the first one, or the canary.
func renderControlPlane(in Input, d *decision) (content.Package, error) {
	istiod, err := d.release.Chart(istio.ChartIstiod)
	if err != nil {
		return content.Package{}, err
	}
	objects, err := istiod.Render(chart.Release{Name: d.helmRelease(), Namespace: Namespace, Values: values(in, d)})
	if err != nil {
		return content.Package{}, err
	}
	if d.revision == IstioRevision {
		objects = append(objects, istiodPolicy(), gatewaysPolicy(), tagService())
	}
	phases, err := toPhases(objects, d.helmRelease())
	if err != nil {
		return content.Package{}, err
	}
	if d.revision == IstioRevision && in.Running != "" && Newer(in.Running, d.release.Version()) != d.release.Version() {
		updateEarly(phases)
	}
	origin := d.origin(istiod.Name(), d.release)
	origin.Images = images(objects, d)
	origin.RollbackMinors = &mostMinors // the bound of an upgrade, in reverse
	return content.Package{Name: "istiod-" + d.revision, Phases: phases, Origin: origin}, nil
}

// toPhases prepares the objects and sorts them into the phases.
func toPhases(objects []*unstructured.Unstructured, helmRelease string) ([]content.Phase, error) {
	// Objects of an older operator's Helm release have no controller. They must
	// be taken over as they stand, or the control plane would be down meanwhile.
	phases := []content.Phase{
		{Name: PhaseConfig, CollisionProtection: v1alpha1.CollisionIfNoController},
		{Name: PhaseControlPlane, CollisionProtection: v1alpha1.CollisionIfNoController},
		{Name: PhaseWebhooks, CollisionProtection: v1alpha1.CollisionIfNoController},
	}
	for _, o := range objects {
		i := place(o)
		if i < 0 {
			return nil, fmt.Errorf("%s %s: the charts of the control plane are not expected to contain objects of kind %s", o.GetKind(), o.GetName(), o.GroupVersionKind().GroupKind())
		}
		if err := prepare(o, placements[i].namespaced, helmRelease); err != nil {
			return nil, err
		}
		p := slices.IndexFunc(phases, func(p content.Phase) bool { return p.Name == phaseOf(o) })
		phases[p].Objects = append(phases[p].Objects, content.Object{Manifest: o, Deletion: deletionOf(o), UpdatePhase: updatePhaseOf(o)})
	}
	for _, p := range phases {
		slices.SortStableFunc(p.Objects, func(a, b content.Object) int {
			return cmp.Compare(place(a.Manifest), place(b.Manifest))
		})
	}
	return phases, nil
}

// deletionOf says what becomes of an object when the control plane goes. What gateways
// need stays with them.
func deletionOf(o *unstructured.Unstructured) v1alpha1.ObjectDeletion {
	if o.GetKind() == "NetworkPolicy" && o.GetName() == GatewaysPolicyName {
		return v1alpha1.ObjectRetain
	}
	return ""
}

// phaseOf is the phase of an object that has a place. istiod reads its tags when it starts.
func phaseOf(o *unstructured.Unstructured) string {
	if o.GetKind() == "Service" && o.GetName() == TagServiceName {
		return PhaseConfig
	}
	return placements[place(o)].phase
}

// updatePhaseOf is the later phase in which an object that exists gets new content, empty for
// its own. istiod mounts its ConfigMaps, and does not start without; but each istiod that
// runs reads them again at once, and makes proxies of what stands there. So new content, which
// names the new proxy, waits until the new istiod has proved itself. It understands the content
// of before; an older one may not understand that of a newer, see [updateEarly].
func updatePhaseOf(o *unstructured.Unstructured) string {
	if o.GetKind() == "ConfigMap" {
		return PhaseWebhooks
	}
	return ""
}

// updateEarly lets everything get new content in its own phase: on the way back to an older
// istiod, which does not start with the templates of a newer one.
func updateEarly(phases []content.Phase) {
	for _, p := range phases {
		for i := range p.Objects {
			p.Objects[i].UpdatePhase = ""
		}
	}
}

// place is the index in [placements] of the object's kind, -1 if there is none.
func place(o *unstructured.Unstructured) int {
	kind := o.GroupVersionKind().GroupKind()
	return slices.IndexFunc(placements, func(p placement) bool { return p.kind == kind })
}

// prepare makes an object as it must stand in a revision: with its namespace,
// what Helm needs to adopt it, and without what istiod writes itself.
func prepare(o *unstructured.Unstructured, namespaced bool, helmRelease string) error {
	switch {
	case namespaced && o.GetNamespace() == "":
		o.SetNamespace(Namespace)
	case !namespaced && o.GetNamespace() != "":
		return fmt.Errorf("%s %s has the namespace %s, but is not namespaced", o.GetKind(), o.GetName(), o.GetNamespace())
	}
	if len(o.GetOwnerReferences()) > 0 {
		return fmt.Errorf("%s %s has an owner already", o.GetKind(), o.GetName())
	}
	setAnnotation(o, annotationReleaseName, helmRelease)
	setAnnotation(o, annotationReleaseNamespace, Namespace)
	return istio.YieldWebhooks(o)
}

// images are the references of what runs: of istiod as its Deployment has them,
// and of the Envoy that istiod starts for each Gateway. Sorted.
func images(objects []*unstructured.Unstructured, d *decision) []string {
	all := []string{d.proxyImage}
	if d.proxyImage == "" {
		all[0] = imageHub + "/proxyv2:" + d.release.Version()
	}
	for _, o := range objects {
		if o.GetKind() != "Deployment" {
			continue
		}
		for _, field := range []string{"initContainers", "containers"} {
			containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", field)
			for _, c := range containers {
				container, _ := c.(map[string]any)
				if image, _ := container["image"].(string); image != "" {
					all = append(all, image)
				}
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
