// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayclass

import (
	"cmp"
	"fmt"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/strata-run/strata/internal/front"
)

// Images are full image references, with a tag or a digest. An empty one is that
// of the Istio release.
type Images struct {
	// Istiod is the control plane's. The annotation [AnnotationIstiodImage] wins
	// over it.
	Istiod string `json:"istiod,omitempty"`
	// Proxy is that of the gateways' Envoy.
	Proxy string `json:"proxy,omitempty"`

	// IstiodSource and ProxySource say where the two were set, for the history of
	// revisions: "flag --istiod-image". Empty for nowhere in particular.
	IstiodSource string `json:"-"`
	ProxySource  string `json:"-"`
}

// imagesFor are the images for a minor version.
func (in Input) imagesFor(minor string) Images {
	return in.Images.with(in.VersionImages[minor])
}

// with are these images, and in place of them those that over has.
func (i Images) with(over Images) Images {
	if over.Istiod != "" {
		i.Istiod, i.IstiodSource = over.Istiod, over.IstiodSource
	}
	if over.Proxy != "" {
		i.Proxy, i.ProxySource = over.Proxy, over.ProxySource
	}
	return i
}

// decideImages takes the settings, and for istiod the annotation of the oldest class
// that has it.
func (d *decision) decideImages(classes []*gatewayv1.GatewayClass, annotation string, images Images) error {
	if err := images.Validate(); err != nil {
		return err
	}
	d.istiodImage, d.proxyImage = images.Istiod, images.Proxy
	class, image := override(classes, annotation)
	if class != nil {
		if err := checkImage(image); err != nil {
			return &ClassError{Class: class.Name, Err: fmt.Errorf("annotation %s: %w", annotation, err)}
		}
		d.istiodImage = image
		d.reason += fmt.Sprintf("; GatewayClass %s asks for istiod image %s", class.Name, image)
	} else {
		d.reason += set("istiod", images.Istiod, images.IstiodSource)
	}
	d.reason += set("proxy", images.Proxy, images.ProxySource)
	return nil
}

// set says where the image of a component was set, nothing when it is the release's.
func set(component, image, source string) string {
	if image == "" {
		return ""
	}
	return fmt.Sprintf("; %s image %s is set by %s", component, image, cmp.Or(source, "the manager's settings"))
}

// checkImage says whether a reference is complete.
func checkImage(image string) error {
	if !front.IsImage(image) {
		return fmt.Errorf("%.100q is not a full image reference with a tag or digest, such as %s/pilot:1.2.3", image, imageHub)
	}
	return nil
}

// Validate says which image is not a full reference.
func (i Images) Validate() error {
	for _, image := range []struct{ name, reference, source string }{{"istiod", i.Istiod, i.IstiodSource}, {"proxy", i.Proxy, i.ProxySource}} {
		if image.reference == "" {
			continue
		}
		if err := checkImage(image.reference); err != nil {
			return fmt.Errorf("image of %s: %w", cmp.Or(image.source, image.name), err)
		}
	}
	return nil
}
