// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayclass

import "github.com/strata-run/strata/internal/istio"

// Names that users, istiod and operators before this one rely on.
const (
	// ControllerName is the spec.controllerName of the GatewayClasses that are
	// ours. istiod answers for it.
	ControllerName = "openshift.io/gateway-controller/v1"

	// DefaultClassName is the GatewayClass that istiod takes for its default.
	// Other names with our controller name count as well.
	DefaultClassName = "openshift-default"

	// IstioRevision is the revision of the control plane: the value of the label
	// istio.io/rev on what it serves, and a part of the names of its objects.
	IstioRevision = "openshift-gateway"

	// CanaryRevision is the revision of the second control plane, while there is one.
	CanaryRevision = "openshift-gateway-canary"

	// Namespace is where the control plane runs. It must exist.
	Namespace = "openshift-ingress"

	// ReleaseName is the Helm release that operators before this one install the
	// control plane as.
	ReleaseName = "openshift-gateway-istiod"

	// CAConfigMap is the ConfigMap that istiod publishes its CA certificate in.
	CAConfigMap = "openshift-gw-ca-root-cert"

	// NetworkPolicyName is the NetworkPolicy that lets istiod be reached.
	NetworkPolicyName = "istiod-allow"

	// GatewaysPolicyName is the NetworkPolicy that lets the gateways in [Namespace] be
	// reached, and reach what they are the way to. It stays, like the gateways, when the
	// last class goes.
	GatewaysPolicyName = "gateways-allow"

	// Finalizer keeps a GatewayClass until its control plane is torn down.
	Finalizer = "openshift.io/ingress-operator-sail-finalizer"

	// LabelOwned on an Istio CRD says that this front manages it, whatever the
	// label's value.
	LabelOwned = "ingress.operator.openshift.io/owned"

	// AnnotationIstioVersion on a GatewayClass asks for another Istio version
	// than the default. For development only.
	AnnotationIstioVersion = "unsupported.do-not-use.openshift.io/istio-version"

	// AnnotationIstiodImage on a GatewayClass is a full image reference that
	// istiod runs instead of the version's own. For development only.
	AnnotationIstiodImage = "unsupported.do-not-use.openshift.io/istiod-image"

	// AnnotationCanaryVersion on a GatewayClass asks for a second control plane beside
	// the first one, of this Istio version, see [CanaryRevision].
	AnnotationCanaryVersion = "strata.run/istio-canary-version"

	// AnnotationCanaryImage on a GatewayClass is a full image reference that the
	// second istiod runs instead of the version's own.
	AnnotationCanaryImage = "strata.run/istiod-canary-image"

	// AnnotationHandOver on a GatewayClass, with any value, releases the control plane and the
	// CRDs as they stand, so that another operator can take them over. The finalizer and the
	// conditions of the classes go with them.
	AnnotationHandOver = "strata.run/hand-over"

	// AnnotationSync on a GatewayClass changes when istiod has been started anew.
	// Istio before 1.31 may have given up on Gateways that were there before it, and
	// looks at them again when their class changes.
	AnnotationSync = "ingress.operator.openshift.io/sync"

	// LabelGatewayName stands on everything that istiod makes for a Gateway, pods too.
	LabelGatewayName = "gateway.networking.k8s.io/gateway-name"

	// AnnotationOwned on a subscription says that an operator before this one made it.
	AnnotationOwned = LabelOwned

	// LabelRevision on a Gateway is the revision of the istiod that serves it:
	// [IstioRevision] or [CanaryRevision]. An istiod with a revision ignores Gateways
	// without.
	LabelRevision = "istio.io/rev"

	// TagServiceName is the Service that makes the first istiod the default of its own
	// namespace: without, it writes no status on routes and policies that carry no label
	// [LabelRevision].
	TagServiceName = "istiod-revision-tag-default"

	// LabelTag on a Service is the tag that istiod answers to besides its revision, see
	// [TagServiceName].
	LabelTag = "istio.io/tag"

	// AnnotationTag on the pods of istiod is the tag that they have started with: istiod
	// looks at routes of before again only when it is started anew.
	AnnotationTag = "strata.run/istio-tag"

	// AnnotationAppVersion on an Istio CRD is the Istio version it is from.
	AnnotationAppVersion = "app.kubernetes.io/version"
)

// Names of the CRDs that turn on the inference extension, see
// [Input.InferencePools].
const (
	InferencePoolCRD             = "inferencepools.inference.networking.k8s.io"
	ExperimentalInferencePoolCRD = "inferencepools.inference.networking.x-k8s.io"
)

// Names of the packages and their phases.
const (
	// PackageCRDs is the package of the Istio CRDs.
	PackageCRDs = "istio-crds"
	// PackageControlPlane is the package of istiod.
	PackageControlPlane = "istiod-openshift-gateway"

	// PackageCanary is the package of the second istiod, while one is asked for.
	PackageCanary = "istiod-openshift-gateway-canary"

	// PhaseCRDs is the only phase of [PackageCRDs].
	PhaseCRDs = "crds"
	// PhaseConfig is the first phase of [PackageControlPlane]: what istiod needs
	// to start, and who may reach it.
	PhaseConfig = istio.PhaseConfig
	// PhaseControlPlane contains istiod itself.
	PhaseControlPlane = istio.PhaseControlPlane
	// PhaseWebhooks contains what the API server asks istiod.
	PhaseWebhooks = istio.PhaseWebhooks
)

const (
	// imageHub is where the images of Istio's releases are. The charts in the Go
	// module name the one for test builds.
	imageHub = "registry.istio.io/release"

	// Helm adopts an object that carries these two annotations and the label
	// app.kubernetes.io/managed-by: Helm, so an older operator can take over
	// after a downgrade.
	annotationReleaseName      = "meta.helm.sh/release-name"
	annotationReleaseNamespace = "meta.helm.sh/release-namespace"

	// maxClassName is how long a label's value may be: istiod finds the defaults
	// of a class by a label with its name.
	maxClassName = 63
)
