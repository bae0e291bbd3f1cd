// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayclass

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/status"
)

// The condition of GatewayClasses about the Istio CRDs, and its reasons.
const (
	ConditionCRDsReady      = "CRDsReady"
	ReasonManagedByCIO      = "ManagedByCIO"
	ReasonManagedByOLM      = "ManagedByOLM"
	ReasonNoneExist         = "NoneExist"
	ReasonNotReady          = "NotReady"
	ReasonUnknownManagement = "UnknownManagement"
	ReasonMixedOwnership    = "MixedOwnership"
)

// CRDOwnership is who manages the Istio CRDs.
type CRDOwnership struct {
	// Reason is one of CRDsReady, and Message says the same in a sentence. Empty when
	// it is not known.
	Reason, Message string
	// Missing are the names of the CRDs that do not exist.
	Missing []string
}

// SetCRDsReady sets the condition CRDsReady: True while a known manager has the CRDs, and
// if that is the manager of this front, they are served; False while they are not all
// served, or when no manager is known; Unknown while there are none. The crds is the name of their package. Other conditions stay, and so does
// this one while it is not known who manages them.
func SetCRDsReady(conditions *[]metav1.Condition, generation int64, crds string, packages []front.Package, ownership CRDOwnership, cause error, now metav1.Time) {
	if ownership.Reason == "" && meta.FindStatusCondition(*conditions, ConditionCRDsReady) != nil {
		return
	}
	c := crdsReady(crds, packages, ownership, cause, meta.IsStatusConditionTrue(*conditions, ConditionCRDsReady))
	c.Type = ConditionCRDsReady
	setOnClass(conditions, generation, now, c)
}

const notYetInstalled = "CRDs not yet installed"

// crdsReady is the condition; was says that it is True so far.
func crdsReady(name string, packages []front.Package, ownership CRDOwnership, cause error, was bool) metav1.Condition {
	switch ownership.Reason {
	case ReasonManagedByOLM:
		return status.Condition("", metav1.ConditionTrue, ReasonManagedByOLM, ownership.Message)
	case ReasonUnknownManagement, ReasonMixedOwnership:
		return status.Condition("", metav1.ConditionFalse, ownership.Reason, ownership.Message)
	}
	crds := front.Package{}
	if i := slices.IndexFunc(packages, func(p front.Package) bool { return p.Name == name }); i >= 0 {
		crds = packages[i]
	}
	ready, warning := ownCRDs(crds, ownership, cause, was)
	if ownership.Reason != ReasonManagedByCIO { // there is none
		message := notYetInstalled
		if warning != "" {
			message += ": " + warning
		}
		return status.Condition("", metav1.ConditionUnknown, ReasonNoneExist, message)
	}
	var warnings []string
	// While they are being created, each would change the list.
	if len(ownership.Missing) > 0 && !isRollingOut(crds.Package) {
		warnings = append(warnings, "these do not exist: "+strings.Join(ownership.Missing, ", "))
	}
	if warning != "" {
		warnings = append(warnings, warning)
	}
	message := ownership.Message
	if len(warnings) > 0 {
		message += " (with warning: " + strings.Join(warnings, "; ") + ")"
	}
	if ready {
		return status.Condition("", metav1.ConditionTrue, ReasonManagedByCIO, message)
	}
	return status.Condition("", metav1.ConditionFalse, ReasonNotReady, message)
}

func isRollingOut(pkg *v1alpha1.Package) bool {
	if pkg == nil {
		return false
	}
	progressing := meta.FindStatusCondition(pkg.Status.Conditions, v1alpha1.ConditionProgressing)
	return progressing == nil || progressing.Reason == v1alpha1.ReasonRollingOut
}

// ownCRDs says whether those that were installed last serve, and what keeps the ones that
// are wanted from being installed. An upgrade that brings another CRD takes none away: what
// was ready stays so until the package says that it is not.
func ownCRDs(crds front.Package, ownership CRDOwnership, cause error, was bool) (ready bool, warning string) {
	complete := len(ownership.Missing) == 0
	if crds.Package == nil {
		// Nothing could be rendered, or they are too new to be rendered, or have yet to be
		// adopted: what is there is there.
		return complete, firstText(cause, crds.Blocked)
	}
	available := meta.FindStatusCondition(crds.Package.Status.Conditions, v1alpha1.ConditionAvailable)
	progressing := meta.FindStatusCondition(crds.Package.Status.Conditions, v1alpha1.ConditionProgressing)
	first := crds.Package.Status.CurrentRevision == 0
	if available == nil || progressing == nil {
		return complete && was, ""
	}
	warning = firstText(cause, crds.Blocked)
	if warning == "" && progressing.Reason != v1alpha1.ReasonRolledOut {
		warning = progressing.Message
	}
	if warning == "" {
		warning = status.InterferenceOn(crds.Package)
	}
	switch available.Status {
	case metav1.ConditionTrue:
		return true, warning
	case metav1.ConditionUnknown:
		// It has not been observed that they are gone.
		return !first && (complete || was), available.Message
	default:
		if warning == "" {
			warning = available.Message
		}
		// Those of an operator before this one are adopted, and serve meanwhile.
		return first && complete && was, warning
	}
}

func firstText(cause error, text string) string {
	if cause != nil {
		return cause.Error()
	}
	return text
}
