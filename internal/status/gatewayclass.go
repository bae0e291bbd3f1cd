// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/history"
)

// FrontPackage is where one of a front's packages stands.
type FrontPackage struct {
	// Name is the package's.
	Name string
	// Version is what the front has rendered.
	Version string
	// Package and Target are as they are on the cluster, nil when there is none.
	Package *v1alpha1.Package
	Target  *v1alpha1.Revision
	// Need says what becomes of the rendered content.
	Need history.Need
	// Waiting is the package that has to be rolled out first, empty when none has.
	Waiting string
	// Held is why the package gets no new content for now, empty when nothing keeps it
	// back.
	Held string
}

// The condition that the gatewayclass front writes, and its reasons.
const (
	ConditionControllerInstalled = "ControllerInstalled"
	ReasonInstalled              = "Installed"
	ReasonInstallFailed          = "InstallFailed"
	ReasonPending                = "Pending"
)

// SetControllerInstalled sets the condition ControllerInstalled: True only while
// the control plane is available, False with the cause when it cannot be
// installed, Unknown while it is being installed or cannot be observed. The plane
// is the name of the control plane's package. Other conditions stay.
func SetControllerInstalled(conditions *[]metav1.Condition, generation int64, plane string, packages []FrontPackage, cause error, now metav1.Time) {
	c := controllerInstalled(plane, packages, cause)
	c.Type = ConditionControllerInstalled
	setAll(generation, now, conditions, c)
}

func controllerInstalled(name string, packages []FrontPackage, cause error) metav1.Condition {
	plane := FrontPackage{}
	if i := slices.IndexFunc(packages, func(p FrontPackage) bool { return p.Name == name }); i >= 0 {
		plane = packages[i]
	}
	var available, progressing *metav1.Condition
	if plane.Package != nil && plane.Target != nil {
		available = meta.FindStatusCondition(plane.Package.Status.Conditions, v1alpha1.ConditionAvailable)
		progressing = meta.FindStatusCondition(plane.Package.Status.Conditions, v1alpha1.ConditionProgressing)
	}
	known := available != nil && progressing != nil
	switch {
	case known && available.Status == metav1.ConditionTrue:
		return condition("", metav1.ConditionTrue, ReasonInstalled, installedMessage(plane, progressing, cause))
	case cause != nil:
		return condition("", metav1.ConditionFalse, ReasonInstallFailed, cause.Error())
	case len(packages) == 0:
		return condition("", metav1.ConditionUnknown, ReasonPending, "waiting for first reconciliation")
	case !known:
		return condition("", metav1.ConditionUnknown, ReasonPending, pendingMessage(plane, packages))
	case available.Status == metav1.ConditionUnknown:
		return condition("", metav1.ConditionUnknown, ReasonPending, "whether istiod serves could not be observed: "+available.Message)
	case plane.Package.Status.CurrentRevision != 0:
		return condition("", metav1.ConditionFalse, ReasonInstallFailed, "istiod does not serve: "+available.Message)
	case progressing.Status == metav1.ConditionTrue || progressing.Reason == v1alpha1.ReasonPaused || progressing.Reason == v1alpha1.ReasonAwaitingApproval:
		return condition("", metav1.ConditionUnknown, ReasonPending, istiod(plane.Version)+" is being installed: "+progressing.Message)
	default:
		return condition("", metav1.ConditionFalse, ReasonInstallFailed, progressing.Message)
	}
}

// pendingMessage says which package is waited for, and why it is not done.
func pendingMessage(plane FrontPackage, packages []FrontPackage) string {
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

// installedMessage names what runs, and anything else that is wanted and does not.
func installedMessage(plane FrontPackage, progressing *metav1.Condition, cause error) string {
	message := istiod(cmp.Or(plane.Package.Status.Version, plane.Version)) + " installed"
	switch {
	case cause != nil:
		return message + " (with warning: " + cause.Error() + ")"
	case plane.Need == history.NeedRejected || plane.Need == history.NeedPinned:
		return message + " (with warning: a rollback keeps out the newest content)"
	case plane.Need == history.NeedRevision && plane.Waiting != "":
		return message + fmt.Sprintf(" (with warning: %s waits for package %s)", plane.Version, plane.Waiting)
	case progressing.Reason != v1alpha1.ReasonRolledOut:
		return message + " (with warning: " + progressing.Message + ")"
	default:
		return message
	}
}
