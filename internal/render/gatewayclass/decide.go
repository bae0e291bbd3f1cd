// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayclass

import (
	"cmp"
	"fmt"
	"regexp"
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
	// names are those of all classes.
	names []string

	release *istio.Release

	// istiodImage is empty for that of the release; proxyImage likewise.
	istiodImage string
	proxyImage  string

	// reason is for the revision's history.
	reason string
}

// decide finds what to install for the classes that count, of which there must be
// one.
func decide(in Input, classes []*gatewayv1.GatewayClass) (*decision, error) {
	d := &decision{class: classes[0], istiodImage: in.Images.Istiod, proxyImage: in.Images.Proxy}
	for _, c := range classes {
		if len(c.Name) > maxClassName {
			return nil, fmt.Errorf("GatewayClass %s: its name has %d characters; istiod finds a class by a label, which takes at most %d", c.Name, len(c.Name), maxClassName)
		}
		d.names = append(d.names, c.Name)
	}
	if err := d.decideVersion(classes, in.DefaultVersion); err != nil {
		return nil, err
	}
	if err := d.decideImages(classes, in.Images); err != nil {
		return nil, err
	}
	return d, nil
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
			return &UnknownVersionError{Version: fallback, Known: Versions()}
		}
		d.release = r
		d.reason = fmt.Sprintf("GatewayClass %s gets the default, Istio %s", d.class.Name, r.Version())
		return nil
	}
	r, ok := istio.Resolve(asked)
	if !ok {
		return &UnknownVersionError{Class: class.Name, Version: asked, Known: Versions()}
	}
	d.class = class
	d.release = r
	d.reason = fmt.Sprintf("GatewayClass %s asks for Istio %s", class.Name, r.Version())
	return nil
}

func (d *decision) decideImages(classes []*gatewayv1.GatewayClass, images Images) error {
	if err := images.Validate(); err != nil {
		return err
	}
	class, image := override(classes, AnnotationIstiodImage)
	if class == nil {
		return nil
	}
	if err := checkImage(image); err != nil {
		return fmt.Errorf("GatewayClass %s: annotation %s: %w", class.Name, AnnotationIstiodImage, err)
	}
	d.istiodImage = image
	d.reason += fmt.Sprintf("; GatewayClass %s asks for istiod image %s", class.Name, image)
	return nil
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

// imageReference is a registry or user, a path, and a tag, a digest or both. The
// charts put references into YAML unquoted or in double quotes, so nothing else
// may pass.
var imageReference = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*(:[0-9]+)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)+(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}(@sha256:[0-9a-f]{64})?|@sha256:[0-9a-f]{64})$`)

// checkImage says whether a reference is complete.
func checkImage(image string) error {
	if len(image) > 512 || !imageReference.MatchString(image) {
		return fmt.Errorf("%.100q is not a full image reference with a tag or digest, such as %s/pilot:1.2.3", image, imageHub)
	}
	return nil
}

// Validate says which image is not a full reference.
func (i Images) Validate() error {
	for _, image := range []struct{ name, reference string }{{"istiod", i.Istiod}, {"proxy", i.Proxy}} {
		if image.reference == "" {
			continue
		}
		if err := checkImage(image.reference); err != nil {
			return fmt.Errorf("image of %s: %w", image.name, err)
		}
	}
	return nil
}

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
