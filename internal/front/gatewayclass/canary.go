// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayclass

import (
	"fmt"
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/istio"
)

// renderCanary gives the package of a second control plane, if a class asks for one and
// nothing speaks against it. Gateways are moved to it by their label [LabelRevision], one
// by one, and back. One that no class asks for any more stays as it is while it serves
// Gateways: no other control plane would serve them.
func renderCanary(in Input, d *decision) ([]content.Package, error) {
	canary, refused := decideCanary(in, d)
	exists := slices.Contains(in.Existing, PackageCanary)
	switch {
	case canary == nil && refused == "" && (!exists || len(in.CanaryGateways) == 0):
		return nil, nil
	case canary == nil && refused == "":
		refused = fmt.Sprintf("it is not asked for any more, and stays while it serves Gateways: set the label %s of %s to %s",
			LabelRevision, strings.Join(in.CanaryGateways, ", "), IstioRevision)
	}
	if refused != "" {
		return []content.Package{{Name: PackageCanary, Blocked: "canary: " + refused, Origin: d.origin("istiod", d.release)}}, nil
	}
	pkg, err := renderControlPlane(in, canary)
	if err != nil {
		return nil, err
	}
	return []content.Package{pkg}, nil
}

// AsksForCanary says whether a class that counts asks for a second control plane, whatever
// becomes of that.
func AsksForCanary(classes []gatewayv1.GatewayClass) bool {
	class, _ := override(counting(classes), AnnotationCanaryVersion)
	return class != nil
}

// decideCanary finds what the second control plane is to be, nil for none, and why not,
// when one is asked for that would do harm.
func decideCanary(in Input, first *decision) (canary *decision, refused string) {
	classes := counting(in.Classes)
	class, asked := override(classes, AnnotationCanaryVersion)
	if class == nil {
		return nil, ""
	}
	r, ok := istio.Resolve(asked)
	if !ok {
		return nil, (&UnknownVersionError{Class: class.Name, Version: asked, Known: istio.Minors(), Annotation: AnnotationCanaryVersion}).Error()
	}
	if refused := refuseCanary(class, in.Running, first.release, r); refused != "" {
		return nil, refused
	}
	canary = &decision{class: class, revision: CanaryRevision, release: r, reason: fmt.Sprintf("GatewayClass %s asks for a canary of Istio %s", class.Name, r.Version())}
	// The defaults of the classes are the first one's: istiod takes the oldest of them,
	// whichever revision they are of.
	if err := canary.decideImages(classes, AnnotationCanaryImage, in.imagesFor(r.Minor())); err != nil {
		return nil, err.Error()
	}
	return canary, ""
}

// refuseCanary says why no canary of a version may run beside the first one: that which
// runs, and that which is asked for and may run next.
func refuseCanary(class *gatewayv1.GatewayClass, running string, asked, canary *istio.Release) string {
	runs, known := asked, true
	if running != "" {
		runs, known = istio.Resolve(running)
	}
	if !known {
		return fmt.Sprintf("GatewayClass %s asks for Istio %s beside %s, of which it is not known whether Gateways can be moved away from it: "+
			"remove its annotation %s, and upgrade in place", class.Name, canary.Version(), running, AnnotationCanaryVersion)
	}
	releases := istio.Releases()
	for _, first := range []*istio.Release{runs, asked} {
		switch {
		case slices.Index(releases, canary) < slices.Index(releases, first):
			return fmt.Sprintf("GatewayClass %s asks for Istio %s beside %s: a canary may not be older", class.Name, canary.Version(), first.Version())
		case !abilitiesOf(first).sideBySide:
			return fmt.Sprintf("GatewayClass %s asks for Istio %s beside %s, which drops the configuration of a Gateway that is moved away before its pods have connected to the other: "+
				"remove its annotation %s, and upgrade in place", class.Name, canary.Version(), first.Version(), AnnotationCanaryVersion)
		}
	}
	return ""
}
