// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
	"github.com/strata-run/strata/internal/telemetry"
)

// Events of the front.
const (
	// ReasonResolved (Normal, on a ClusterExtension): another bundle was chosen for it than before.
	ReasonResolved = "Resolved"

	// ReasonImported (Normal, on a ClusterExtension): what OLM's own controller has installed became
	// revision 1.
	ReasonImported = "Imported"

	// ReasonCustomResourcesKept (Normal, on a ClusterExtension): it was deleted, and definitions of
	// its bundle stay, as custom resources of them exist.
	ReasonCustomResourcesKept = "CustomResourcesKept"

	// ReasonCatalogUpdated (Normal, on a ClusterCatalog): another content of the catalog was read.
	ReasonCatalogUpdated = "CatalogUpdated"

	// ReasonInstalled (Normal, on a ClusterExtension): a first bundle is installed.
	ReasonInstalled = "Installed"

	// ReasonUpgraded (Normal, on a ClusterExtension): another bundle is installed than before.
	ReasonUpgraded = "Upgraded"

	// ReasonRolledBack (Normal, on a ClusterExtension): a rollback excludes what it asks
	// for.
	ReasonRolledBack = "RolledBack"

	// ReasonResolutionFailed (Warning, on a ClusterExtension): no catalog has a bundle that it
	// may get.
	ReasonResolutionFailed = "ResolutionFailed"

	// ReasonPullFailed (Warning, on a ClusterExtension): the image of its bundle cannot be pulled.
	ReasonPullFailed = "PullFailed"

	// ReasonBundleRefused (Warning, on a ClusterExtension): its bundle cannot be installed.
	ReasonBundleRefused = "BundleRefused"

	// ReasonDeprecated (Warning, on a ClusterExtension): the package, a channel or the installed
	// bundle is deprecated.
	ReasonDeprecated = "Deprecated"

	// ReasonLeftToOLM (Warning, on a Lease): OLM's own controller leads, so that
	// ClusterExtensions are left to it.
	ReasonLeftToOLM = "LeftToOLM"

	// ReasonTakenOver (Normal, on a Lease): OLM's own controller does not lead any more,
	// and ClusterExtensions are reconciled.
	ReasonTakenOver = "TakenOver"
)

// transition is a kind of change of a ClusterExtension, and the event that reports it.
type transition struct {
	reason, action string
	isWarning      bool
	// note is what the event says, empty where there is no such change.
	note func(before, after *olmv1.ClusterExtension) string
}

// transitions are all kinds of changes, in the order of their events.
var transitions = []transition{
	{reason: ReasonInstalled, action: "Install", note: func(before, after *olmv1.ClusterExtension) string {
		if before.Status.Install == nil && after.Status.Install != nil {
			return "Installed bundle " + bundleIn(after)
		}
		return ""
	}},
	{reason: ReasonUpgraded, action: "Upgrade", note: func(before, after *olmv1.ClusterExtension) string {
		if before.Status.Install != nil && after.Status.Install != nil && bundleIn(before) != bundleIn(after) {
			return "Upgraded from bundle " + bundleIn(before) + " to " + bundleIn(after)
		}
		return ""
	}},
	{reason: ReasonRolledBack, action: "RollBack", note: begins(olmv1.TypeProgressing, rolledBack)},
	{reason: ReasonResolutionFailed, action: "Resolve", isWarning: true, note: begins(olmv1.TypeProgressing, unresolvable)},
	{reason: ReasonPullFailed, action: "Pull", isWarning: true, note: begins(olmv1.TypeProgressing, unpulled)},
	{reason: ReasonBundleRefused, action: "Render", isWarning: true, note: begins(olmv1.TypeProgressing, refusedBundle)},
	{reason: ReasonDeprecated, action: "Resolve", isWarning: true, note: begins(olmv1.TypeDeprecated, deprecatedNow)},
}

// What messages of conditions begin with, or have in them, tells the changes apart: they are ours.
var (
	rolledBack    = regexp.MustCompile(`^False/Succeeded: Desired state reached; a rollback excludes `)
	unresolvable  = regexp.MustCompile(`^(True/Retrying|False/Blocked): (no bundles found|found bundles for|desired |error walking|error upgrading|bundle "[^"]*" has a dependency)`)
	unpulled      = regexp.MustCompile(`^(True/Retrying|False/Blocked): error for resolved bundle "[^"]*" with version "[^"]*": ` + notPulled)
	refusedBundle = regexp.MustCompile(`^False/(Blocked|InvalidConfiguration): error for resolved bundle "[^"]*" with version "[^"]*": (the bundle is refused|invalid ClusterExtension configuration): `)
	deprecatedNow = regexp.MustCompile(`^True/Deprecated: `)
)

// begins is the message of a condition that matches, where it did not match before for this spec.
func begins(kind string, matches *regexp.Regexp) func(before, after *olmv1.ClusterExtension) string {
	return func(before, after *olmv1.ClusterExtension) string {
		was, is := meta.FindStatusCondition(before.Status.Conditions, kind), meta.FindStatusCondition(after.Status.Conditions, kind)
		if is == nil || !matches.MatchString(fmt.Sprintf("%s/%s: %s", is.Status, is.Reason, is.Message)) || strings.Contains(is.Message, beingRead) {
			return ""
		}
		if was != nil && (was.ObservedGeneration == is.ObservedGeneration || kind == olmv1.TypeDeprecated) &&
			!strings.Contains(was.Message, beingRead) && matches.MatchString(fmt.Sprintf("%s/%s: %s", was.Status, was.Reason, was.Message)) {
			return ""
		}
		return is.Message
	}
}

// catalogEvents are the events of a change of a ClusterCatalog's status.
func catalogEvents(before, after *olmv1.ClusterCatalog) []telemetry.Event {
	if after.Status.LastUnpacked == nil || after.Status.LastUnpacked.Equal(before.Status.LastUnpacked) {
		return nil
	}
	note := "Read another content of the catalog"
	if from := after.Status.ResolvedSource; from != nil && from.Image != nil {
		note += ": " + from.Image.Ref
	}
	return []telemetry.Event{telemetry.Bounded(telemetry.Event{Type: corev1.EventTypeNormal, Reason: ReasonCatalogUpdated, Action: "Read", Note: note})}
}

func bundleIn(ce *olmv1.ClusterExtension) string {
	return ce.Status.Install.Bundle.Name + " " + ce.Status.Install.Bundle.Version
}

// changeEvents are the events of a change of a ClusterExtension's status. Regarding is left to the
// caller.
func changeEvents(before, after *olmv1.ClusterExtension) []telemetry.Event {
	if !after.DeletionTimestamp.IsZero() {
		return nil
	}
	var all []telemetry.Event
	for _, of := range transitions {
		note, kind := of.note(before, after), corev1.EventTypeNormal
		if of.isWarning {
			kind = corev1.EventTypeWarning
		}
		if note != "" {
			all = append(all, telemetry.Bounded(telemetry.Event{Type: kind, Reason: of.reason, Action: of.action, Note: note}))
		}
	}
	return all
}
