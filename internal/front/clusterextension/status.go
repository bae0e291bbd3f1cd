// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/front/clusterextension/resolve"
	"github.com/strata-run/strata/internal/status"
)

// trouble is what keeps a ClusterExtension from getting a revision.
type trouble struct {
	// reason is one of those of Progressing: InvalidConfiguration, Blocked, Retrying, or RollingOut for
	// work that is under way.
	reason string
	// message is the cause, and the remedy.
	message string
}

const (
	// beingRead says that a catalog is not there yet, which is no failure.
	beingRead = resolve.BeingRead
	// notPulled begins why an image could not be pulled.
	notPulled = "its image cannot be pulled: "
)

// state is all that the status of a ClusterExtension depends on.
type state struct {
	// pkg is its package, with nothing in it while there is none, and deleting that of one which is
	// being deleted.
	pkg      front.Package
	deleting *v1alpha1.Package
	// revisions are those of the package, and unread why they could not be listed.
	revisions []v1alpha1.Revision
	unread    error
	// trouble is nil when there is a revision for what was asked for, or one is about to be made.
	trouble *trouble
	// since is when the trouble began, as far as it is one that may end by itself.
	since time.Time
	// warnings are what did not keep from that.
	warnings    []string
	deprecation resolve.Deprecation
	// collision is what the target collides with, as far as it is of a ClusterExtension.
	collision collision
	// err is what kept the pass from being made.
	err error
	now metav1.Time
}

// setStatus sets the whole status of a ClusterExtension.
func setStatus(ce *olmv1.ClusterExtension, s state) {
	installed := s.installed()
	progressing := s.progressing(ce)
	status.Set(ce.Generation, s.now, &ce.Status.Conditions, slices.Concat(
		[]metav1.Condition{s.installedCondition(installed, progressing), progressing, s.available()},
		deprecated(ce, s.deprecation, installed != nil),
	)...)
	if s.unread != nil || s.err != nil && s.pkg.Package == nil {
		return // what is installed is not known, and stays as it was
	}
	ce.Status.Install, ce.Status.ActiveRevisions = nil, nil
	if installed != nil {
		ce.Status.Install = installStatus(installed)
	}
	ce.Status.ActiveRevisions = activeRevisions(s.revisions, installed)
}

// installed is the newest revision that has succeeded, nil for none. One that was imported runs
// already, whether it has succeeded or not.
func (s state) installed() *v1alpha1.Revision {
	if s.pkg.Package == nil || s.pkg.Package.Status.CurrentRevision == 0 {
		if s.pkg.Target != nil {
			return importedOf([]v1alpha1.Revision{*s.pkg.Target})
		}
		return importedOf(s.revisions)
	}
	i := slices.IndexFunc(s.revisions, func(r v1alpha1.Revision) bool {
		return r.Spec.Revision == s.pkg.Package.Status.CurrentRevision
	})
	if i < 0 {
		return nil
	}
	return &s.revisions[i]
}

func (s state) installedCondition(installed *v1alpha1.Revision, progressing metav1.Condition) metav1.Condition {
	is := func(value metav1.ConditionStatus, reason, message string) metav1.Condition {
		return status.Condition(olmv1.TypeInstalled, value, reason, message)
	}
	switch {
	case s.unread != nil:
		return is(metav1.ConditionUnknown, olmv1.ReasonFailed, "what is installed could not be read: "+s.unread.Error())
	case installed != nil:
		image := cmp.Or(installed.Annotations[olmv1.AnnotationBundleReference], installed.Annotations[olmv1.AnnotationBundleName], installed.Name)
		return is(metav1.ConditionTrue, olmv1.ReasonSucceeded, "Installed bundle "+image+" successfully")
	case progressing.Reason != olmv1.ReasonRollingOut && progressing.Reason != olmv1.ReasonSucceeded:
		return is(metav1.ConditionFalse, olmv1.ReasonFailed, "No bundle installed: "+progressing.Message)
	default:
		return is(metav1.ConditionFalse, olmv1.ReasonAbsent, "No bundle installed")
	}
}

// progressing is the first that fits.
func (s state) progressing(ce *olmv1.ClusterExtension) metav1.Condition {
	is := func(value metav1.ConditionStatus, reason, message string) metav1.Condition {
		return status.Condition(olmv1.TypeProgressing, value, reason, message)
	}
	reason, message := s.rollout()
	if reason == olmv1.ReasonProgressDeadlineExceeded {
		reason, message = s.late(ce, message)
	}
	switch {
	case !ce.DeletionTimestamp.IsZero():
		return is(metav1.ConditionTrue, olmv1.ReasonRollingOut, s.teardownMessage())
	case s.trouble != nil && (s.trouble.reason == olmv1.ReasonInvalidConfiguration || s.trouble.reason == olmv1.ReasonBlocked):
		return is(metav1.ConditionFalse, s.trouble.reason, s.trouble.message)
	case s.trouble != nil && exceeded(ce, s.since, s.now.Time):
		reason, message = s.late(ce, s.trouble.message)
		return is(metav1.ConditionFalse, reason, message)
	case s.trouble == nil && reason == olmv1.ReasonBlocked, reason == olmv1.ReasonProgressDeadlineExceeded,
		reason == olmv1.ReasonPaused, reason == olmv1.ReasonAwaitingApproval:
		return is(metav1.ConditionFalse, reason, message)
	case s.err != nil:
		return is(metav1.ConditionTrue, olmv1.ReasonRetrying, s.err.Error())
	case s.trouble != nil:
		return is(metav1.ConditionTrue, s.trouble.reason, s.trouble.message)
	case reason != olmv1.ReasonSucceeded:
		return is(metav1.ConditionTrue, reason, message)
	}
	notes := s.warnings
	if kept := front.Excluded(s.pkg); kept != "" {
		notes = append([]string{kept}, notes...)
	}
	return is(metav1.ConditionFalse, olmv1.ReasonSucceeded, strings.Join(append([]string{"Desired state reached"}, notes...), "; "))
}

// rollouts are the reasons of a package's Progressing, and those of a ClusterExtension.
var rollouts = map[string]string{
	v1alpha1.ReasonRolledOut:                olmv1.ReasonSucceeded,
	v1alpha1.ReasonObjectCollisions:         olmv1.ReasonRetrying,
	v1alpha1.ReasonRolloutError:             olmv1.ReasonRetrying,
	v1alpha1.ReasonObjectRefused:            olmv1.ReasonRetrying,
	v1alpha1.ReasonPermissionDenied:         olmv1.ReasonRetrying,
	v1alpha1.ReasonContentUnavailable:       olmv1.ReasonRetrying,
	v1alpha1.ReasonPreflightFailed:          olmv1.ReasonBlocked,
	v1alpha1.ReasonInvalidSpec:              olmv1.ReasonBlocked,
	v1alpha1.ReasonProgressDeadlineExceeded: olmv1.ReasonProgressDeadlineExceeded,
	v1alpha1.ReasonPaused:                   olmv1.ReasonPaused,
	v1alpha1.ReasonAwaitingApproval:         olmv1.ReasonAwaitingApproval,
}

// allowsUnsafe is the remedy that the preflight checks name for a definition, and allowsUnsafeHere the
// field of a ClusterExtension that sets the annotation.
const (
	allowsUnsafe     = "annotate the Package " + v1alpha1.AnnotationCRDUpgradeSafety + ": " + v1alpha1.CRDUpgradeSafetyNone
	allowsUnsafeHere = "set spec.install.preflight.crdUpgradeSafety.enforcement to None"
)

// rollout is the state of the target revision, as a reason of Progressing.
func (s state) rollout() (reason, message string) {
	pkg, target := s.pkg.Package, s.pkg.Target
	if pkg == nil || target == nil {
		return olmv1.ReasonRollingOut, "The bundle is about to be installed"
	}
	doing := meta.FindStatusCondition(pkg.Status.Conditions, v1alpha1.ConditionProgressing)
	if doing == nil || pkg.Status.TargetRevision != target.Spec.Revision {
		return olmv1.ReasonRollingOut, "Revision " + status.Describe(target) + " is about to be rolled out"
	}
	reason, message = cmp.Or(rollouts[doing.Reason], olmv1.ReasonRollingOut), strings.ReplaceAll(doing.Message, allowsUnsafe, allowsUnsafeHere)
	if version := target.Annotations[olmv1.AnnotationBundleVersion]; reason == olmv1.ReasonRollingOut && version != "" {
		message = "Revision " + version + " is rolling out. " + message
	}
	if doing.Reason == v1alpha1.ReasonObjectCollisions {
		message = "revision object collisions: " + s.collision.in(message)
	}
	if bundle := bundleOf(target.Annotations); bundle != nil && reason == olmv1.ReasonRetrying {
		message = fmt.Sprintf("error for resolved bundle %q with version %q: %s", bundle.Name, bundle.Version, message)
	}
	return reason, message
}

// late is the state of what has taken longer than its deadline. Without one in the spec that of the
// package was missed, and the rollout goes on.
func (s state) late(ce *olmv1.ClusterExtension, message string) (reason, text string) {
	if minutes := ce.Spec.ProgressDeadlineMinutes; minutes > 0 {
		return olmv1.ReasonProgressDeadlineExceeded, fmt.Sprintf("The ClusterExtension has not rolled out for %d minute(s). Last status: %s", minutes, message)
	}
	if target := s.pkg.Target; target != nil && target.Status.LastProgressTime != nil {
		message = fmt.Sprintf("no progress since %s: %s", target.Status.LastProgressTime.UTC().Format(time.RFC3339), message)
	}
	return olmv1.ReasonRollingOut, message
}

// teardownMessage says what a deletion waits for.
func (s state) teardownMessage() string {
	message := "The ClusterExtension is being deleted"
	if s.err != nil {
		return message + ": " + s.err.Error()
	}
	if s.deleting != nil {
		if doing := meta.FindStatusCondition(s.deleting.Status.Conditions, v1alpha1.ConditionProgressing); doing != nil {
			return message + ": " + doing.Message
		}
	}
	return message
}

// available is that of the package: of what is installed, and of the target while nothing is.
func (s state) available() metav1.Condition {
	is := func(value metav1.ConditionStatus, reason, message string) metav1.Condition {
		return status.Condition(olmv1.TypeAvailable, value, reason, message)
	}
	var serves *metav1.Condition
	if s.pkg.Package != nil {
		serves = meta.FindStatusCondition(s.pkg.Package.Status.Conditions, v1alpha1.ConditionAvailable)
	}
	switch {
	case serves == nil:
		return is(metav1.ConditionUnknown, olmv1.ReasonReconciling, "The objects have not been checked yet")
	case serves.Status == metav1.ConditionTrue:
		return is(metav1.ConditionTrue, olmv1.ReasonProbesSucceeded, serves.Message)
	case serves.Status == metav1.ConditionUnknown:
		return is(metav1.ConditionUnknown, olmv1.ReasonReconciling, serves.Message)
	case serves.Reason == v1alpha1.ReasonProbeFailed:
		return is(metav1.ConditionFalse, olmv1.ReasonProbeFailure, serves.Message)
	default:
		return is(metav1.ConditionFalse, olmv1.ReasonRollingOut, serves.Message)
	}
}

// deprecated are the four conditions about deprecation.
func deprecated(ce *olmv1.ClusterExtension, says resolve.Deprecation, isInstalled bool) []metav1.Condition {
	var pkg, channels, bundle, all []string
	if says.Package != nil {
		pkg = []string{says.Package.Message}
	}
	for _, channel := range says.Channels {
		channels = append(channels, channel.Message)
	}
	if says.Bundle != nil {
		bundle = []string{says.Bundle.Message}
	}
	all = slices.Concat(pkg, channels, bundle)
	of := func(kind string, messages []string, not string) metav1.Condition {
		switch {
		case !says.Known:
			return status.Condition(kind, metav1.ConditionUnknown, olmv1.ReasonDeprecationStatusUnknown, "no catalog could be read")
		case len(messages) > 0:
			return status.Condition(kind, metav1.ConditionTrue, olmv1.ReasonDeprecated, strings.Join(messages, "\n"))
		default:
			return status.Condition(kind, metav1.ConditionFalse, olmv1.ReasonNotDeprecated, not)
		}
	}
	name := ""
	if ce.Spec.Source.Catalog != nil {
		name = ce.Spec.Source.Catalog.PackageName
	}
	ofBundle := of(olmv1.TypeBundleDeprecated, bundle, "the installed bundle is not deprecated")
	if !isInstalled {
		ofBundle = status.Condition(olmv1.TypeBundleDeprecated, metav1.ConditionUnknown, olmv1.ReasonAbsent, "no bundle installed yet")
	}
	return []metav1.Condition{
		of(olmv1.TypeDeprecated, all, "not deprecated"),
		of(olmv1.TypePackageDeprecated, pkg, "package "+name+" is not deprecated"),
		of(olmv1.TypeChannelDeprecated, channels, "no channel is deprecated"),
		ofBundle,
	}
}

// What the API takes for an installed bundle.
var (
	bundleName    = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	bundleVersion = regexp.MustCompile(`^(0|[1-9]\d*)([.](0|[1-9]\d*)){0,2}(-[0-9A-Za-z-]+([.][0-9A-Za-z-]+)*)?([+][0-9A-Za-z-]+([.][0-9A-Za-z-]+)*)?$`)
	bundleRelease = regexp.MustCompile(`^([0-9A-Za-z-]+([.][0-9A-Za-z-]+)*)?$`)
)

// installStatus says which bundle a revision holds, nil when the API would refuse that.
func installStatus(revision *v1alpha1.Revision) *olmv1.InstallStatus {
	bundle := bundleOf(revision.Annotations)
	if bundle == nil || len(bundle.Name) > 253 || len(bundle.Version) > 253 || !bundleName.MatchString(bundle.Name) || !bundleVersion.MatchString(bundle.Version) {
		return nil
	}
	installed := &olmv1.InstallStatus{Bundle: olmv1.BundleMetadata{Name: bundle.Name, Version: bundle.Version}}
	if bundle.Release != nil && len(*bundle.Release) <= 20 && bundleRelease.MatchString(*bundle.Release) {
		installed.Bundle.Release = bundle.Release
	}
	return installed
}

// activeRevisions are the revisions that are not archived, the lowest first. The installed one has no
// conditions: those of the ClusterExtension are its.
func activeRevisions(revisions []v1alpha1.Revision, installed *v1alpha1.Revision) []olmv1.RevisionStatus {
	active := slices.DeleteFunc(slices.Clone(revisions), func(r v1alpha1.Revision) bool {
		return r.Spec.LifecycleState == v1alpha1.LifecycleArchived
	})
	slices.SortFunc(active, func(a, b v1alpha1.Revision) int { return cmp.Compare(a.Spec.Revision, b.Spec.Revision) })
	var all []olmv1.RevisionStatus
	for i := range active {
		one := olmv1.RevisionStatus{Name: active[i].Name}
		if installed == nil || installed.Name != one.Name {
			for _, kind := range []string{v1alpha1.ConditionProgressing, v1alpha1.ConditionAvailable} {
				if c := meta.FindStatusCondition(active[i].Status.Conditions, kind); c != nil {
					one.Conditions = append(one.Conditions, *c)
				}
			}
		}
		all = append(all, one)
	}
	return all
}
