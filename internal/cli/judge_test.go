// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-run/strata/api/v1alpha1"
)

// TestJudge has a rollout that is done, and what makes that not so yet.
func TestJudge(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(f *fixture)
		want   Verdict
	}{
		"Done":           {reason: "Nothing is open.", change: func(*fixture) {}, want: VerdictRolledOut},
		"SpecChanged":    {reason: "The controller has not seen the newest spec.", change: func(f *fixture) { f.view.pkg.Generation++ }, want: VerdictInProgress},
		"RevisionBehind": {reason: "The status is about an older spec of the revision.", change: func(f *fixture) { f.view.revisions[2].Generation++ }, want: VerdictInProgress},
		"NewRevision":    {reason: "A newer revision is there that the package's status does not know.", change: func(f *fixture) { f.revision(4, "1.31.1", 0) }, want: VerdictInProgress},
		"RolledOutNext":  {reason: "Nor does its success count before the package's status tells of it.", change: func(f *fixture) { f.succeed(f.revision(4, "1.31.1", 0), 0, created) }, want: VerdictInProgress},
		"RollbackAsked":  {reason: "A rollback is to come.", change: func(f *fixture) { f.view.pkg.Spec.Rollback = &v1alpha1.Rollback{RequestedAt: ago(0)} }, want: VerdictInProgress},
		"RollbackRefused": {reason: "A rollback that was refused leaves what runs.", change: func(f *fixture) {
			f.view.pkg.Spec.Rollback = &v1alpha1.Rollback{RequestedAt: ago(0)}
			f.view.pkg.Status.Rollback = &v1alpha1.RollbackStatus{RequestedAt: ago(0), Message: "no"}
		}, want: VerdictRolledOut},
		"PackageBehind": {reason: "The package's condition is of an earlier rollout.", change: func(f *fixture) {
			set(&f.view.pkg.Status.Conditions, v1alpha1.ConditionProgressing, "True", v1alpha1.ReasonRollingOut, "")
		}, want: VerdictInProgress},
		"NeverSucceeded": {reason: "RolledOut without the latched success is not done.", change: func(f *fixture) {
			set(&f.view.revisions[2].Status.Conditions, v1alpha1.ConditionSucceeded, "False", "Other", "")
		}, want: VerdictInProgress},
		"Repairing": {reason: "An API error is tried again.", change: func(f *fixture) {
			set(&f.view.revisions[2].Status.Conditions, v1alpha1.ConditionProgressing, "False", v1alpha1.ReasonRolloutError, "")
		}, want: VerdictInProgress},
		"Invalid": {reason: "Content that cannot be rolled out does not heal.", change: func(f *fixture) {
			set(&f.view.revisions[2].Status.Conditions, v1alpha1.ConditionProgressing, "False", v1alpha1.ReasonInvalidSpec, "")
		}, want: VerdictFailed},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := fixtureNamed(t, "done")
			tc.change(f)
			if s := buildStatus(f.view); s.Verdict != tc.want {
				t.Errorf("%s Got %s (%s), want %s", tc.reason, s.Verdict, s.Message, tc.want)
			}
		})
	}
}

func TestBuildStatus_SaysWhyARollbackWasRefused(t *testing.T) {
	f := fixtureNamed(t, "done")
	f.view.pkg.Spec.Rollback = &v1alpha1.Rollback{RequestedAt: ago(0)}
	f.view.pkg.Status.Rollback = &v1alpha1.RollbackStatus{RequestedAt: ago(0), Message: "revision 9 does not exist"}
	if got := buildStatus(f.view).RollbackRefused; got != "revision 9 does not exist" {
		t.Errorf("got %q", got)
	}
}

func TestOutcomes(t *testing.T) {
	f := fixtureNamed(t, "rolled_back")
	superseded := f.revision(5, "1.31.1", 0)
	archive(superseded, 0)
	paused := f.revision(6, "1.31.2", 0)
	paused.Spec.LifecycleState = v1alpha1.LifecyclePaused
	f.revision(7, "1.31.3", 0)
	var got []string
	for _, r := range buildHistory(f.view.pkg, f.view.revisions).Revisions {
		got = append(got, r.Outcome)
	}
	want := []string{"Succeeded", "Succeeded", "RolledBack", "Succeeded", "Superseded", "Paused", "Pending"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

func TestRepeatedBy(t *testing.T) {
	f := fixtureNamed(t, "rolled_back")
	back := &f.view.revisions[3]
	for reference, want := range map[string]int64{
		"Revision/istiod-openshift-gateway-2": 2,
		"Revision/istiod-openshift-gateway-x": 2, // by its content
		"":                                    2,
	} {
		back.Spec.Origin.Reference = reference
		if got := repeatedBy(back, f.view.revisions); got != want {
			t.Errorf("reference %q: got %d, want %d", reference, got, want)
		}
	}
	back.Spec.Origin.Reference, back.Spec.ContentDigest = "", ""
	if got := repeatedBy(back, f.view.revisions); got != 0 {
		t.Errorf("neither reference nor content: got %d, want 0", got)
	}
}

func TestPodTrouble(t *testing.T) {
	waiting := func(reason, message string) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: "app", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}
	}
	crashed := waiting("CrashLoopBackOff", "back-off 10s")
	crashed.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error"}
	ended := corev1.ContainerStatus{Name: "app", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"}}}
	cases := map[string]struct {
		reason string
		status corev1.PodStatus
		want   string
	}{
		"Runs":          {reason: "What runs is no trouble.", status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{Name: "app", Ready: true}}}},
		"Starts":        {reason: "Nor is what only starts.", status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{waiting("ContainerCreating", "")}}},
		"Image":         {reason: "The kubelet's reason and message are given.", status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{waiting("ErrImagePull", "not found")}}, want: "Pod p: ErrImagePull: not found"},
		"InitContainer": {reason: "An init container holds the rest.", status: corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{waiting("ErrImagePull", "init")}, ContainerStatuses: []corev1.ContainerStatus{waiting("PodInitializing", "")}}, want: "Pod p: ErrImagePull: init"},
		"Crashes":       {reason: "How it ended last says more than the back-off.", status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{crashed}}, want: "Pod p: CrashLoopBackOff: back-off 10s (it ended with exit code 1, Error)"},
		"Killed":        {reason: "What has ended badly does not run.", status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{ended}}, want: "Pod p: OOMKilled: exit code 137"},
		"NoNode": {reason: "A pod without a node has no containers.", status: corev1.PodStatus{Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/1 nodes"},
		}}, want: "Pod p: Unschedulable: 0/1 nodes"},
		"Evicted": {reason: "The whole pod has failed.", status: corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "disk"}, want: "Pod p: Evicted: disk"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			trouble, found := podTrouble(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Status: tc.status})
			got := ""
			if found {
				got = trouble.String()
			}
			if got != tc.want {
				t.Errorf("%s Got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

func TestTroubleOf_OnlyPodsOfTheWorkload(t *testing.T) {
	isController := true
	pod := func(name, owner string) corev1.Pod {
		return corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{{UID: types.UID(owner), Controller: &isController}}},
			Status:     corev1.PodStatus{Phase: corev1.PodFailed},
		}
	}
	going := pod("going", "ours")
	going.DeletionTimestamp = agoPointer(0)
	found := troubleOf([]corev1.Pod{pod("b", "ours"), pod("a", "ours"), pod("other", "theirs"), {}, going}, map[types.UID]bool{"ours": true})
	if len(found) != 2 || found[0].Name != "a" || found[1].Name != "b" {
		t.Errorf("got %v, want the pods a and b", found)
	}
}
