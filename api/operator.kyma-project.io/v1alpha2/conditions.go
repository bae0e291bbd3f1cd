// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

// State is the summary of an Istio resource.
type State string

// States of an Istio resource, from good to bad.
const (
	// StateReady: everything that the resource describes runs.
	StateReady State = "Ready"
	// StateProcessing: a rollout is under way.
	StateProcessing State = "Processing"
	// StateDeleting: what was installed is being taken away.
	StateDeleting State = "Deleting"
	// StateWarning: something needs a person, the mesh works.
	StateWarning State = "Warning"
	// StateError: what is described cannot be reached.
	StateError State = "Error"
)

// Condition types of an Istio resource.
const (
	// ConditionReady is the summary.
	ConditionReady = "Ready"
	// ConditionProxySidecarRestartSucceeded says whether all sidecars are of the newest
	// configuration. It never takes away Ready.
	ConditionProxySidecarRestartSucceeded = "ProxySidecarRestartSucceeded"
	// ConditionIngressTargetingUserResourceFound says whether users configure the ingress
	// gateway with an EnvoyFilter of their own, which the next Istio may not understand.
	ConditionIngressTargetingUserResourceFound = "IngressTargetingUserResourceFound"
)

// Reasons of the condition Ready.
const (
	// ReasonReconcileSucceeded: what is described runs.
	ReasonReconcileSucceeded = "ReconcileSucceeded"
	// ReasonReconcileUnknown: nothing is known yet, or the cluster cannot be asked.
	ReasonReconcileUnknown = "ReconcileUnknown"
	// ReasonReconcileRequeued: a gateway runs with outdated settings until it is restarted. Restarts
	// of sidecars do not take away Ready. ProxySidecarRestartSucceeded says how far they are.
	ReasonReconcileRequeued = "ReconcileRequeued"
	// ReasonReconcileFailed: see the message.
	ReasonReconcileFailed = "ReconcileFailed"
	// ReasonValidationFailed: a field has a value that cannot be used. The message names it.
	ReasonValidationFailed = "ValidationFailed"
	// ReasonOlderCRExists: an older Istio resource describes the mesh.
	ReasonOlderCRExists = "OlderCRExists"
	// ReasonOldestCRNotFound: it is unknown which resource is the oldest.
	ReasonOldestCRNotFound = "OldestCRNotFound"
	// ReasonIstioInstallNotNeeded: the resource goes, and nothing was installed for it.
	ReasonIstioInstallNotNeeded = "IstioInstallNotNeeded"
	// ReasonIstioInstallSucceeded: Istio is in place, something that follows is not yet.
	ReasonIstioInstallSucceeded = "IstioInstallSucceeded"
	// ReasonIstioUninstallSucceeded: Istio is gone.
	ReasonIstioUninstallSucceeded = "IstioUninstallSucceeded"
	// ReasonIstioInstallUninstallFailed: Istio cannot be installed or taken away. The
	// message names the object and the pod that keep it.
	ReasonIstioInstallUninstallFailed = "IstioInstallUninstallFailed"
	// ReasonIstioCustomResourceMisconfigured: what is described cannot be merged with the
	// defaults.
	ReasonIstioCustomResourceMisconfigured = "IstioCustomResourceMisconfigured"
	// ReasonIstioCustomResourcesDangling: the deletion waits for custom resources of Istio
	// that users have made. The message counts and names them.
	ReasonIstioCustomResourcesDangling = "IstioCustomResourcesDangling"
	// ReasonIstioVersionUpdateNotAllowed: the version in the manager cannot follow on the
	// one that is installed. The message names both.
	ReasonIstioVersionUpdateNotAllowed = "IstioVersionUpdateNotAllowed"
	// ReasonCustomResourcesReconcileSucceeded: what belongs to Istio is in place too.
	ReasonCustomResourcesReconcileSucceeded = "CustomResourcesReconcileSucceeded"
	// ReasonCustomResourcesReconcileFailed: what belongs to Istio cannot be put in place.
	ReasonCustomResourcesReconcileFailed = "CustomResourcesReconcileFailed"
	// ReasonIngressGatewayRestartSucceeded: the ingress gateway was restarted for its settings,
	// and is coming up.
	ReasonIngressGatewayRestartSucceeded = "IngressGatewayRestartSucceeded"
	// ReasonIngressGatewayRestartFailed: the ingress gateway cannot be restarted.
	ReasonIngressGatewayRestartFailed = "IngressGatewayRestartFailed"
	// ReasonEgressGatewayRestartSucceeded: the egress gateway was restarted for its settings,
	// and is coming up.
	ReasonEgressGatewayRestartSucceeded = "EgressGatewayRestartSucceeded"
	// ReasonEgressGatewayRestartFailed: the egress gateway cannot be restarted.
	ReasonEgressGatewayRestartFailed = "EgressGatewayRestartFailed"
)

// Reasons of the condition ProxySidecarRestartSucceeded.
const (
	// ReasonProxySidecarRestartSucceeded: no workload runs an outdated sidecar.
	ReasonProxySidecarRestartSucceeded = "ProxySidecarRestartSucceeded"
	// ReasonProxySidecarRestartPartiallySucceeded: restarts are under way.
	ReasonProxySidecarRestartPartiallySucceeded = "ProxySidecarRestartPartiallySucceeded"
	// ReasonProxySidecarRestartFailed: a restarted workload does not come up.
	ReasonProxySidecarRestartFailed = "ProxySidecarRestartFailed"
	// ReasonProxySidecarManualRestartRequired: workloads are left that only a person can
	// restart. The message names them.
	ReasonProxySidecarManualRestartRequired = "ProxySidecarManualRestartRequired"
)

// Reasons of the condition IngressTargetingUserResourceFound.
const (
	// ReasonIngressTargetingUserResourceFound: there is one. The message names it.
	ReasonIngressTargetingUserResourceFound = "IngressTargetingUserResourceFound"
	// ReasonIngressTargetingUserResourceNotFound: there is none.
	ReasonIngressTargetingUserResourceNotFound = "IngressTargetingUserResourceNotFound"
	// ReasonIngressTargetingUserResourceDetectionFailed: it could not be looked for.
	ReasonIngressTargetingUserResourceDetectionFailed = "IngressTargetingUserResourceDetectionFailed"
)

// Names on an Istio resource and on what is made for it.
const (
	// Namespace is the one that Istio resources must stand in.
	Namespace = "kyma-system"
	// Finalizer holds an Istio resource until Istio is gone.
	Finalizer = "istios.operator.kyma-project.io/istio-installation"
	// AnnotationLastApplied holds, as JSON, the spec that was rolled out last, with the tag
	// of Istio under IstioTag.
	AnnotationLastApplied = "operator.kyma-project.io/lastAppliedConfiguration"
	// AnnotationUpdatedAt on a resource that proxies read at their start says when it was
	// changed last, in RFC 3339: proxies that are older must be restarted.
	AnnotationUpdatedAt = "istios.operator.kyma-project.io/updatedAt"
	// AnnotationDisclaimer on everything installed says that changes do not last.
	AnnotationDisclaimer = "istios.operator.kyma-project.io/managed-by-disclaimer"
	// LabelModule on everything installed names the module, [ModuleName].
	LabelModule = "kyma-project.io/module"
	// ModuleName is the value of [LabelModule].
	ModuleName = "istio"
	// AnnotationForceDelete on an Istio resource that is being deleted, with the value
	// "true", takes Istio away although custom resources of users block it.
	AnnotationForceDelete = "strata.run/force-delete"

	// AnnotationPurge on an Istio resource, with the value true, deletes the CRDs of Istio and the
	// namespace istio-system with the CA of the mesh when the resource is deleted. They stay else.
	AnnotationPurge = "strata.run/purge"
	// AnnotationAllowVersion on an Istio resource names the version of Istio that may be
	// installed although the version gate refuses it, such as 1.31.0.
	AnnotationAllowVersion = "strata.run/allow-istio-version"
)
