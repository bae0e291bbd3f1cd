// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/front/clusterextension/resolve"
	"github.com/strata-run/strata/internal/history"
	"github.com/strata-run/strata/internal/status/statustest"
)

const generation = 3

var (
	then           = metav1.Unix(1_700_000_000, 0)
	later          = metav1.Unix(1_700_000_060, 0)
	conditionTypes = []string{
		olmv1.TypeInstalled, olmv1.TypeProgressing, olmv1.TypeAvailable, olmv1.TypeDeprecated,
		olmv1.TypePackageDeprecated, olmv1.TypeChannelDeprecated, olmv1.TypeBundleDeprecated,
	}
)

// contract is what the rows say. Failed comes with two statuses, as OLM has it.
func contract(installedFailed metav1.ConditionStatus) map[string]map[string]metav1.ConditionStatus {
	statuses := Rows().Statuses()
	statuses[olmv1.TypeInstalled][olmv1.ReasonFailed] = installedFailed
	return statuses
}

func extension() *olmv1.ClusterExtension {
	ce := &olmv1.ClusterExtension{ObjectMeta: metav1.ObjectMeta{Name: "demo", Generation: generation}}
	ce.Spec.Source.Catalog = &olmv1.CatalogFilter{PackageName: "p"}
	return ce
}

func revision(number int64, lifecycle v1alpha1.LifecycleState) v1alpha1.Revision {
	version := map[int64]string{1: "1.0.0", 2: "1.1.0", 3: "1.2.0"}[number]
	r := v1alpha1.Revision{ObjectMeta: metav1.ObjectMeta{
		Name:        v1alpha1.RevisionName("demo", number),
		Annotations: revisionAnnotations("p", resolve.Identity{Name: "p.v" + version, Version: version}, "registry.example/p@sha256:"+version, ""),
	}}
	r.Spec = v1alpha1.RevisionSpec{Package: "demo", Revision: number, LifecycleState: lifecycle, Origin: &v1alpha1.Origin{AppVersion: version}}
	r.Status.Conditions = []metav1.Condition{
		{Type: v1alpha1.ConditionSucceeded, Status: "True", Reason: "RolloutSuccess", Message: "x", LastTransitionTime: then},
		{Type: v1alpha1.ConditionProgressing, Status: "True", Reason: "RollingOut", Message: "phase 2/6", LastTransitionTime: then},
	}
	return r
}

// rolling is a state in which revision target is rolled out, with current installed.
func rolling(current, target int64, progressing, available string) state {
	pkg := statustest.PackageAt("demo", current, progressing, available)
	pkg.Status.TargetRevision = target
	s := state{deprecation: resolve.Deprecation{Known: true}, revisions: []v1alpha1.Revision{}}
	for number := max(current, target); number >= 1; number-- {
		lifecycle := v1alpha1.LifecycleActive
		if number != current && number != target {
			lifecycle = v1alpha1.LifecycleArchived
		}
		s.revisions = append(s.revisions, revision(number, lifecycle))
	}
	s.pkg = front.Package{Name: "demo", Package: pkg, Need: history.NeedNone}
	for i := range s.revisions {
		if s.revisions[i].Spec.Revision == target {
			s.pkg.Target = &s.revisions[i]
		}
	}
	return s
}

const (
	rolledOut = "False/RolledOut: revision 1 is rolled out"
	serves    = "True/ProbesSucceeded: all objects are ready"
)

// with is a state with a change.
func with(s state, change func(*state)) state {
	change(&s)
	return s
}

var unmet = &trouble{olmv1.ReasonBlocked, "the dependency cannot be met"}

var statusCases = map[string]struct {
	reason                            string
	state                             state
	deleted                           bool
	installed, progressing, available string
	bundle                            string
	active                            string
}{
	"Nothing": {
		reason: "nothing is known yet", state: state{},
		installed: "False/Absent: No bundle installed", progressing: "True/RollingOut: The bundle is about to be installed",
		available: "Unknown/Reconciling: The objects have not been checked yet",
	},
	"Installing": {
		reason: "the target is rolled out", state: rolling(0, 1, "True/RollingOut: revision 1 (1.0.0): phase 2/6", "False/NoRevision: no revision has succeeded yet"),
		installed: "False/Absent: No bundle installed", progressing: "True/RollingOut: Revision 1.0.0 is rolling out. revision 1 (1.0.0): phase 2/6",
		available: "False/RollingOut: no revision has succeeded yet", active: "demo-1+1",
	},
	"Installed": {
		reason: "all is well", state: rolling(1, 1, rolledOut, serves),
		installed:   "True/Succeeded: Installed bundle registry.example/p@sha256:1.0.0 successfully",
		progressing: "False/Succeeded: Desired state reached", available: "True/ProbesSucceeded: all objects are ready",
		bundle: "p.v1.0.0 1.0.0", active: "demo-1",
	},
	"Warnings": {
		reason: "they do not keep from being done", state: with(rolling(1, 1, rolledOut, serves), func(s *state) { s.warnings = []string{"catalog a is down"} }),
		installed:   "True/Succeeded: Installed bundle registry.example/p@sha256:1.0.0 successfully",
		progressing: "False/Succeeded: Desired state reached; catalog a is down", available: "True/ProbesSucceeded: all objects are ready",
		bundle: "p.v1.0.0 1.0.0", active: "demo-1",
	},
	"Upgrading": {
		reason: "what is installed stays installed", state: rolling(1, 3, "True/RollingOut: revision 3 (1.2.0): phase 5/6", serves),
		installed:   "True/Succeeded: Installed bundle registry.example/p@sha256:1.0.0 successfully",
		progressing: "True/RollingOut: Revision 1.2.0 is rolling out. revision 3 (1.2.0): phase 5/6", available: "True/ProbesSucceeded: all objects are ready",
		bundle: "p.v1.0.0 1.0.0", active: "demo-1 demo-3+1",
	},
	"AboutToUpgrade": {
		reason: "the package does not know of the target yet", state: with(rolling(1, 2, rolledOut, serves), func(s *state) { s.pkg.Package.Status.TargetRevision = 1 }),
		installed:   "True/Succeeded: Installed bundle registry.example/p@sha256:1.0.0 successfully",
		progressing: "True/RollingOut: Revision 2 (1.1.0) is about to be rolled out", available: "True/ProbesSucceeded: all objects are ready",
		bundle: "p.v1.0.0 1.0.0", active: "demo-1 demo-2+1",
	},
	"UpgradeBlocked": {
		reason: "what is installed stays installed", state: with(rolling(1, 1, rolledOut, serves), func(s *state) { s.trouble = unmet }),
		installed:   "True/Succeeded: Installed bundle registry.example/p@sha256:1.0.0 successfully",
		progressing: "False/Blocked: the dependency cannot be met", available: "True/ProbesSucceeded: all objects are ready",
		bundle: "p.v1.0.0 1.0.0", active: "demo-1",
	},
	"Blocked": {
		reason: "the first attempt", state: state{trouble: unmet, deprecation: resolve.Deprecation{Known: true}},
		installed: "False/Failed: No bundle installed: the dependency cannot be met", progressing: "False/Blocked: the dependency cannot be met",
		available: "Unknown/Reconciling: The objects have not been checked yet",
	},
	"InvalidConfiguration": {
		reason: "a configuration", state: state{trouble: &trouble{olmv1.ReasonInvalidConfiguration, `unknown field "x"`}},
		installed: `False/Failed: No bundle installed: unknown field "x"`, progressing: `False/InvalidConfiguration: unknown field "x"`,
		available: "Unknown/Reconciling: The objects have not been checked yet",
	},
	"Pulling": {
		reason: "work under way is no failure", state: state{trouble: &trouble{olmv1.ReasonRollingOut, "the bundle p.v1.0.0 is being pulled"}},
		installed: "False/Absent: No bundle installed", progressing: "True/RollingOut: the bundle p.v1.0.0 is being pulled",
		available: "Unknown/Reconciling: The objects have not been checked yet",
	},
	"Retrying": {
		reason: "nothing was found", state: state{trouble: &trouble{olmv1.ReasonRetrying, `no bundles found for package "p"`}},
		installed: `False/Failed: No bundle installed: no bundles found for package "p"`, progressing: `True/Retrying: no bundles found for package "p"`,
		available: "Unknown/Reconciling: The objects have not been checked yet",
	},
	"PassFailed": {
		reason: "the API server", state: with(rolling(1, 1, rolledOut, serves), func(s *state) { s.err = errors.New("the API server is down") }),
		installed:   "True/Succeeded: Installed bundle registry.example/p@sha256:1.0.0 successfully",
		progressing: "True/Retrying: the API server is down", available: "True/ProbesSucceeded: all objects are ready",
		bundle: "p.v1.0.0 1.0.0", active: "demo-1",
	},
	"Unread": {
		reason: "what is installed is not known", state: state{unread: errors.New("the API server is down"), err: errors.New("the API server is down")},
		installed: "Unknown/Failed: what is installed could not be read: the API server is down", progressing: "True/Retrying: the API server is down",
		available: "Unknown/Reconciling: The objects have not been checked yet",
	},
	"BeingDeleted": {
		reason: "what is waited for", deleted: true, state: state{deleting: statustest.PackageAt("demo", 1, "True/TearingDown: Deployment a/b is being deleted", "")},
		installed: "False/Absent: No bundle installed", progressing: "True/RollingOut: The ClusterExtension is being deleted: Deployment a/b is being deleted",
		available: "Unknown/Reconciling: The objects have not been checked yet",
	},
	"ProbeFailure": {
		reason: "what is installed has stopped to work", state: rolling(1, 1, rolledOut, "False/ProbeFailed: Deployment a/b: 0 of 1"),
		installed:   "True/Succeeded: Installed bundle registry.example/p@sha256:1.0.0 successfully",
		progressing: "False/Succeeded: Desired state reached", available: "False/ProbeFailure: Deployment a/b: 0 of 1",
		bundle: "p.v1.0.0 1.0.0", active: "demo-1",
	},
	"ProbesUnknown": {
		reason: "they could not be checked", state: rolling(1, 1, rolledOut, "Unknown/Unknown: no watch"),
		installed:   "True/Succeeded: Installed bundle registry.example/p@sha256:1.0.0 successfully",
		progressing: "False/Succeeded: Desired state reached", available: "Unknown/Reconciling: no watch",
		bundle: "p.v1.0.0 1.0.0", active: "demo-1",
	},
}

func TestStatus(t *testing.T) {
	for name, tc := range statusCases {
		t.Run(name, func(t *testing.T) {
			ce := extension()
			if tc.deleted {
				ce.DeletionTimestamp = &then
			}
			tc.state.now = then
			setStatus(ce, tc.state)
			failed := metav1.ConditionFalse
			if tc.state.unread != nil {
				failed = metav1.ConditionUnknown
			}
			statustest.Conditions(t, contract(failed), generation, ce.Status.Conditions, conditionTypes...)
			for kind, want := range map[string]string{olmv1.TypeInstalled: tc.installed, olmv1.TypeProgressing: tc.progressing, olmv1.TypeAvailable: tc.available} {
				if got := statustest.Text(ce.Status.Conditions, kind); got != want {
					t.Errorf("%s: %s is %q, want %q", tc.reason, kind, got, want)
				}
			}
			if got := bundleText(ce); got != tc.bundle {
				t.Errorf("%s: the installed bundle is %q, want %q", tc.reason, got, tc.bundle)
			}
			if got := activeText(ce); got != tc.active {
				t.Errorf("%s: the active revisions are %q, want %q", tc.reason, got, tc.active)
			}
			again := ce.DeepCopy()
			tc.state.now = later
			setStatus(again, tc.state)
			if diff := cmp.Diff(ce.Status, again.Status); diff != "" {
				t.Errorf("the status changes although nothing has (-first +a minute later):\n%s", diff)
			}
		})
	}
}

func bundleText(ce *olmv1.ClusterExtension) string {
	if ce.Status.Install == nil {
		return ""
	}
	return ce.Status.Install.Bundle.Name + " " + ce.Status.Install.Bundle.Version
}

// activeText names the active revisions, with how many conditions they have.
func activeText(ce *olmv1.ClusterExtension) string {
	var names []string
	for _, r := range ce.Status.ActiveRevisions {
		name := r.Name
		if len(r.Conditions) > 0 {
			name += fmt.Sprintf("+%d", len(r.Conditions))
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

// Every reason of a package's Progressing has its place.
func TestStatus_Rollout(t *testing.T) {
	for from, want := range map[string]string{
		"True/RollingOut": "True/RollingOut", "False/RolledOut": "False/Succeeded", "True/ObjectCollisions": "True/Retrying",
		"True/RolloutError": "True/Retrying", "True/ObjectRefused": "True/Retrying", "True/PermissionDenied": "True/Retrying", "True/ContentUnavailable": "True/Retrying",
		"False/PreflightFailed": "False/Blocked", "False/InvalidSpec": "False/Blocked", "False/ProgressDeadlineExceeded": "True/RollingOut",
		"False/Paused": "False/Paused", "False/AwaitingApproval": "False/AwaitingApproval", "True/TearingDown": "True/RollingOut", "True/TeardownStuck": "True/RollingOut",
	} {
		ce := extension()
		s := rolling(0, 1, from+": why", "")
		s.now = then
		s.pkg.Target.Status.LastProgressTime = &then
		setStatus(ce, s)
		message := "why"
		if want == "True/Retrying" {
			message = `error for resolved bundle "p.v1.0.0" with version "1.0.0": why`
		}
		if from == "True/ObjectCollisions" {
			message = `error for resolved bundle "p.v1.0.0" with version "1.0.0": revision object collisions: why`
		}
		if want == "True/RollingOut" {
			message = "Revision 1.0.0 is rolling out. why"
		}
		if from == "False/ProgressDeadlineExceeded" {
			message = "no progress since 2023-11-14T22:13:20Z: why"
		}
		if want == "False/Succeeded" {
			message = "Desired state reached"
		}
		if got := statustest.Text(ce.Status.Conditions, olmv1.TypeProgressing); got != want+": "+message {
			t.Errorf("%s becomes %q, want %s: %s", from, got, want, message)
		}
		statustest.Conditions(t, contract(metav1.ConditionFalse), generation, ce.Status.Conditions, conditionTypes...)
	}
}

// The remedy is a field of the ClusterExtension, which sets the annotation of its package.
func TestStatus_UnsafeDefinition(t *testing.T) {
	ce := extension()
	s := rolling(0, 1, "False/PreflightFailed: the field is gone: keep it, or annotate the Package strata.run/crd-upgrade-safety: None", "")
	s.now = then
	setStatus(ce, s)
	want := "False/Blocked: the field is gone: keep it, or set spec.install.preflight.crdUpgradeSafety.enforcement to None"
	if got := statustest.Text(ce.Status.Conditions, olmv1.TypeProgressing); got != want {
		t.Errorf("Progressing is %q, want %q", got, want)
	}
}

// A deadline in the spec ends the rollout for the status; it still goes on.
func TestStatus_Deadline(t *testing.T) {
	late := &trouble{olmv1.ReasonRetrying, "no bundles found"}
	for name, tc := range map[string]struct {
		change func(*state)
		want   string
	}{
		"Rollout": {func(*state) {}, "False/ProgressDeadlineExceeded: The ClusterExtension has not rolled out for 12 minute(s). Last status: why"},
		"Trouble": {func(s *state) { s.trouble, s.since = late, then.Add(-12*time.Minute) }, "False/ProgressDeadlineExceeded: The ClusterExtension has not rolled out for 12 minute(s). Last status: no bundles found"},
		"InTime": {func(s *state) {
			*s = with(rolling(1, 1, rolledOut, serves), func(s *state) { s.trouble, s.since = late, then.Add(-11*time.Minute) })
		}, "True/Retrying: no bundles found"},
	} {
		ce := extension()
		ce.Spec.ProgressDeadlineMinutes = 12
		s := with(rolling(1, 2, "False/ProgressDeadlineExceeded: why", serves), tc.change)
		s.now = then
		setStatus(ce, s)
		if got := statustest.Text(ce.Status.Conditions, olmv1.TypeProgressing); got != tc.want {
			t.Errorf("%s: Progressing is %q, want %q", name, got, tc.want)
		}
	}
}

func TestStatus_Deprecation(t *testing.T) {
	notice := func(text string) *resolve.Notice { return &resolve.Notice{Name: "n", Message: text} }
	for name, tc := range map[string]struct {
		says      resolve.Deprecation
		installed bool
		want      [4]string
	}{
		"Unknown":      {want: [4]string{"Unknown/DeprecationStatusUnknown: no catalog could be read", "Unknown/DeprecationStatusUnknown: no catalog could be read", "Unknown/DeprecationStatusUnknown: no catalog could be read", "Unknown/Absent: no bundle installed yet"}},
		"None":         {says: resolve.Deprecation{Known: true}, installed: true, want: [4]string{"False/NotDeprecated: not deprecated", "False/NotDeprecated: package p is not deprecated", "False/NotDeprecated: no channel is deprecated", "False/NotDeprecated: the installed bundle is not deprecated"}},
		"NotInstalled": {says: resolve.Deprecation{Known: true}, want: [4]string{"False/NotDeprecated: not deprecated", "False/NotDeprecated: package p is not deprecated", "False/NotDeprecated: no channel is deprecated", "Unknown/Absent: no bundle installed yet"}},
		"All": {
			says:      resolve.Deprecation{Known: true, Package: notice("use q"), Channels: []resolve.Notice{*notice("use b"), *notice("use c")}, Bundle: notice("use 2")},
			installed: true, want: [4]string{"True/Deprecated: use q\nuse b\nuse c\nuse 2", "True/Deprecated: use q", "True/Deprecated: use b\nuse c", "True/Deprecated: use 2"},
		},
	} {
		got := [4]string{}
		for i, c := range deprecated(extension(), tc.says, tc.installed) {
			got[i] = string(c.Status) + "/" + c.Reason + ": " + c.Message
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// What the API would refuse is left out: a status that is refused says nothing at all.
func TestInstallStatus(t *testing.T) {
	release := func(text string) *string { return &text }
	for name, tc := range map[string]struct {
		bundle resolve.Identity
		want   *olmv1.BundleMetadata
	}{
		"Whole":       {resolve.Identity{Name: "p.v1", Version: "1.0.0+2", Release: release("a.1")}, &olmv1.BundleMetadata{Name: "p.v1", Version: "1.0.0+2", Release: release("a.1")}},
		"NoName":      {resolve.Identity{Version: "1.0.0"}, nil},
		"UpperCase":   {resolve.Identity{Name: "P", Version: "1.0.0"}, nil},
		"NoVersion":   {resolve.Identity{Name: "p"}, nil},
		"LongRelease": {resolve.Identity{Name: "p", Version: "1", Release: release(strings.Repeat("1", 21))}, &olmv1.BundleMetadata{Name: "p", Version: "1"}},
		"BadRelease":  {resolve.Identity{Name: "p", Version: "1", Release: release("a_b")}, &olmv1.BundleMetadata{Name: "p", Version: "1"}},
	} {
		got := installStatus(&v1alpha1.Revision{ObjectMeta: metav1.ObjectMeta{Annotations: revisionAnnotations("p", tc.bundle, "", "")}})
		if (got == nil) != (tc.want == nil) || got != nil && cmp.Diff(*tc.want, got.Bundle) != "" {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

// What the reference says is what may be said.
func TestRows(t *testing.T) {
	for _, row := range Rows() {
		c := metav1.Condition{Type: row.Condition, Status: metav1.ConditionStatus(row.Status), Reason: row.Reason, Message: row.Message, ObservedGeneration: 1, LastTransitionTime: then}
		for _, problem := range statustest.Problems(contract(c.Status), 1, []metav1.Condition{c}) {
			t.Errorf("%s: %s", row.When, problem)
		}
		if row.When == "" {
			t.Errorf("%s %s does not say when", row.Condition, row.Reason)
		}
	}
}
