// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayclass

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/istio"
)

// decision is what the classes together ask for.
type decision struct {
	// class is the one that decides on the version, and else the oldest.
	class *gatewayv1.GatewayClass
	// names are those of all classes that can be served.
	names []string

	release *istio.Release
	// refused is why the release may not follow the one that runs, empty when it may.
	refused string
	// revision is Istio's: [IstioRevision] or [CanaryRevision].
	revision string

	// istiodImage is empty for that of the release; proxyImage likewise.
	istiodImage string
	proxyImage  string

	// reason is for the revision's history.
	reason string
}

// decide finds what to install for the classes that count, of which there must be
// one.
func decide(in Input, classes []*gatewayv1.GatewayClass) (*decision, error) {
	d := &decision{class: classes[0], revision: IstioRevision}
	for _, c := range classes {
		if CheckClass(c) == nil {
			d.names = append(d.names, c.Name)
		}
	}
	if len(d.names) == 0 {
		return nil, CheckClass(d.class)
	}
	if err := d.decideVersion(classes, in.DefaultVersion); err != nil {
		return nil, err
	}
	d.refused = tooFar(in.Running, d.release.Version(), in.AllowedVersion)
	if err := d.decideImages(classes, AnnotationIstiodImage, in.imagesFor(d.release.Minor())); err != nil {
		return nil, err
	}
	return d, nil
}

// CheckClass says why istiod cannot serve a class, nil if it can. It serves the others
// meanwhile.
func CheckClass(class *gatewayv1.GatewayClass) error {
	if len(class.Name) > maxClassName {
		return fmt.Errorf("GatewayClass %s: its name has %d characters; istiod finds a class by a label, which takes at most %d", class.Name, len(class.Name), maxClassName)
	}
	return nil
}

// counting are the classes that are ours and not being deleted, oldest first.
func counting(classes []gatewayv1.GatewayClass) []*gatewayv1.GatewayClass {
	var ours []*gatewayv1.GatewayClass
	for i := range classes {
		if c := &classes[i]; c.Spec.ControllerName == ControllerName && c.DeletionTimestamp.IsZero() {
			ours = append(ours, c)
		}
	}
	slices.SortFunc(ours, func(a, b *gatewayv1.GatewayClass) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return ours
}

func (d *decision) decideVersion(classes []*gatewayv1.GatewayClass, fallback string) error {
	class, asked := override(classes, AnnotationIstioVersion)
	if class == nil {
		r, ok := istio.Resolve(fallback)
		if !ok {
			return &UnknownVersionError{Version: fallback, Known: istio.Minors()}
		}
		d.release = r
		d.reason = fmt.Sprintf("GatewayClass %s gets the default, Istio %s", d.class.Name, r.Version())
		return nil
	}
	r, ok := istio.Resolve(asked)
	if !ok {
		return &UnknownVersionError{Class: class.Name, Version: asked, Known: istio.Minors()}
	}
	d.class = class
	d.release = r
	d.reason = fmt.Sprintf("GatewayClass %s asks for Istio %s", class.Name, r.Version())
	return nil
}

// HandOver is why nothing is managed any more, empty when no class asks for that.
func HandOver(classes []gatewayv1.GatewayClass) string {
	class, _ := override(counting(classes), AnnotationHandOver)
	if class == nil {
		return ""
	}
	return fmt.Sprintf("being handed over, since the annotation %s of GatewayClass %s asks for it: every object stays as it is, and is released",
		AnnotationHandOver, class.Name)
}

// override finds the oldest class that has the annotation, with a value.
func override(classes []*gatewayv1.GatewayClass, annotation string) (*gatewayv1.GatewayClass, string) {
	for _, c := range classes {
		if value := strings.TrimSpace(c.Annotations[annotation]); value != "" {
			return c, value
		}
	}
	return nil, ""
}

// helmRelease is the Helm release that an older operator installs the same as.
func (d *decision) helmRelease() string { return d.revision + "-istiod" }

// origin is recorded in the revisions of a chart's package.
func (d *decision) origin(chart string, r *istio.Release) v1alpha1.Origin {
	return v1alpha1.Origin{
		Kind:       v1alpha1.OriginFront,
		Reference:  "GatewayClass/" + d.class.Name,
		Generation: d.class.Generation,
		Chart:      chart,
		AppVersion: r.Version(),
		Reason:     d.reason,
	}
}
