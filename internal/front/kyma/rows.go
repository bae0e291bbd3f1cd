// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package kyma

import (
	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/internal/front"
)

// Rows are all conditions and reasons of Istio resources, with the state that comes with
// each of them before its situation.
func Rows() front.Rows {
	return append(kymaReadyRows(), kymaFurtherRows()...)
}

func kymaReadyRows() []front.Row {
	row := front.RowOf(v1alpha2.ConditionReady)
	return []front.Row{
		row("True", v1alpha2.ReasonReconcileSucceeded, "Ready: the mesh is rolled out, and all its probes succeed; Warning: workloads are left that have to be restarted by hand, or that do not become ready; or a ConfigMap cannot be read, and what it has said before counts",
			"Istio 1.31.0-distroless runs, with the defaults for a cluster of size Production", ""),
		row("Unknown", v1alpha2.ReasonReconcileUnknown, "Processing: a rollout is under way, or something does not work for the moment; or it is over, and which pods have an outdated proxy is not known yet", "package kyma-istio: Deployment istio-system/istiod: ...", "wait; `strata explain kyma-istio` shows the pods"),
		row("Unknown", v1alpha2.ReasonReconcileUnknown, "Warning: a package is paused, or waits for an approval", "package kyma-istio: ...", "`strata resume kyma-istio`, or `strata approve kyma-istio`"),
		row("Unknown", v1alpha2.ReasonReconcileUnknown, "Error: `spec.experimental` is set, and the manager does not allow it", "spec.experimental is set, and experimental features are off: ...", "remove it, or start the manager with `--kyma-experimental`; the mesh stays as it is until then"),
		row("Unknown", v1alpha2.ReasonReconcileUnknown, "Deleting: the mesh is being removed", "Istio is being removed: ...", ""),
		row("False", v1alpha2.ReasonReconcileFailed, "Error: the resource is in another namespace than `kyma-system`", "an Istio resource works in namespace kyma-system only: ...", "create it there"),
		row("False", v1alpha2.ReasonReconcileFailed, "Error: the API server does not answer, or a package or revision cannot be made", "listing nodes: ...", "see the manager's log, and its rights; the manager retries"),
		row("False", v1alpha2.ReasonReconcileFailed, "Warning: a rollback excludes what the resource asks for", "a rollback excludes the newest content: ...", "what the message says: change the resource first, or roll forward"),
		row("False", v1alpha2.ReasonReconcileFailed, "Warning: a user's EnvoyFilter configures the ingress gateway", "EnvoyFilters of users configure the ingress gateway, ...", "remove it, or check whether the next Istio understands it"),
		row("False", v1alpha2.ReasonValidationFailed, "Warning or Error: a field has a value that the API server lets through and that cannot be used", "spec.config.authorizers[1].name is ...", "change the field that the message names; the mesh stays as it is until then"),
		row("False", v1alpha2.ReasonIstioCustomResourceMisconfigured, "Error: the resource cannot be merged with the defaults, or not be rendered", "merging Istio kyma-system/default with the defaults: ...", "the message says it"),
		row("False", v1alpha2.ReasonOlderCRExists, "Error: another resource is older", "Istio resource default is older and describes the mesh: ...", "delete one of them"),
		row("False", v1alpha2.ReasonOldestCRNotFound, "Warning: which resource is the oldest is not known", "cannot determine which Istio resource describes the mesh", "see the manager's log"),
		row("False", v1alpha2.ReasonIstioVersionUpdateNotAllowed, "Warning: the version gate refuses the manager's Istio", "Istio version update is not allowed: Istio 1.31.0 cannot follow on Istio 1.29.1, ...", "use the manager that the message names, or the annotation"),
		row("False", v1alpha2.ReasonIstioInstallUninstallFailed, "Error: a rollout is blocked, or the mesh cannot be removed", "package kyma-istio cannot be rolled out: ...", "`strata explain kyma-istio`"),
		row("False", v1alpha2.ReasonIstioInstallSucceeded, "Processing: Istio is in place, and its own custom resources and autoscalers are not yet", "Istio is in place, and what belongs to it is being rolled out: ...", "wait; `strata explain kyma-istio` shows what is missing"),
		row("False", v1alpha2.ReasonCustomResourcesReconcileFailed, "Error: Istio is in place, and its own custom resources and autoscalers cannot be put in place", "Istio is in place, and what belongs to it cannot be rolled out: ...", "`strata explain kyma-istio`"),
		row("False", v1alpha2.ReasonIngressGatewayRestartFailed, "Error: the ingress gateway cannot be restarted", "the ingress gateway cannot be restarted: ...", "the message says why; the manager retries"),
		row("False", v1alpha2.ReasonIngressGatewayRestartSucceeded, "Processing: the ingress gateway was restarted, as its settings have changed, and its pods are starting", "the ingress gateway was restarted, and its new pods are starting", "wait"),
		row("False", v1alpha2.ReasonEgressGatewayRestartFailed, "Error: the egress gateway cannot be restarted", "the egress gateway cannot be restarted: ...", "the message says why; the manager retries"),
		row("False", v1alpha2.ReasonEgressGatewayRestartSucceeded, "Processing: the egress gateway was restarted, as its settings have changed, and its pods are starting", "the egress gateway was restarted, and its new pods are starting", "wait"),
		row("False", v1alpha2.ReasonReconcileRequeued, "Processing: a gateway waits for its restart, for example until the window for restarts opens; Warning: failed restarts or a window that cannot be read keep it from that", "the ingress gateway runs with outdated settings (NumTrustedProxies) until it is restarted; no workload is restarted before the window for restarts opens (annotation strata.run/restart-window)",
			"wait, or remove the annotation `strata.run/restart-window`; repair the workload that the message names"),
		row("False", v1alpha2.ReasonIstioCustomResourcesDangling, "Warning: the resource is being deleted, and users have custom resources of Istio", "Istio is not removed: custom resources of Istio that users have made block it (2 VirtualService): ...",
			"delete them, force the deletion with the annotation that the message names, or undo it with another Istio resource"),
		row("False", v1alpha2.ReasonIstioInstallNotNeeded, "Deleting: another resource describes the mesh, or nothing is installed", "Istio resource next describes the mesh, which stays", ""),
		row("False", v1alpha2.ReasonIstioUninstallSucceeded, "Deleting: nothing is left to remove, except possibly sidecars of workloads", "nothing of Istio is left to remove", ""),
	}
}

func kymaFurtherRows() []front.Row {
	restarts := func(value, reason, when, message, remedy string) front.Row {
		return front.Row{Condition: v1alpha2.ConditionProxySidecarRestartSucceeded, Status: value, Reason: reason, When: when, Message: message, Remedy: remedy}
	}
	filters := func(value, reason, when, message, remedy string) front.Row {
		return front.Row{Condition: v1alpha2.ConditionIngressTargetingUserResourceFound, Status: value, Reason: reason, When: when, Message: message, Remedy: remedy}
	}
	return []front.Row{
		restarts("True", v1alpha2.ReasonProxySidecarRestartSucceeded, "every sidecar is of the newest configuration", "no workload runs an outdated proxy", ""),
		restarts("False", v1alpha2.ReasonProxySidecarRestartPartiallySucceeded, "workloads are being restarted", "12 workloads are still to be restarted, as proxies are outdated", ""),
		restarts("False", v1alpha2.ReasonProxySidecarRestartFailed, "a restarted workload does not become ready; no other one of its namespace is restarted, and none at all if it belongs to the mesh or workloads of too many namespaces fail", "restarts have stopped in the namespaces of workloads that do not become ready: ...", "repair the workload that the message names, or exclude it"),
		restarts("False", v1alpha2.ReasonProxySidecarManualRestartRequired, "some workloads can be restarted by hand only", "these run an outdated proxy, and have to be restarted by hand: ...", "restart them"),
		filters("False", v1alpha2.ReasonIngressTargetingUserResourceNotFound, "no user configures the ingress gateway", "no EnvoyFilter of a user configures the ingress gateway", ""),
		filters("True", v1alpha2.ReasonIngressTargetingUserResourceFound, "a user does", "EnvoyFilters of users configure the ingress gateway, ...: istio-system/mine", "remove it, or check whether the next Istio understands it"),
		filters("Unknown", v1alpha2.ReasonIngressTargetingUserResourceDetectionFailed, "they cannot be read", "EnvoyFilters cannot be listed: ...", "see the manager's rights"),
	}
}
