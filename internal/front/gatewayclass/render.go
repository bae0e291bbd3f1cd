// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayclass

import (
	"cmp"
	"fmt"
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
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

	// Images take the place of the images of every release, and VersionImages, by
	// Istio's minor version, of those of one: a component of these wins.
	Images        Images
	VersionImages map[string]Images

	// Resources are the CRDs of Istio that istiod takes configuration from besides Gateway
	// API, or [AllResources]. Nil stands for [DefaultResources]. Istio 1.28 takes it from all.
	Resources []string

	// CRDVersion is the Istio version of the CRDs that this front has put in
	// place, such as 1.31.0: those are never replaced by older ones. Empty when
	// there are none.
	CRDVersion string

	// CRDCollisions is what to do with CRDs that exist and are not the package's.
	// Default Prevent. Changing it changes the content, so it must not follow
	// what the package itself does.
	CRDCollisions v1alpha1.CollisionProtection

	// Running is the Istio version that serves now, whatever is asked for: the one of the
	// newest revision of [PackageControlPlane] that has succeeded. Empty before there is one.
	Running string

	// AllowedVersion is one that an administrator lets pass, however far it is from
	// Running. Empty for none.
	AllowedVersion string

	// ForeignCRDs says that another operator or user manages the Istio CRDs in the
	// cluster. Then they are not rendered, and the control plane does not wait for
	// them.
	ForeignCRDs bool

	// Platform is what the cluster's own configuration asks for.
	Platform Platform

	// Migration says what of an older installation has to go first, empty when there
	// is none: the control plane waits for it.
	Migration string

	// CanaryGateways are the Gateways, as namespace/name and sorted, that the second
	// control plane serves: while there are any it stays.
	CanaryGateways []string

	// Existing are the names of the packages that there are.
	Existing []string

	// InferencePools says that a CRD [InferencePoolCRD] or
	// [ExperimentalInferencePoolCRD] exists: istiod then serves them.
	InferencePools bool
}

// Render gives the packages that the classes need, in the order of their
// dependencies. It is pure: the order of the classes, time and the cluster have
// no influence.
//
// Without a class that counts there are no packages, nor with one that asks to hand
// over ([HandOver]). [PackageCRDs] is missing
// when the CRDs have another manager, and blocked when the ones in place are newer
// than any in this binary: what is in place then stays as it is.
//
// A version that is too far from the one that runs is blocked, see [Input.Running].
//
// When several classes ask for a version or an image, the oldest that does so
// decides. A version that is not in this binary is an [UnknownVersionError].
func Render(in Input) ([]content.Package, error) {
	classes := counting(in.Classes)
	if len(classes) == 0 {
		return nil, nil
	}
	if HandOver(in.Classes) != "" {
		return nil, nil
	}
	d, err := decide(in, classes)
	if err != nil {
		return nil, err
	}
	crds, err := renderCRDs(in, d)
	if err != nil {
		return nil, fmt.Errorf("rendering package %s: %w", PackageCRDs, err)
	}
	controlPlane, err := renderControlPlane(in, d)
	if err != nil {
		return nil, fmt.Errorf("rendering package %s: %w", PackageControlPlane, err)
	}
	controlPlane.Blocked = cmp.Or(in.Migration, d.refused)
	canary, err := renderCanary(in, d)
	if err != nil {
		return nil, fmt.Errorf("rendering package %s: %w", PackageCanary, err)
	}
	packages := slices.Concat(crds, []content.Package{controlPlane}, canary)
	if len(crds) > 0 && crds[0].Blocked == "" {
		for i := range packages[1:] {
			packages[1+i].After = []string{PackageCRDs}
		}
	}
	return packages, nil
}
