// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayclass

import "github.com/strata-run/strata/internal/front"

// Rows are all conditions, reasons and scenarios of GatewayClasses.
func Rows() front.Rows {
	return append(controllerInstalledRows(), crdsReadyRows()...)
}

func controllerInstalledRows() []front.Row {
	row := front.RowOf(ConditionControllerInstalled)
	return []front.Row{
		row("True", ReasonInstalled, "istiod is rolled out, and all its probes are true", "istiod 1.31.0 installed", ""),
		row("True", ReasonInstalled, "istiod serves, but not everything in the spec is in effect: an upgrade is in progress or stuck, a rollback excludes the newest content, the CRDs have no known manager, or a canary is rejected",
			"istiod 1.29.1 installed (with warning: ...)", "the warning says it"),
		row("Unknown", ReasonPending, "nothing has been started", "waiting for first reconciliation", ""),
		row("Unknown", ReasonPending, "the first revision is being rolled out, or waits for the CRDs", "istiod 1.31.0 is being installed: ...", ""),
		row("Unknown", ReasonPending, "what an OLM-based operator has installed must be removed first", "waiting for the Sail operator to remove the OLM-based control plane: ...",
			"after 5 minutes the message says how to help the Sail operator, or how to do without it"),
		row("Unknown", ReasonPending, "an earlier package is still being deleted: a user has deleted it, or a class was created while the last one was being deleted", "package istiod-openshift-gateway is being deleted, and is created again afterwards", ""),
		row("Unknown", ReasonPending, "an administrator hands over to another operator, with `strata hand-over` or the annotation `strata.run/hand-over`; afterwards the condition is removed", "being handed over, since ...", "remove the annotation to take over again"),
		row("Unknown", ReasonPending, "the objects of istiod cannot be observed", "whether istiod serves could not be observed: ...", "see the manager's log, and its rights"),
		row("False", ReasonInstallFailed, "the spec cannot be rendered, such as an Istio version that the manager does not have", "GatewayClass x asks for Istio version ...", "change the annotation or setting that the message names"),
		row("False", ReasonInstallFailed, "the first rollout is blocked: the API server refuses an object, an object has another owner, the deadline has passed", "the object, and the API server's words", "`strata explain istiod-openshift-gateway`"),
		row("False", ReasonInstallFailed, "another controller keeps changing a Role, a ClusterRole or a binding of istiod", "istiod does not have its rights: ClusterRole ...", "have that controller leave it alone, see [RightsDiffer](../guides/runbook.md#rightsdiffer)"),
		row("False", ReasonInstallFailed, "istiod was installed, and does not serve any more", "istiod does not serve: ...", "`strata tree istiod-openshift-gateway`"),
	}
}

func crdsReadyRows() []front.Row {
	row := front.RowOf(ConditionCRDsReady)
	const byCIO = "Istio CRDs are being managed by cluster-ingress-operator"
	return []front.Row{
		row("Unknown", ReasonNoneExist, "scenario 1: the CRDs do not exist; they are installed, labelled `ingress.operator.openshift.io/owned`", notYetInstalled, ""),
		row("True", ReasonManagedByCIO, "scenario 2: the CRDs carry the label, whatever its value; they are replaced by the version that goes with istiod, never by an older one. Missing ones are created", byCIO, ""),
		row("True", ReasonManagedByCIO, "scenario 2, while an upgrade brings another CRD, or is paused or cannot go on: those of before serve", byCIO+" (with warning: these do not exist: ...; ...)", "the warning says it"),
		row("False", ReasonNotReady, "scenario 2: some of the CRDs do not exist or are not served, as they are being installed for the first time, or one was deleted", byCIO+" (with warning: these do not exist: ...; ...)", "`strata explain istio-crds`, if it lasts"),
		row("True", ReasonManagedByOLM, "scenario 3: the CRDs were installed by OLM, and their subscription exists or has an install plan; they are not touched, and missing ones not created",
			"Istio CRDs are managed by OSSM subscription 'servicemeshoperator' in namespace 'openshift-operators'", ""),
		row("True", ReasonManagedByCIO, "scenario 3: the CRDs were installed by OLM, and their subscription is gone, or none is named; OLM's labels are taken off, and the CRDs replaced", byCIO, ""),
		row("False", ReasonUnknownManagement, "scenario 4: the CRDs carry neither the label nor OLM's; they are not touched", "Istio CRDs are managed by a third party: ...",
			"remove the CRDs, or add the label `ingress.operator.openshift.io/owned` to all of them"),
		row("False", ReasonMixedOwnership, "scenario 5: the CRDs do not all have the same manager; none is touched", "Istio CRDs are managed inconsistently: ...",
			"remove the CRDs for which the message names another owner, or add the label to them"),
	}
}
