// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayclass

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/history"
	"github.com/strata-run/strata/internal/status"
)

// The condition of GatewayClasses about istiod, and its reasons.
const (
	ConditionControllerInstalled = "ControllerInstalled"
	ReasonInstalled              = "Installed"
	ReasonInstallFailed          = "InstallFailed"
	ReasonPending                = "Pending"
)

// SetControllerInstalled sets the condition ControllerInstalled: True only while
// the control plane is available and has its rights, False with the cause when it cannot be
// installed, Unknown while it is being installed or cannot be observed. The plane
// is the name of the control plane's package. While it is available, the message has
// the warnings and what blocks a package. Other conditions stay; where they leave
// no room, nothing is added.
func SetControllerInstalled(conditions *[]metav1.Condition, generation int64, plane string, packages []front.Package, cause error, now metav1.Time, warnings ...string) {
	c := controllerInstalled(plane, packages, cause, warnings)
	c.Type = ConditionControllerInstalled
	setOnClass(conditions, generation, now, c)
}

// MaxClassConditions is how many conditions a GatewayClass takes.
const MaxClassConditions = 8

// MissingOnClass are those of our conditions that a class has no room for, in words; empty for
// none.
func MissingOnClass(conditions []metav1.Condition) string {
	var missing []string
	for _, kind := range []string{ConditionControllerInstalled, ConditionCRDsReady} {
		if len(conditions) >= MaxClassConditions && meta.FindStatusCondition(conditions, kind) == nil {
			missing = append(missing, kind)
		}
	}
	return strings.Join(missing, " and ")
}

// setOnClass sets one condition, unless other controllers' conditions fill the list: the
// API server would refuse the whole status.
func setOnClass(conditions *[]metav1.Condition, generation int64, now metav1.Time, c metav1.Condition) {
	if len(*conditions) >= MaxClassConditions && meta.FindStatusCondition(*conditions, c.Type) == nil {
		return
	}
	status.Set(generation, now, conditions, c)
}

func controllerInstalled(name string, packages []front.Package, cause error, warnings []string) metav1.Condition {
	plane := front.Package{}
	if i := slices.IndexFunc(packages, func(p front.Package) bool { return p.Name == name }); i >= 0 {
		plane = packages[i]
	}
	var available, progressing *metav1.Condition
	if plane.Package != nil && plane.Target != nil {
		available = meta.FindStatusCondition(plane.Package.Status.Conditions, v1alpha1.ConditionAvailable)
		progressing = meta.FindStatusCondition(plane.Package.Status.Conditions, v1alpha1.ConditionProgressing)
	}
	known := available != nil && progressing != nil
	switch {
	case known && status.RightsDiffer(plane.Package) != "":
		return status.Condition("", metav1.ConditionFalse, ReasonInstallFailed, "istiod does not have its rights: "+status.RightsDiffer(plane.Package))
	case known && available.Status == metav1.ConditionTrue:
		return status.Condition("", metav1.ConditionTrue, ReasonInstalled, installedMessage(plane, progressing, cause, append(heldBack(name, packages), warnings...)))
	case cause != nil && isMadeAgain(packages):
		return status.Condition("", metav1.ConditionUnknown, ReasonPending, cause.Error())
	case cause != nil:
		return status.Condition("", metav1.ConditionFalse, ReasonInstallFailed, cause.Error())
	case len(packages) == 0:
		return status.Condition("", metav1.ConditionUnknown, ReasonPending, "waiting for first reconciliation")
	case plane.Blocked != "":
		return status.Condition("", metav1.ConditionUnknown, ReasonPending, plane.Blocked)
	case !known:
		return status.Condition("", metav1.ConditionUnknown, ReasonPending, pendingMessage(plane, packages))
	case progressing.Reason == v1alpha1.ReasonNoRevision:
		return status.Condition("", metav1.ConditionUnknown, ReasonPending, istiod(plane.Version)+" is being installed") // its revision was just made
	case available.Status == metav1.ConditionUnknown:
		return status.Condition("", metav1.ConditionUnknown, ReasonPending, "whether istiod serves could not be observed: "+available.Message)
	case plane.Package.Status.CurrentRevision != 0:
		return status.Condition("", metav1.ConditionFalse, ReasonInstallFailed, "istiod does not serve: "+available.Message)
	case progressing.Status == metav1.ConditionTrue || progressing.Reason == v1alpha1.ReasonPaused || progressing.Reason == v1alpha1.ReasonAwaitingApproval:
		return status.Condition("", metav1.ConditionUnknown, ReasonPending, istiod(plane.Version)+" is being installed: "+progressing.Message)
	default:
		return status.Condition("", metav1.ConditionFalse, ReasonInstallFailed, progressing.Message)
	}
}

// isMadeAgain says whether a package of before is still being taken away, in whose place
// another one comes: what keeps that from coming is no failure.
func isMadeAgain(packages []front.Package) bool {
	return slices.ContainsFunc(packages, func(p front.Package) bool { return p.Package != nil && !p.Package.DeletionTimestamp.IsZero() })
}

// pendingMessage says which package is waited for, and why it is not done.
func pendingMessage(plane front.Package, packages []front.Package) string {
	for _, p := range packages {
		if p.Name != plane.Waiting || p.Package == nil {
			continue
		}
		message := "istiod waits for package " + p.Name
		if c := meta.FindStatusCondition(p.Package.Status.Conditions, v1alpha1.ConditionProgressing); c != nil {
			message += ": " + c.Message
		}
		return message
	}
	return istiod(plane.Version) + " is being installed"
}

// istiod names the control plane, with its version if that is known.
func istiod(version string) string { return strings.TrimSuffix("istiod "+version, " ") }

// heldBack are the reasons why other packages than the one named get nothing new.
func heldBack(name string, packages []front.Package) []string {
	var reasons []string
	for _, p := range packages {
		if p.Name != name && p.Blocked != "" {
			reasons = append(reasons, p.Blocked)
		}
	}
	return reasons
}

// installedMessage names what runs, and anything else that is wanted and does not.
func installedMessage(plane front.Package, progressing *metav1.Condition, cause error, warnings []string) string {
	message := istiod(cmp.Or(plane.Package.Status.Version, plane.Version)) + " installed"
	if warning := planeWarning(plane, progressing, cause); warning != "" {
		warnings = append([]string{warning}, warnings...)
	}
	if len(warnings) == 0 {
		return message
	}
	return message + " (with warning: " + strings.Join(warnings, "; ") + ")"
}

func planeWarning(plane front.Package, progressing *metav1.Condition, cause error) string {
	switch {
	case cause != nil:
		return cause.Error()
	case plane.Blocked != "":
		return plane.Blocked
	case front.Excluded(plane) != "":
		return front.Excluded(plane)
	case plane.Need == history.NeedRevision && plane.Waiting != "":
		return fmt.Sprintf("%s waits for package %s", plane.Version, plane.Waiting)
	case progressing.Reason != v1alpha1.ReasonRolledOut:
		return progressing.Message
	default:
		return status.InterferenceOn(plane.Package)
	}
}
