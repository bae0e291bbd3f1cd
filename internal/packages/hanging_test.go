// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/history"
	"github.com/strata-run/strata/internal/pods"
	"github.com/strata-run/strata/revisions"
	"github.com/strata-run/strata/revisions/probes"
)

// hangingPods answers lists with one pod that does not run, and counts them.
type hangingPods struct {
	client.Reader

	reason string
	none   bool
	err    error
	lists  int
}

func (h *hangingPods) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	h.lists++
	if h.none || h.err != nil {
		return h.err
	}
	target := list.(*unstructured.UnstructuredList)
	target.Items = append(target.Items, unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "db-0", "ownerReferences": []any{map[string]any{"kind": "StatefulSet", "name": "db", "uid": "uid", "controller": true}}},
		"status": map[string]any{"phase": "Pending", "containerStatuses": []any{
			map[string]any{"name": "main", "state": map[string]any{"waiting": map[string]any{"reason": h.reason, "message": "no such image"}}},
		}},
	}})
	return nil
}

// hangingPass is a pass that has found a StatefulSet so.
func hangingPass(now time.Time, action revisions.Action, answer probes.Result) *pass {
	id := revisions.ObjectID{GroupKind: schema.GroupKind{Group: "apps", Kind: "StatefulSet"}, Namespace: "ns", Name: "db"}
	object := revisions.ObjectResult{ID: id, Version: "v1", Action: action, Record: &revisions.Record{UID: "uid"}, Probe: answer}
	return &pass{
		now:     metav1.NewTime(now),
		history: history.History{Target: &v1alpha1.Revision{}},
		rolled:  rollout{result: revisions.Result{Target: revisions.RevisionResult{Phases: []revisions.PhaseResult{{Name: "one", Size: 1, Reached: true, Objects: []revisions.ObjectResult{object}}}}}},
	}
}

func (p *pass) onlyProbe() probes.Result { return p.rolled.result.Target.Phases[0].Objects[0].Probe }

func TestExplain(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	waits := probes.Result{Status: probes.False, Message: "0 of 1 replicas available"}
	const text = "0 of 1 replicas available; Pod db-0: ErrImagePull: no such image"
	reader := &hangingPods{reason: "ErrImagePull"}
	w, state := &Worker{Pods: reader}, packageState{}
	steps := []struct {
		reason string
		after  time.Duration
		action revisions.Action
		answer probes.Result
		pod    string
		want   string
		lists  int
		look   time.Duration
	}{
		{reason: "What has just been written may come up.", after: 0, action: revisions.ActionCreated, answer: waits, want: waits.Message, look: 5 * time.Second},
		{reason: "It has a moment for that.", after: 4 * time.Second, answer: waits, want: waits.Message, look: time.Second},
		{reason: "Then its pods are looked at.", after: 5 * time.Second, answer: waits, want: text, lists: 1, look: 10 * time.Second},
		{reason: "What they say is kept, without a request.", after: 14 * time.Second, answer: waits, want: text, lists: 1, look: time.Second},
		{reason: "They are looked at again.", after: 15 * time.Second, answer: waits, pod: "ImagePullBackOff", want: strings.ReplaceAll(text, "ErrImagePull", "ImagePullBackOff"), lists: 2, look: 20 * time.Second},
		{reason: "Ever more seldom.", after: 35 * time.Second, answer: waits, want: strings.ReplaceAll(text, "ErrImagePull", "ImagePullBackOff"), lists: 3, look: 40 * time.Second},
		{reason: "What is ready needs no reason.", after: 36 * time.Second, answer: probes.Result{Status: probes.True}, lists: 3},
		{reason: "And starts from the beginning.", after: 40 * time.Second, answer: waits, want: waits.Message, lists: 3, look: 5 * time.Second},
	}
	for _, s := range steps {
		if s.pod != "" {
			reader.reason = s.pod
		}
		p := hangingPass(start.Add(s.after), s.action, s.answer)
		p.Worker, p.state = w, state
		p.explain(t.Context())
		state = p.state
		if got := p.onlyProbe(); got.Message != s.want || got.Status != s.answer.Status {
			t.Errorf("%s After %s the probe is %v, want %q", s.reason, s.after, got, s.want)
		}
		if reader.lists != s.lists {
			t.Errorf("%s After %s there were %d requests, want %d", s.reason, s.after, reader.lists, s.lists)
		}
		if got := p.untilPods(); got != s.look {
			t.Errorf("%s After %s the next look is in %s, want %s", s.reason, s.after, got, s.look)
		}
	}
}

// After a restart the status says since when a workload hangs, so that its reason is
// not lost for a while.
func TestExplain_AfterARestart(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	p := hangingPass(now, "", probes.Result{Status: probes.Unknown})
	p.history.Target.Status.Objects = []v1alpha1.ObjectStatus{{
		ObjectReference: v1alpha1.ObjectReference{Group: "apps", Version: "v1", Kind: "StatefulSet", Namespace: "ns", Name: "db"}, Since: metav1.NewTime(now.Add(-time.Hour)),
	}}
	p.Worker = &Worker{Pods: &hangingPods{reason: "Evicted"}}
	p.explain(t.Context())
	if got := p.onlyProbe().Message; got != "Pod db-0: Evicted: no such image" {
		t.Errorf("the probe says %q", got)
	}
}

func TestReadPods(t *testing.T) {
	object := &hangingPass(time.Time{}, "", probes.Result{}).rolled.result.Target.Phases[0].Objects[0]
	if got := readPods(t.Context(), &hangingPods{none: true}, revisions.Revision{}, object); got != "no pod of it exists: its events say why" {
		t.Errorf("a workload without pods is %q", got)
	}
	if got := readPods(t.Context(), &hangingPods{err: errors.New("forbidden")}, revisions.Revision{}, object); got != "" {
		t.Errorf("pods that cannot be read are %q", got)
	}
}

func TestHangs(t *testing.T) {
	object := hangingPass(time.Time{}, "", probes.Result{Status: probes.False}).rolled.result.Target.Phases[0].Objects[0]
	cases := map[string]struct {
		reason string
		change func(o *revisions.ObjectResult)
		want   bool
	}{
		"Workload": {"What has pods may hang.", func(*revisions.ObjectResult) {}, true},
		"Settling": {"What only has to hold for longer does not.", func(o *revisions.ObjectResult) { o.Record = &revisions.Record{ReadySince: time.Now()} }, false},
		"Absent":   {"What is not in place has no pods.", func(o *revisions.ObjectResult) { o.Record = nil }, false},
		"Service":  {"A Service has none.", func(o *revisions.ObjectResult) { o.ID.GroupKind = schema.GroupKind{Kind: "Service"} }, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := object
			tc.change(&o)
			if got := hangs(&o); got != tc.want {
				t.Errorf("%s Got %v", tc.reason, got)
			}
		})
	}
}

func TestWithPods_Bounds(t *testing.T) {
	text := pods.Text([]pods.Trouble{{Name: "p", Reason: "r", Message: strings.Repeat("y", 2000)}}, podsTextLimit)
	got := withPods(probes.Result{Status: probes.False, Message: strings.Repeat("é", 512)}, text)
	if len(got.Message) > probes.MaxMessage || !strings.Contains(got.Message, "; Pod p: r: y") {
		t.Errorf("the message has %d bytes: %s", len(got.Message), got.Message)
	}
}
