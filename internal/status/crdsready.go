// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
)

// The condition of GatewayClasses about the Istio CRDs, and its reasons.
const (
	ConditionCRDsReady      = "CRDsReady"
	ReasonManagedByCIO      = "ManagedByCIO"
	ReasonManagedByOLM      = "ManagedByOLM"
	ReasonNoneExist         = "NoneExist"
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

// SetCRDsReady sets the condition CRDsReady: True while somebody manages the CRDs, and
// if that is us, they are served; False when nobody known does; Unknown before they are
// installed. The crds is the name of their package. Other conditions stay, and so does
// this one while it is not known who manages them.
func SetCRDsReady(conditions *[]metav1.Condition, generation int64, crds string, packages []FrontPackage, ownership CRDOwnership, cause error, now metav1.Time) {
	if ownership.Reason == "" && meta.FindStatusCondition(*conditions, ConditionCRDsReady) != nil {
		return
	}
	c := crdsReady(crds, packages, ownership, cause)
	c.Type = ConditionCRDsReady
	setOnClass(conditions, generation, now, c)
}

const notYetInstalled = "CRDs not yet installed"

func crdsReady(name string, packages []FrontPackage, ownership CRDOwnership, cause error) metav1.Condition {
	switch ownership.Reason {
	case ReasonManagedByOLM:
		return condition("", metav1.ConditionTrue, ReasonManagedByOLM, ownership.Message)
	case ReasonUnknownManagement, ReasonMixedOwnership:
		return condition("", metav1.ConditionFalse, ownership.Reason, ownership.Message)
	}
	crds := FrontPackage{}
	if i := slices.IndexFunc(packages, func(p FrontPackage) bool { return p.Name == name }); i >= 0 {
		crds = packages[i]
	}
	ready, warning := ownCRDs(crds, ownership, cause)
	switch {
	case ready && warning != "":
		return condition("", metav1.ConditionTrue, ReasonManagedByCIO, ownership.Message+" (with warning: "+warning+")")
	case ready:
		return condition("", metav1.ConditionTrue, ReasonManagedByCIO, ownership.Message)
	case warning != "":
		return condition("", metav1.ConditionUnknown, ReasonNoneExist, notYetInstalled+": "+warning)
	default:
		return condition("", metav1.ConditionUnknown, ReasonNoneExist, notYetInstalled)
	}
}

// ownCRDs says whether the CRDs that we manage are all there and served, and what else
// there is to tell.
func ownCRDs(crds FrontPackage, ownership CRDOwnership, cause error) (ready bool, warning string) {
	complete := ownership.Reason == ReasonManagedByCIO && len(ownership.Missing) == 0
	if crds.Package == nil {
		// Nothing could be rendered, or they are too new to be rendered: what is there is there.
		return complete && (cause != nil || crds.Held != ""), firstText(cause, crds.Held)
	}
	available := meta.FindStatusCondition(crds.Package.Status.Conditions, v1alpha1.ConditionAvailable)
	progressing := meta.FindStatusCondition(crds.Package.Status.Conditions, v1alpha1.ConditionProgressing)
	if available == nil || progressing == nil {
		return false, ""
	}
	warning = firstText(cause, crds.Held)
	if warning == "" && progressing.Reason != v1alpha1.ReasonRolledOut {
		warning = progressing.Message
	}
	switch available.Status {
	case metav1.ConditionTrue:
		return complete, warning
	case metav1.ConditionUnknown:
		// It has not been observed that they are gone.
		return complete && crds.Package.Status.CurrentRevision != 0, available.Message
	default:
		if warning == "" {
			warning = available.Message
		}
		return false, warning
	}
}

func firstText(cause error, text string) string {
	if cause != nil {
		return cause.Error()
	}
	return text
}
