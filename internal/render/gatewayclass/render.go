// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayclass

import (
	"fmt"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/istio"
	"github.com/strata-run/strata/internal/render"
)

// Input is what the content depends on: the classes, settings of the manager, and
// facts of the cluster.
type Input struct {
	// Classes are the GatewayClasses, in any order. Those of other controllers,
	// and those that are being deleted, do not count.
	Classes []gatewayv1.GatewayClass

	// DefaultVersion is the Istio version for classes that ask for no other, in
	// any form that [AppVersion] takes. Required.
	DefaultVersion string

	// Images take the place of the images of the release.
	Images Images

	// CRDVersion is the Istio version of the CRDs that this front has put in
	// place, such as 1.31.0: those are never replaced by older ones. Empty when
	// there are none.
	CRDVersion string

	// CRDCollisions is what to do with CRDs that exist and are not the package's.
	// Default Prevent. Changing it changes the content, so it must not follow
	// what the package itself does.
	CRDCollisions v1alpha1.CollisionProtection

	// ForeignCRDs says that the Istio CRDs in the cluster are someone else's to
	// manage. Then they are not rendered, and the control plane does not wait for
	// them.
	ForeignCRDs bool

	// InferencePools says that a CRD [InferencePoolCRD] or
	// [ExperimentalInferencePoolCRD] exists: istiod then serves them.
	InferencePools bool
}

// Images are full image references, with a tag or a digest. An empty one is that
// of the Istio release.
type Images struct {
	// Istiod is the control plane's. The annotation [AnnotationIstiodImage] wins
	// over it.
	Istiod string
	// Proxy is that of the gateways' Envoy.
	Proxy string
}

// Render gives the packages that the classes need, in the order of their
// dependencies. It is pure: the order of the classes, time and the cluster have
// no influence.
//
// Without a class that counts there are no packages. [PackageCRDs] is missing
// when the CRDs are someone else's, and when the ones in place are newer than any
// in this binary: what is in place then stays as it is.
//
// When several classes ask for a version or an image, the oldest that does so
// decides. A version that is not in this binary is an [UnknownVersionError].
func Render(in Input) ([]render.Package, error) {
	classes := counting(in.Classes)
	if len(classes) == 0 {
		return nil, nil
	}
	d, err := decide(in, classes)
	if err != nil {
		return nil, err
	}
	controlPlane, err := renderControlPlane(in, d)
	if err != nil {
		return nil, fmt.Errorf("rendering package %s: %w", PackageControlPlane, err)
	}
	if in.ForeignCRDs {
		return []render.Package{controlPlane}, nil
	}
	r, ok, err := istio.CRDRelease(d.release, in.CRDVersion)
	if err != nil {
		return nil, fmt.Errorf("rendering package %s: %w", PackageCRDs, err)
	}
	if !ok {
		return []render.Package{controlPlane}, nil
	}
	crds, err := renderCRDs(in, d, r)
	if err != nil {
		return nil, fmt.Errorf("rendering package %s: %w", PackageCRDs, err)
	}
	controlPlane.After = []string{PackageCRDs}
	return []render.Package{crds, controlPlane}, nil
}
