// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/internal/pods"
)

var cart = Workload{KindDeployment, "shop", "cart"}

func TestDecide(t *testing.T) {
	const deadline = 10 * time.Minute
	now := made.Add(hour)
	outdated := map[Cause]string{CauseProxyImage: "a"}
	recorded := func(ago time.Duration) v1alpha2.RestartRecord {
		return v1alpha2.RestartRecord{At: now.Add(-ago), Causes: map[Cause]string{CauseProxyImage: "a", CauseCNI: "x"}}
	}
	done, rolling := pods.Rollout{Done: true}, pods.Rollout{Progress: "1 of 2"}
	tests := map[string]struct {
		reason string
		entry  Outdated
		live   Current
		ours   bool
		want   Action
	}{
		"Restart":        {reason: "a new cause restarts a workload", entry: Outdated{Causes: outdated}, live: Current{Found: true, Rollout: done}, want: Restart},
		"Gone":           {reason: "there is nothing to restart", entry: Outdated{Causes: outdated}, live: Current{}, want: Finish},
		"Excluded":       {reason: "the workload is excluded", entry: Outdated{Causes: outdated}, live: Current{Found: true, Excluded: true, Rollout: done}, want: Skip},
		"PodsExcluded":   {reason: "its pods are", entry: Outdated{Causes: outdated, Excluded: true}, live: Current{Found: true, Rollout: done}, want: Skip},
		"ExcludedFailed": {reason: "excluding a workload that does not come up lets the others go on", entry: Outdated{Causes: outdated}, live: Current{Found: true, Excluded: true, Record: recorded(hour)}, ours: true, want: Skip},
		"OwnRollout":     {reason: "a workload that is not whole is not restarted", entry: Outdated{Causes: outdated}, live: Current{Found: true, Rollout: rolling}, want: Postpone},
		"Stuck":          {reason: "the outdated sidecar is why it is not whole", entry: Outdated{Causes: outdated, Stuck: true}, live: Current{Found: true, Rollout: rolling}, want: Restart},
		"StuckRestarted": {reason: "and one restart has to do", entry: Outdated{Causes: outdated, Stuck: true, Newest: made}, live: Current{Found: true, Record: recorded(time.Minute), Rollout: pods.Rollout{Completed: true}}, want: NeedsUser},
		"OwnFailure":     {reason: "nor is it our failure", entry: Outdated{Causes: outdated}, live: Current{Found: true, Rollout: pods.Rollout{Failed: "x"}}, want: Postpone},
		"Paused":         {reason: "a restart would replace no pods", entry: Outdated{Causes: outdated}, live: Current{Found: true, Rollout: pods.Rollout{Done: true, Blocked: "paused"}}, want: NeedsUser},
		"Rolling":        {reason: "our restart is under way", entry: Outdated{Causes: outdated}, live: Current{Found: true, Record: recorded(time.Minute), Rollout: rolling}, ours: true, want: Watch},
		"RollingBefore":  {reason: "that of a process before this one, too", entry: Outdated{Causes: outdated}, live: Current{Found: true, Record: recorded(time.Minute), Rollout: rolling}, want: Watch},
		"RollingNews":    {reason: "another cause waits until the rollout is done", entry: Outdated{Causes: map[Cause]string{CauseProxyImage: "b"}}, live: Current{Found: true, Record: recorded(time.Minute), Rollout: rolling}, ours: true, want: Watch},
		"News":           {reason: "and then restarts it again", entry: Outdated{Causes: map[Cause]string{CauseProxyImage: "b"}}, live: Current{Found: true, Record: recorded(time.Minute), Rollout: done}, ours: true, want: Restart},
		"Failed":         {reason: "the workload tells that it failed", entry: Outdated{Causes: outdated}, live: Current{Found: true, Record: recorded(time.Minute), Rollout: pods.Rollout{Failed: "x"}}, ours: true, want: Fail},
		"TooLong":        {reason: "it takes too long", entry: Outdated{Causes: outdated}, live: Current{Found: true, Record: recorded(11 * time.Minute), Rollout: rolling}, ours: true, want: Fail},
		"Done":           {reason: "our restart is done", entry: Outdated{Causes: outdated, Newest: made}, live: Current{Found: true, Record: recorded(time.Minute), Rollout: done}, ours: true, want: Finish},
		"BeforeNews":     {reason: "a restart of a process before this one that does not come up stays a failure, whatever comes", entry: Outdated{Causes: map[Cause]string{CauseProxyImage: "b"}}, live: Current{Found: true, Record: recorded(hour), Rollout: rolling}, want: Fail},
		"Changed":        {reason: "its owner has changed it since, that is not our failure", entry: Outdated{Causes: outdated}, live: Current{Found: true, Template: "b", Record: recorded(hour), Rollout: rolling}, want: Postpone},
		"Completed":      {reason: "it had come up, and broke later", entry: Outdated{Causes: outdated}, live: Current{Found: true, Record: recorded(hour), Rollout: pods.Rollout{Completed: true}}, want: Postpone},
		"CompletedLong":  {reason: "what it says of the pods before counts for nothing", entry: Outdated{Causes: outdated}, live: Current{Found: true, Record: recorded(hour), Rollout: pods.Rollout{Completed: true, CompletedAt: recorded(hour).At.Add(-time.Second)}}, want: Fail},
		"Stopped":        {reason: "a user has paused it meanwhile: that is no failure", entry: Outdated{Causes: outdated}, live: Current{Found: true, Record: recorded(hour), Rollout: pods.Rollout{Blocked: "paused"}}, ours: true, want: NeedsUser},
		"Empty":          {reason: "it was scaled to nothing meanwhile", entry: Outdated{Causes: outdated}, live: Current{Found: true, Rollout: pods.Rollout{Done: true, Empty: true}}, want: Finish},
		"ByHand":         {reason: "its template holds the sidecar, which is its owner's business", entry: Outdated{Causes: map[Cause]string{CauseLeave: "n"}}, live: Current{Found: true, Injected: true, Rollout: done}, want: Finish},
		"ByHandGone":     {reason: "when the mesh is gone, the owner has to know", entry: Outdated{Gone: true, Causes: map[Cause]string{CauseLeave: "m"}}, live: Current{Found: true, Injected: true, Rollout: done}, want: NeedsUser},
		"ByHandImage":    {reason: "other causes count all the same", entry: Outdated{Causes: map[Cause]string{CauseLeave: "n", CauseProxyImage: "a"}}, live: Current{Found: true, Injected: true, Rollout: done}, want: Restart},
		"Starved":        {reason: "without the mesh nothing serves: a restart is what helps", entry: Outdated{Gone: true, Causes: map[Cause]string{CauseLeave: "m"}}, live: Current{Found: true, Rollout: pods.Rollout{Updated: true}}, want: Restart},
		"StarvedRolling": {reason: "but not while pods are being replaced", entry: Outdated{Gone: true, Causes: map[Cause]string{CauseLeave: "m"}}, live: Current{Found: true, Rollout: rolling}, want: Postpone},
		"NoHelp":         {reason: "the same cause never restarts it twice", entry: Outdated{Causes: outdated, Newest: now}, live: Current{Found: true, Record: recorded(time.Minute), Rollout: done}, want: NeedsUser},
		"OldPods":        {reason: "pods from before are still there", entry: Outdated{Causes: outdated, Newest: made}, live: Current{Found: true, Record: recorded(time.Minute), Rollout: done}, want: NeedsUser},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := Decide(tc.entry, tc.live, tc.ours, now, deadline)
			if got.Action != tc.want || got.Reason == "" {
				t.Errorf("%s: got %d (%s), want %d", tc.reason, got.Action, got.Reason, tc.want)
			}
		})
	}
}

func TestResolve(t *testing.T) {
	owner := func(version, kind string) *metav1.OwnerReference {
		return &metav1.OwnerReference{APIVersion: version, Kind: kind, Name: "cart"}
	}
	yes := true
	tests := map[string]struct {
		reason string
		owner  *metav1.OwnerReference
		above  []metav1.OwnerReference
		want   Workload
		byHand bool
	}{
		"Deployment":      {reason: "through its ReplicaSet", owner: owner("apps/v1", "ReplicaSet"), above: []metav1.OwnerReference{*owner("apps/v1", "Deployment")}, want: cart},
		"Controller":      {reason: "the controller counts, and not the first owner", owner: owner("apps/v1", "ReplicaSet"), above: []metav1.OwnerReference{{Kind: "X", Name: "x"}, {APIVersion: "apps/v1", Kind: "Deployment", Name: "cart", Controller: &yes}}, want: cart},
		"StatefulSet":     {reason: "an owner that can be restarted", owner: owner("apps/v1", "StatefulSet"), want: Workload{"StatefulSet", "shop", "cart"}},
		"DaemonSet":       {reason: "an owner that can be restarted", owner: owner("apps/v1", "DaemonSet"), want: Workload{"DaemonSet", "shop", "cart"}},
		"Bare":            {reason: "no controller makes it anew", want: Workload{"Pod", "shop", "cart-0"}, byHand: true},
		"BareSet":         {reason: "a ReplicaSet by itself makes pods anew", owner: owner("apps/v1", "ReplicaSet"), want: Workload{"ReplicaSet", "shop", "cart"}},
		"Controllers":     {reason: "so does its predecessor", owner: owner("v1", "ReplicationController"), want: Workload{"ReplicationController", "shop", "cart"}},
		"Job":             {reason: "a Job would run again", owner: owner("batch/v1", "Job"), want: Workload{"Job", "shop", "cart"}, byHand: true},
		"Rollout":         {reason: "other controllers have tools of their own", owner: owner("apps/v1", "ReplicaSet"), above: []metav1.OwnerReference{*owner("argoproj.io/v1alpha1", "Rollout")}, want: Workload{"Rollout", "shop", "cart"}, byHand: true},
		"OtherDeployment": {reason: "the group counts", owner: owner("example.org/v1", "Deployment"), want: cart, byHand: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, hand := Resolve(&Pod{Pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cart-0"}}, Owner: tc.owner}, tc.above)
			if got != tc.want || (hand != nil) != tc.byHand {
				t.Errorf("%s: got %s (%+v), want %s", tc.reason, got, hand, tc.want)
			}
			if hand != nil && (hand.Workload != got || hand.APIVersion == "" || hand.Reason == "") {
				t.Errorf("%s: what a person has to look at is %+v", tc.reason, hand)
			}
		})
	}
}

// A restart of ours is no other template, and anything else is.
func TestTemplateOf(t *testing.T) {
	workload := func(template string) *unstructured.Unstructured {
		o := map[string]any{}
		if err := json.Unmarshal([]byte(`{"spec": {"template": `+template+`}}`), &o); err != nil {
			t.Fatal(err)
		}
		return &unstructured.Unstructured{Object: o}
	}
	before := TemplateOf(workload(`{"spec": {"a": 1}}`))
	ours := TemplateOf(workload(`{"metadata": {"annotations": {"istio-operator.kyma-project.io/restartedAt": "x"}}, "spec": {"a": 1}}`))
	if before == "" || before != ours {
		t.Errorf("before the restart it is %q, after it %q", before, ours)
	}
	for _, other := range []string{`{"spec": {"a": 2}}`, `{"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": "x"}}, "spec": {"a": 1}}`, `{"metadata": {"labels": {"a": "b"}}, "spec": {"a": 1}}`} {
		if TemplateOf(workload(other)) == before {
			t.Errorf("%s is taken for the same", other)
		}
	}
}

func TestRecord(t *testing.T) {
	r := v1alpha2.RestartRecord{}.With(map[Cause]string{CauseProxyImage: "a@1", CauseCNI: "b"}, "t1", made).With(map[Cause]string{CauseProxyImage: "c@2"}, "t2", made.Add(hour))
	if got, want := r.String(), "2026-01-02T04:04:05Z CNI=b,ProxyImage=c@2,template=t2"; got != want {
		t.Errorf("a record is written as %q, want %q", got, want)
	}
	if diff := cmp.Diff(r, v1alpha2.ParseRestartRecord(r.String())); diff != "" {
		t.Errorf("a record is not read as it was written:\n%s", diff)
	}
	for _, broken := range []string{"", "x", "2026 CNI=b", ",=,="} {
		if fresh := v1alpha2.ParseRestartRecord(broken).Fresh(map[Cause]string{CauseCNI: "b"}); len(fresh) != 1 {
			t.Errorf("the broken record %q keeps a workload from being restarted", broken)
		}
	}
	if fresh := r.Fresh(map[Cause]string{CauseCNI: "b", CauseProxyImage: "a@1"}); len(fresh) != 1 || fresh[0] != CauseProxyImage {
		t.Errorf("what has changed back is %v, want the image alone", fresh)
	}
}

func TestWindow(t *testing.T) {
	// A Friday.
	at := func(day, clock int) time.Time { return time.Date(2026, 1, day, clock, 30, 0, 0, time.UTC) }
	tests := map[string]struct {
		reason, text string
		now          time.Time
		want         time.Duration
		wrong        bool
	}{
		"None":        {reason: "no window is always open", now: at(2, 12)},
		"Inside":      {reason: "it is open", text: "12:00-13:00", now: at(2, 12)},
		"Before":      {reason: "it opens today", text: "14:00-15:00", now: at(2, 12), want: 90 * time.Minute},
		"After":       {reason: "it opens tomorrow", text: "10:00-11:00", now: at(2, 12), want: 21*time.Hour + 30*time.Minute},
		"OverNight":   {reason: "it opened yesterday", text: "22:00-04:00", now: at(2, 3)},
		"Weekend":     {reason: "it opens on Saturday", text: "Sat,Sun 22:00-04:00", now: at(2, 12), want: 33*time.Hour + 30*time.Minute},
		"SundayNight": {reason: "the night of Sunday ends on Monday", text: "Sat,Sun 22:00-04:00", now: at(5, 3)},
		"Week":        {reason: "days may be a range", text: "Mon-Thu 00:00-01:00", now: at(2, 12), want: 2*24*time.Hour + 11*time.Hour + 30*time.Minute},
		"RangeAround": {reason: "a range may pass the end of the week", text: "Sat-Mon 12:00-13:00", now: at(4, 12)},
		"NoDay":       {reason: "there is no such day", text: "Foo 12:00-13:00", wrong: true},
		"NoTime":      {reason: "there is no such time", text: "25:00-26:00", wrong: true},
		"NoWindow":    {reason: "that is not a window", text: "at night", wrong: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w, err := ParseWindow(tc.text)
			if (err != nil) != tc.wrong {
				t.Fatalf("%s: the error is %v", tc.reason, err)
			}
			if got := w.Opens(tc.now); err == nil && got != tc.want {
				t.Errorf("%s: opens in %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}
