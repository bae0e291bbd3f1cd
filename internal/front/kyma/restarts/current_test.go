// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
)

// Pods are deleted one after the other, those first that serve no client.
func TestCurrent_Replace(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	pod := func(name string, after time.Duration, serving bool) *Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(at.Add(after))}}
		if serving {
			p.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
		}
		return PodOf(p)
	}
	kept := pod("a", -time.Hour, true)
	kept.Annotations = map[string]string{v1alpha2.AnnotationExcludeFromRestart: "true"}
	tests := map[string]struct {
		reason string
		since  time.Time
		want   int64
		pods   []*Pod
		next   string
		done   bool
		moved  time.Duration
	}{
		"NoRecord":  {reason: "nothing was restarted", want: 1, pods: []*Pod{pod("a", -time.Hour, true)}, done: true},
		"Begins":    {reason: "the first by name", since: at, want: 2, pods: []*Pod{pod("b", -time.Hour, true), pod("a", -time.Hour, true)}, next: "a"},
		"SameTime":  {reason: "it may be from before", since: at, want: 1, pods: []*Pod{pod("a", 0, true)}, next: "a"},
		"Missing":   {reason: "the one in its place is not there yet", since: at, want: 2, pods: []*Pod{pod("b", -time.Hour, true)}},
		"ComesUp":   {reason: "it does not serve yet", since: at, want: 2, pods: []*Pod{pod("b", -time.Hour, true), pod("c", time.Minute, false)}, moved: time.Minute},
		"GoesOn":    {reason: "it serves", since: at, want: 2, pods: []*Pod{pod("b", -time.Hour, true), pod("c", time.Minute, true)}, next: "b", moved: time.Minute},
		"Broken":    {reason: "no client misses it", since: at, want: 3, pods: []*Pod{pod("a", -time.Hour, true), pod("b", -time.Hour, false), pod("c", time.Minute, true)}, next: "b", moved: time.Minute},
		"LastComes": {reason: "it does not serve yet", since: at, want: 1, pods: []*Pod{pod("c", time.Minute, false)}, moved: time.Minute},
		"Done":      {reason: "all are new", since: at, want: 2, pods: []*Pod{pod("c", time.Minute, true), pod("d", time.Second, true)}, done: true, moved: time.Minute},
		"Excluded":  {reason: "it is to be left", since: at, want: 1, pods: []*Pod{kept}, done: true},
		"Empty":     {reason: "there are to be none", since: at, done: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			live := Current{Record: v1alpha2.RestartRecord{At: tc.since}}
			live.Replace(&unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"replicas": tc.want}}}, tc.pods)
			next, moved := "", time.Time{}
			if live.Next != nil {
				next = live.Next.Name
			}
			if tc.moved != 0 {
				moved = at.Add(tc.moved)
			}
			if next != tc.next || live.Rollout.Done != tc.done || live.Rollout.Empty != (tc.want == 0) || !live.Progressed.Equal(moved) {
				t.Errorf("%s: next is %q, and it got on at %s: %+v", tc.reason, next, live.Progressed, live.Rollout)
			}
		})
	}
}
