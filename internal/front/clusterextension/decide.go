// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"errors"
	"maps"
	"slices"
	"time"

	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/front/clusterextension/resolve"
)

// blockedSpec is what keeps a ClusterExtension from being resolved at all, nil for nothing.
func blockedSpec(ce *olmv1.ClusterExtension) *trouble {
	if ce.Spec.Source.Catalog == nil || ce.Spec.Namespace == "" {
		return &trouble{olmv1.ReasonBlocked, "spec names no package to install: set spec.namespace and spec.source.catalog.packageName"}
	}
	return nil
}

// unresolved is why an answer has no bundle to install, nil when it has one, or what is installed is
// kept on purpose.
func unresolved(answer resolve.Answer) *trouble {
	switch answer.Outcome {
	case resolve.Retrying:
		return &trouble{olmv1.ReasonRetrying, answer.Message}
	case resolve.Blocked:
		return &trouble{olmv1.ReasonBlocked, answer.Message}
	default:
		return nil
	}
}

// installedBundle is that of the newest revision that has succeeded, nil for none. What is imported is
// installed in any case.
func installedBundle(group front.Group[*olmv1.ClusterExtension], facts observed) *resolve.Identity {
	if facts.imported != nil {
		return &facts.imported.Bundle
	}
	of := state{revisions: facts.revisions}
	i := slices.IndexFunc(group.Existing, func(p v1alpha1.Package) bool { return p.Name == packageName(group.Name) })
	if i >= 0 {
		of.pkg = front.Package{Package: &group.Existing[i]}
	}
	installed := of.installed()
	if installed == nil {
		return nil
	}
	return bundleOf(installed.Annotations)
}

// render gives the package of a ClusterExtension. Where there is nothing new to install, what runs
// stays as it is.
func render(in groupInput) ([]content.Package, error) {
	ce := in.Resources[0]
	pkg := content.Package{Name: packageName(ce.Name), Settings: settingsOf(ce)}
	facts := in.Facts
	switch {
	case facts.trouble != nil:
		pkg.Blocked = facts.trouble.message
	case facts.imported != nil:
		pkg = revisionOf(ce, pkg, facts.imported)
	case facts.answer.Choice == nil:
		pkg.Blocked = "what is installed is kept"
	default:
		choice, name := *facts.answer.Choice, ce.Spec.Source.Catalog.PackageName
		pkg.Phases, pkg.Probes = facts.bundle.phases, facts.bundle.probes
		pkg.Labels = revisionLabels(ce.Name)
		pkg.Annotations = revisionAnnotations(name, choice.Identity, facts.bundle.image, facts.bundle.properties)
		maps.Copy(pkg.Annotations, facts.bundle.recorded)
		pkg.Origin = v1alpha1.Origin{
			Kind: v1alpha1.OriginFront, Reference: "ClusterExtension/" + ce.Name, Generation: ce.Generation,
			AppVersion: choice.Version, Identity: identity(name, choice.Identity), Images: facts.bundle.images,
		}
		pkg.MayShrink = true
	}
	return []content.Package{pkg}, nil
}

// settingsOf are the fields of the package that a ClusterExtension decides about.
func settingsOf(ce *olmv1.ClusterExtension) *content.Settings {
	settings := &content.Settings{
		ProgressDeadline: time.Duration(ce.Spec.ProgressDeadlineMinutes) * time.Minute,
		PauseReason:      ce.Annotations[olmv1.AnnotationPaused],
	}
	if ce.Spec.ServiceAccount != nil {
		settings.ServiceAccount = &v1alpha1.ServiceAccountReference{Namespace: ce.Spec.Namespace, Name: ce.Spec.ServiceAccount.Name}
	}
	if install := ce.Spec.Install; install != nil && install.Preflight != nil && install.Preflight.CRDUpgradeSafety != nil {
		settings.AllowUnsafeCRDs = install.Preflight.CRDUpgradeSafety.Enforcement == olmv1.EnforcementNone
	}
	if value := v1alpha1.ApprovalPolicy(ce.Annotations[olmv1.AnnotationApproval]); value == v1alpha1.ApprovalManual || value == v1alpha1.ApprovalAutomatic {
		settings.Approval = value
	}
	if value := v1alpha1.FailurePolicy(ce.Annotations[olmv1.AnnotationOnFailure]); value == v1alpha1.FailureHold || value == v1alpha1.FailureRollback {
		settings.OnFailure = value
	}
	return settings
}

// stateOf is what the status of a ClusterExtension depends on, after a pass.
func stateOf(all groupState) state {
	s := state{
		revisions: all.Facts.revisions, unread: all.Facts.unread, trouble: all.Facts.trouble,
		warnings: slices.Concat(all.Facts.answer.Warnings, all.Facts.bundle.warnings), deprecation: all.Facts.answer.Deprecation,
		since: all.Facts.since, collision: all.Facts.collision, err: all.Err, now: all.Now,
	}
	if all.Facts.imported != nil {
		s.warnings = append(s.warnings, all.Facts.imported.Notes...)
	}
	if len(all.Packages) > 0 {
		s.pkg = all.Packages[0]
	}
	if len(all.Unwanted) > 0 {
		s.deleting = &all.Unwanted[0]
		s.pkg = front.Package{Package: s.deleting}
	}
	if taken, ok := errors.AsType[*front.TakenError](all.Err); ok {
		s.trouble, s.pkg = &trouble{olmv1.ReasonBlocked, taken.Error()}, front.Package{} // it says nothing of ours
	}
	return s
}
