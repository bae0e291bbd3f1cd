// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayclass

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/chart"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/istio"
)

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
	// An older istiod does not start with the templates of a newer one.
	isDowngrade := d.revision == IstioRevision && in.Running != "" && istio.Newer(in.Running, d.release.Version()) != d.release.Version()
	phases, err := toPhases(objects, d.helmRelease(), isDowngrade)
	if err != nil {
		return content.Package{}, err
	}
	origin := d.origin(istiod.Name(), d.release)
	origin.Images = istio.Images(objects, cmp.Or(d.proxyImage, imageHub+"/proxyv2:"+d.release.Version()))
	origin.RollbackMinors = &mostMinors // the bound of an upgrade, in reverse
	return content.Package{Name: "istiod-" + d.revision, Phases: phases, Origin: origin}, nil
}

// toPhases prepares the objects and sorts them into the phases: each has its namespace and what Helm
// needs to adopt it, and nothing that istiod writes itself.
func toPhases(objects []*unstructured.Unstructured, helmRelease string, isDowngrade bool) ([]content.Phase, error) {
	var phases []content.Phase
	for _, name := range []string{PhaseConfig, PhaseControlPlane, PhaseWebhooks} {
		// Objects of an older operator's Helm release have no controller. They must
		// be taken over as they stand, or the control plane would be down meanwhile.
		phases = append(phases, content.Phase{Name: name, CollisionProtection: v1alpha1.CollisionIfNoController})
	}
	for _, o := range slices.SortedStableFunc(slices.Values(objects), istio.Compare) {
		phase, err := istio.Place(o, Namespace)
		if err != nil {
			return nil, err
		}
		setAnnotation(o, annotationReleaseName, helmRelease)
		setAnnotation(o, annotationReleaseNamespace, Namespace)
		if err := istio.YieldWebhooks(o); err != nil {
			return nil, err
		}
		object := content.Object{Manifest: o}
		switch {
		case phase == istio.PhasePolicies:
			phase = PhaseConfig
			if o.GetName() == GatewaysPolicyName { // gateways stay when the control plane goes
				object.Deletion = v1alpha1.ObjectRetain
			}
		case o.GetKind() == "Service" && o.GetName() == TagServiceName:
			phase = PhaseConfig // istiod reads its tags when it starts
		case o.GetKind() == "ConfigMap" && !isDowngrade:
			// istiod mounts its ConfigMaps, and does not start without; but each istiod that
			// runs reads them again at once, and makes proxies of what stands there. So new
			// content, which names the new proxy, waits until the new istiod is available. It
			// understands the content of before.
			object.UpdatePhase = PhaseWebhooks
		}
		i := slices.IndexFunc(phases, func(p content.Phase) bool { return p.Name == phase })
		phases[i].Objects = append(phases[i].Objects, object)
	}
	return phases, nil
}
