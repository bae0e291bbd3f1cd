// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"slices"

	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
	"github.com/strata-run/strata/internal/front"
)

// Rows are all conditions and reasons of ClusterExtensions.
func Rows() front.Rows {
	return slices.Concat(installedRows(), progressingRows(), availableRows(), deprecatedRows())
}

func installedRows() front.Rows {
	row := front.RowOf(olmv1.TypeInstalled)
	return front.Rows{
		row("Unknown", olmv1.ReasonFailed, "the revisions cannot be read", "what is installed could not be read: ...", "as the message says"),
		row("True", olmv1.ReasonSucceeded, "a revision has succeeded, also while an upgrade fails, or was imported", "Installed bundle registry.example/argocd@sha256:... successfully", ""),
		row("False", olmv1.ReasonFailed, "nothing is installed, and the first attempt has failed or waits for a user", "No bundle installed: no bundles found for package \"argocd\"", "see Progressing"),
		row("False", olmv1.ReasonAbsent, "nothing is installed yet, and the rollout goes on", "No bundle installed", ""),
	}
}

func progressingRows() front.Rows {
	row := front.RowOf(olmv1.TypeProgressing)
	return front.Rows{
		row("False", olmv1.ReasonInvalidConfiguration, "the bundle does not take what spec.config has", "invalid ClusterExtension configuration: invalid configuration: unknown field \"x\"", "change the field that the message names"),
		row("False", olmv1.ReasonBlocked, "only a change of the spec, of a catalog or of the cluster helps: a range that is none, a dependency, a bundle that is refused, a name that is taken, a failed preflight, a release of OLM that cannot be imported", "desired version range \"x\" is invalid: ...", "as the message says"),
		row("False", olmv1.ReasonProgressDeadlineExceeded, "there was no progress for the time in spec.progressDeadlineMinutes; it can still recover", "The ClusterExtension has not rolled out for 10 minute(s). Last status: ...", "`strata explain NAME`"),
		row("False", olmv1.ReasonPaused, "the package is paused", "paused by ann: maintenance", "`strata resume NAME`, or remove the annotation strata.run/paused"),
		row("False", olmv1.ReasonAwaitingApproval, "the revision waits for the approval of its content", "revision 2 (1.1.0) waits for approval", "`strata approve NAME`"),
		row("True", olmv1.ReasonRetrying, "something failed and is tried again: the resolution, a catalog, a registry, a missing namespace, ServiceAccount or right, a collision, the API server", "revision object collisions: ...", "as the message says"),
		row("True", olmv1.ReasonRollingOut, "a revision is being rolled out, a bundle is being pulled, or the ClusterExtension is being deleted", "Revision 1.1.0 is rolling out. revision 2 (1.1.0): phase 2/6: ...", "`strata explain NAME`, when it takes long"),
		row("False", olmv1.ReasonSucceeded, "what was resolved is rolled out; the message has warnings, and says when a rollback keeps something out", "Desired state reached", ""),
	}
}

func availableRows() front.Rows {
	row := front.RowOf(olmv1.TypeAvailable)
	return front.Rows{
		row("True", olmv1.ReasonProbesSucceeded, "all workloads work", "all objects are ready", ""),
		row("False", olmv1.ReasonProbeFailure, "an object does not work", "Deployment argocd/argocd-operator: 0 of 1 replicas are available", "`strata explain NAME`"),
		row("False", olmv1.ReasonRollingOut, "nothing is installed yet, and the rollout goes on", "no revision has succeeded yet", ""),
		row("Unknown", olmv1.ReasonReconciling, "the objects have not been checked yet, or could not be", "The objects have not been checked yet", ""),
	}
}

func deprecatedRows() front.Rows {
	var rows front.Rows
	for _, of := range []struct{ condition, what, message, not string }{
		{olmv1.TypeDeprecated, "the package, a channel or the installed bundle", "package argocd-operator is deprecated", "not deprecated"},
		{olmv1.TypePackageDeprecated, "the package", "package argocd-operator is deprecated", "package argocd-operator is not deprecated"},
		{olmv1.TypeChannelDeprecated, "one of spec.source.catalog.channels, without these any channel of the package,", "channel alpha is deprecated", "no channel is deprecated"},
		{olmv1.TypeBundleDeprecated, "the installed bundle", "bundle argocd-operator.v0.1.0 is deprecated", "the installed bundle is not deprecated"},
	} {
		rows = append(rows,
			front.Row{Condition: of.condition, Status: "True", Reason: olmv1.ReasonDeprecated, When: "the catalog says that " + of.what + " is deprecated", Message: of.message, Remedy: "as the message says"},
			front.Row{Condition: of.condition, Status: "False", Reason: olmv1.ReasonNotDeprecated, When: "the catalog does not say so", Message: of.not},
			front.Row{Condition: of.condition, Status: "Unknown", Reason: olmv1.ReasonDeprecationStatusUnknown, When: "no catalog could be read", Message: "no catalog could be read"},
		)
	}
	return append(rows, front.Row{Condition: olmv1.TypeBundleDeprecated, Status: "Unknown", Reason: olmv1.ReasonAbsent, When: "nothing is installed", Message: "no bundle installed yet"})
}
