// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayclass_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/front/gatewayclass"
	"github.com/strata-run/strata/internal/status/statustest"
)

func TestSetCRDsReady(t *testing.T) {
	const (
		rolledOut  = "False/RolledOut: revision 2 is rolled out"
		rollingOut = "True/RollingOut: revision 2: phase 1/1"
		serves     = "True/ProbesSucceeded: the operand serves"
		byCIO      = "Istio CRDs are being managed by cluster-ingress-operator"
		byOLM      = "Istio CRDs are managed by OSSM subscription 's' in namespace 'n'"
	)
	ours := gatewayclass.CRDOwnership{Reason: gatewayclass.ReasonManagedByCIO, Message: byCIO}
	partly := gatewayclass.CRDOwnership{Reason: gatewayclass.ReasonManagedByCIO, Message: byCIO, Missing: []string{"a"}}
	none := gatewayclass.CRDOwnership{Reason: gatewayclass.ReasonNoneExist, Message: "CRDs not yet installed", Missing: []string{"a", "b"}}
	of := func(progressing, available string) []front.Package {
		return []front.Package{frontPackage(plane, 0, rollingOut, ""), frontPackage(crds, 1, progressing, available)}
	}
	tests := map[string]struct {
		reason    string
		ownership gatewayclass.CRDOwnership
		packages  []front.Package
		cause     error
		want      string
	}{
		"NoneExist":      {reason: "scenario 1, before anything is made", ownership: none, want: "Unknown/NoneExist: CRDs not yet installed"},
		"Installing":     {reason: "some are there already", ownership: partly, packages: of(rollingOut, "False/RollingOut: not yet"), want: "False/NotReady: " + byCIO + " (with warning: revision 2: phase 1/1)"},
		"NotServedYet":   {reason: "they exist, and are not served", ownership: ours, packages: of(rollingOut, "False/RollingOut: not yet"), want: "False/NotReady: " + byCIO + " (with warning: revision 2: phase 1/1)"},
		"CannotInstall":  {reason: "what keeps them from being installed is reported", ownership: none, packages: of("False/RolloutError: forbidden", "False/RollingOut: not yet"), want: "Unknown/NoneExist: CRDs not yet installed: forbidden"},
		"CannotPublish":  {reason: "and so is an error of ours", ownership: none, cause: errors.New("creating revision 1: timeout"), want: "Unknown/NoneExist: CRDs not yet installed: creating revision 1: timeout"},
		"ManagedByCIO":   {reason: "scenario 2, and the end of 1 and of a takeover", ownership: ours, packages: of(rolledOut, serves), want: "True/ManagedByCIO: " + byCIO},
		"Upgrading":      {reason: "an upgrade is reported, and takes nothing away", ownership: ours, packages: of(rollingOut, serves), want: "True/ManagedByCIO: " + byCIO + " (with warning: revision 2: phase 1/1)"},
		"UpgradeRefused": {reason: "an upgrade that is not safe is reported", ownership: ours, packages: of("False/PreflightFailed: CRD a loses version v1", serves), want: "True/ManagedByCIO: " + byCIO + " (with warning: CRD a loses version v1)"},
		"TooNew":         {reason: "CRDs of a newer operator stay", ownership: ours, packages: []front.Package{{Name: crds, Blocked: "they are newer"}}, want: "True/ManagedByCIO: " + byCIO + " (with warning: they are newer)"},
		"TooNewWithPackage": {reason: "also if there is a package", ownership: ours, packages: []front.Package{func() front.Package {
			p := frontPackage(crds, 1, rolledOut, serves)
			p.Blocked = "they are newer"
			return p
		}()}, want: "True/ManagedByCIO: " + byCIO + " (with warning: they are newer)"},
		"UnknownVersion":       {reason: "what cannot be rendered takes no CRDs away", ownership: ours, cause: errors.New("version 9 is not known"), want: "True/ManagedByCIO: " + byCIO + " (with warning: version 9 is not known)"},
		"OneDeleted":           {reason: "one is gone, and is created again", ownership: partly, packages: of(rolledOut, "False/ProbeFailed: CRD a does not exist"), want: "False/NotReady: " + byCIO + " (with warning: these do not exist: a; CRD a does not exist)"},
		"NotObserved":          {reason: "what cannot be observed has not gone", ownership: ours, packages: of(rolledOut, "Unknown/Unknown: timeout"), want: "True/ManagedByCIO: " + byCIO + " (with warning: timeout)"},
		"JustCreated":          {reason: "a package without a status", ownership: none, packages: of("", ""), want: "Unknown/NoneExist: CRDs not yet installed"},
		"NoPackageYet":         {reason: "all are ours already, and have yet to be adopted", ownership: ours, want: "True/ManagedByCIO: " + byCIO},
		"UpgradeAddsOne":       {reason: "an upgrade that brings another CRD takes none of the others away", ownership: partly, packages: of(rollingOut, serves), want: "True/ManagedByCIO: " + byCIO + " (with warning: revision 2: phase 1/1)"},
		"UpgradePaused":        {reason: "nor does one that is held back", ownership: partly, packages: of("False/Paused: paused by alice", serves), want: "True/ManagedByCIO: " + byCIO + " (with warning: these do not exist: a; paused by alice)"},
		"UpgradeNotObserved":   {reason: "one of two is missing, and the other was not observed", ownership: partly, packages: of(rollingOut, "Unknown/Unknown: timeout"), want: "False/NotReady: " + byCIO + " (with warning: timeout)"},
		"ManagedByOLM":         {reason: "scenario 3", ownership: gatewayclass.CRDOwnership{Reason: gatewayclass.ReasonManagedByOLM, Message: byOLM}, want: "True/ManagedByOLM: " + byOLM},
		"UnknownManagement":    {reason: "scenario 4", ownership: gatewayclass.CRDOwnership{Reason: gatewayclass.ReasonUnknownManagement, Message: "x"}, want: "False/UnknownManagement: x"},
		"MixedOwnership":       {reason: "scenario 5", ownership: gatewayclass.CRDOwnership{Reason: gatewayclass.ReasonMixedOwnership, Message: "x"}, packages: of(rolledOut, serves), want: "False/MixedOwnership: x"},
		"NotKnownAtFirst":      {reason: "the cluster could not be read", cause: errors.New("listing: forbidden"), want: "Unknown/NoneExist: CRDs not yet installed: listing: forbidden"},
		"WhateverThePackageIs": {reason: "CRDs of another operator are not ours, even if our package is still there", ownership: gatewayclass.CRDOwnership{Reason: gatewayclass.ReasonManagedByOLM, Message: byOLM}, packages: of(rolledOut, serves), want: "True/ManagedByOLM: " + byOLM},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			foreign := metav1.Condition{Type: "Accepted", Status: metav1.ConditionTrue, Reason: "Accepted", Message: "Handled by Istio controller", ObservedGeneration: 1, LastTransitionTime: at(1)}
			set := func(conditions []metav1.Condition, now int64) []metav1.Condition {
				conditions = append([]metav1.Condition(nil), conditions...)
				gatewayclass.SetCRDsReady(&conditions, generation, crds, tc.packages, tc.ownership, tc.cause, at(now))
				return conditions
			}
			got := set([]metav1.Condition{foreign}, 100)
			statustest.Conditions(t, gatewayclass.Rows().Statuses(), generation, got, gatewayclass.ConditionCRDsReady)
			statustest.Stable(t, tc.reason, got, set([]metav1.Condition{foreign}, 100), set(got, 160))
			if diff := cmp.Diff(tc.want, statustest.Text(got, gatewayclass.ConditionCRDsReady)); diff != "" {
				t.Errorf("%s: CRDsReady (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(foreign, got[0]); diff != "" || len(got) != 2 {
				t.Errorf("%s: the conditions of other controllers were touched, %d in all:\n%s", tc.reason, len(got), diff)
			}
		})
	}
}

// CRDs that were ready stay so while they are adopted, and an upgrade that cannot be observed
// takes nothing away; one that is deleted does.
func TestSetCRDsReady_StaysTrue(t *testing.T) {
	ours := gatewayclass.CRDOwnership{Reason: gatewayclass.ReasonManagedByCIO, Message: "ours"}
	partly := gatewayclass.CRDOwnership{Reason: gatewayclass.ReasonManagedByCIO, Message: "ours", Missing: []string{"a"}}
	first := func(progressing, available string) front.Package {
		p := frontPackage(crds, 1, progressing, available)
		p.Package.Status.CurrentRevision = 0
		return p
	}
	const rollingOut, notYet = "True/RollingOut: phase 1/1", "False/RollingOut: not yet"
	tests := map[string]struct {
		reason    string
		ownership gatewayclass.CRDOwnership
		crds      front.Package
		want      metav1.ConditionStatus
	}{
		"AdoptedNoStatus": {reason: "the package was just made for them", ownership: ours, crds: first("", ""), want: metav1.ConditionTrue},
		"Adopted":         {reason: "the package adopts them", ownership: ours, crds: first(rollingOut, notYet), want: metav1.ConditionTrue},
		"FirstOfSome":     {reason: "one is missing, and may be needed", ownership: partly, crds: first(rollingOut, notYet), want: metav1.ConditionFalse},
		"NotObserved":     {reason: "it was not observed that they are gone", ownership: partly, crds: frontPackage(crds, 1, rollingOut, "Unknown/Unknown: timeout"), want: metav1.ConditionTrue},
		"Deleted":         {reason: "one that was installed is gone", ownership: partly, crds: frontPackage(crds, 1, "False/RolledOut: x", "False/ProbeFailed: gone"), want: metav1.ConditionFalse},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			conditions := []metav1.Condition{{Type: gatewayclass.ConditionCRDsReady, Status: metav1.ConditionTrue, Reason: gatewayclass.ReasonManagedByCIO, LastTransitionTime: at(1)}}
			gatewayclass.SetCRDsReady(&conditions, generation, crds, []front.Package{tc.crds}, tc.ownership, nil, at(9))
			if got := conditions[0]; got.Status != tc.want {
				t.Errorf("%s: got %s/%s, want %s", tc.reason, got.Status, got.Reason, tc.want)
			}
		})
	}
}

// While it is not known who manages the CRDs, what was known stays.
func TestSetCRDsReady_NotKnown(t *testing.T) {
	var conditions []metav1.Condition
	gatewayclass.SetCRDsReady(&conditions, 1, crds, nil, gatewayclass.CRDOwnership{Reason: gatewayclass.ReasonManagedByOLM, Message: "x"}, nil, at(1))
	before := slices.Clone(conditions)
	gatewayclass.SetCRDsReady(&conditions, 2, crds, nil, gatewayclass.CRDOwnership{}, errors.New("timeout"), at(2))
	if diff := cmp.Diff(before, conditions); diff != "" {
		t.Errorf("an error of the observation has changed it:\n%s", diff)
	}
}

// A class takes eight conditions. Where other controllers have used them up none is added, and the
// ones that are there are kept up to date.
func TestGatewayClassConditions_Full(t *testing.T) {
	var conditions []metav1.Condition
	for i := range 7 {
		conditions = append(conditions, metav1.Condition{Type: fmt.Sprintf("Foreign%d", i), Status: metav1.ConditionTrue})
	}
	set := func() {
		gatewayclass.SetControllerInstalled(&conditions, 1, plane, nil, nil, at(1))
		gatewayclass.SetCRDsReady(&conditions, 1, crds, nil, gatewayclass.CRDOwnership{Reason: gatewayclass.ReasonMixedOwnership, Message: "x"}, nil, at(1))
	}
	set()
	if len(conditions) != 8 || conditions[7].Type != gatewayclass.ConditionControllerInstalled {
		t.Fatalf("there are %d conditions, the last of them %s", len(conditions), conditions[len(conditions)-1].Type)
	}
	conditions[7].Message = "old"
	set()
	if len(conditions) != 8 || conditions[7].Message != "waiting for first reconciliation" {
		t.Errorf("there are %d conditions, and ours says %q", len(conditions), conditions[7].Message)
	}
}

// Warnings are reported while istiod serves, and what holds it back before.
func TestSetControllerInstalled_Warnings(t *testing.T) {
	serving := frontPackage(plane, 2, "False/RolledOut: x", "True/ProbesSucceeded: x")
	held := serving
	held.Blocked = "waiting for the Sail operator"
	canary := front.Package{Name: "canary", Blocked: "canary: no"}
	tests := map[string]struct {
		reason   string
		packages []front.Package
		warnings []string
		want     string
	}{
		"Warnings":    {reason: "all of them", packages: []front.Package{serving, canary}, warnings: []string{"CRDsReady is MixedOwnership"}, want: "True/Installed: istiod 1.30.0 installed (with warning: canary: no; CRDsReady is MixedOwnership)"},
		"HeldServing": {reason: "what runs is installed", packages: []front.Package{held}, want: "True/Installed: istiod 1.30.0 installed (with warning: waiting for the Sail operator)"},
		"Held":        {reason: "nothing is there yet", packages: []front.Package{{Name: plane, Blocked: "waiting for the Sail operator"}}, warnings: []string{"x"}, want: "Unknown/Pending: waiting for the Sail operator"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var conditions []metav1.Condition
			gatewayclass.SetControllerInstalled(&conditions, generation, plane, tc.packages, nil, at(1), tc.warnings...)
			if diff := cmp.Diff(tc.want, statustest.Text(conditions, gatewayclass.ConditionControllerInstalled)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// Each row of the reference is a condition as it may be written, and no reason lacks a row.
func TestGatewayClassRows(t *testing.T) {
	reasons := map[string]bool{}
	for _, r := range gatewayclass.Rows() {
		c := metav1.Condition{Type: r.Condition, Status: metav1.ConditionStatus(r.Status), Reason: r.Reason, Message: r.Message, ObservedGeneration: 1, LastTransitionTime: at(1)}
		if problems := statustest.Problems(gatewayclass.Rows().Statuses(), 1, []metav1.Condition{c}, r.Condition); len(problems) > 0 {
			t.Errorf("%s/%s: %s", r.Condition, r.Reason, strings.Join(problems, "; "))
		}
		if r.When == "" {
			t.Errorf("%s/%s: it does not say when", r.Condition, r.Reason)
		}
		reasons[r.Condition+"/"+r.Reason] = true
	}
	for _, want := range []string{
		"ControllerInstalled/Installed", "ControllerInstalled/InstallFailed", "ControllerInstalled/Pending",
		"CRDsReady/ManagedByCIO", "CRDsReady/ManagedByOLM", "CRDsReady/NoneExist", "CRDsReady/NotReady", "CRDsReady/UnknownManagement", "CRDsReady/MixedOwnership",
	} {
		if !reasons[want] {
			t.Errorf("%s has no row", want)
		}
	}
}
