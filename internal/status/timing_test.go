// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/status"
	"github.com/strata-run/strata/internal/status/statustest"
	"github.com/strata-run/strata/revisions"
)

// settled is an observation of a pass that wrote nothing.
func settled(now int64, phases ...phase) status.Observation {
	o := observe(now, phases...)
	for _, p := range o.Result.Phases {
		for i := range p.Objects {
			if p.Objects[i].Action == revisions.ActionCreated {
				p.Objects[i].Action = revisions.ActionUnchanged
			}
		}
	}
	return o
}

func TestForTarget_Within(t *testing.T) {
	const within = 30 * time.Second
	// step is one pass, and by when the object has to be ready after it; 0 for no limit.
	type step struct {
		now     int64
		stand   stand
		wrote   bool
		paused  bool
		due     int64
		overdue bool
	}
	cases := map[string]struct {
		reason string
		steps  []step
	}{
		"FromFirstSeen": {"The time counts from when the object was seen not ready first.", []step{
			{now: 10, stand: failing, wrote: true, due: 40},
			{now: 20, stand: failing, due: 40},
			{now: 39, stand: undecided, due: 40},
			{now: 40, stand: failing, due: 40, overdue: true},
			{now: 50, stand: ready},
		}},
		"FromTheLastWrite": {"What was changed has the whole time again.", []step{
			{now: 10, stand: failing, wrote: true, due: 40},
			{now: 35, stand: failing, wrote: true, due: 65},
			{now: 64, stand: failing, due: 65},
			{now: 65, stand: failing, due: 65, overdue: true},
		}},
		"Lapse": {"What was ready has the whole time again.", []step{
			{now: 10, stand: failing, wrote: true, due: 40},
			{now: 30, stand: ready},
			{now: 60, stand: failing, due: 90},
		}},
		"Paused": {"No time counts while nothing is written.", []step{
			{now: 10, stand: failing, wrote: true, due: 40},
			{now: 20, stand: failing, paused: true},
			{now: 500, stand: failing, paused: true},
			{now: 510, stand: failing, due: 540},
		}},
		"NotInPlace": {"An object that cannot be applied is not in time either.", []step{
			{now: 10, stand: blocked, due: 40},
			{now: 40, stand: blocked, due: 40, overdue: true},
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := phase{name: "deploy", objects: []stand{failing}}
			revision := revisionOf(2, p)
			for _, s := range tc.steps {
				p.objects[0] = s.stand
				o := settled(s.now, p)
				if s.wrote {
					o = observe(s.now, p)
				}
				o.Loaded.Phases[0].Objects[0].Within = within
				o.Soak = time.Hour // so that it has not succeeded
				if s.paused {
					o.Pause = &v1alpha1.Pause{By: "me"}
				}
				revision.Status = status.ForTarget(revision, o)
				checkRevision(t, revision)
				due := int64(0)
				if list := revision.Status.Objects; len(list) > 0 && list[0].DueAt != nil {
					due = list[0].DueAt.Unix()
				}
				if due != s.due {
					t.Errorf("%s At %d it has to be ready by %d, want %d", tc.reason, s.now, due, s.due)
				}
				progress := statustest.Text(revision.Status.Conditions, v1alpha1.ConditionProgressing)
				if got := strings.HasPrefix(progress, "False/ProgressDeadlineExceeded: Deployment istio-system/deploy-0 was not ready in time "); got != s.overdue {
					t.Errorf("%s At %d: Progressing is %s, overdue must be %v", tc.reason, s.now, progress, s.overdue)
				}
				if got := status.IsOverdue(revision.Status, 0, at(s.now).Time); got != s.overdue {
					t.Errorf("%s At %d: IsOverdue() = %v", tc.reason, s.now, got)
				}
				if left := status.DueLeft(revision.Status, at(s.now).Time); s.due > s.now && left != time.Duration(s.due-s.now)*time.Second || s.due <= s.now && left != 0 {
					t.Errorf("%s At %d: DueLeft() = %s", tc.reason, s.now, left)
				}
			}
		})
	}
}

// The limit is for rollouts: afterwards Available tells what is wrong.
func TestForTarget_WithinAfterSuccess(t *testing.T) {
	p := phase{name: "deploy", objects: []stand{ready}}
	revision := revisionOf(2, p)
	revision.Status = status.ForTarget(revision, observe(10, p))
	p.objects[0] = failing
	o := settled(20, p)
	o.Loaded.Phases[0].Objects[0].Within = time.Second
	revision.Status = status.ForTarget(revision, o)
	if list := revision.Status.Objects; len(list) != 1 || list[0].DueAt != nil {
		t.Errorf("objects: %v, want one without a limit", list)
	}
}

// Since when a probe holds is kept over a restart, and is no progress.
func TestForTarget_HeldSince(t *testing.T) {
	p := phase{name: "deploy", objects: []stand{undecided}}
	revision := revisionOf(2, p)
	pass := func(now int64, held time.Time) {
		o := settled(now, p)
		id := objectID("deploy", 0)
		record := o.Result.Records[id]
		record.ReadySince = held
		o.Result.Records[id] = record
		revision.Status = status.ForTarget(revision, o)
	}
	pass(10, time.Time{})
	moved := revision.Status.LastProgressTime
	pass(20, at(20).Time)
	if got := content.Records(revision.Status)[objectID("deploy", 0)].ReadySince; !got.Equal(at(20).Time) {
		t.Errorf("after a restart the probe holds since %v, want second 20", got)
	}
	pass(30, time.Time{})
	if got := content.Records(revision.Status)[objectID("deploy", 0)].ReadySince; !got.IsZero() {
		t.Errorf("the probe does not hold, and the status says since %v", got)
	}
	if !revision.Status.LastProgressTime.Equal(moved) {
		t.Error("a probe that comes and goes counts as progress, so that no deadline ever ends")
	}
}

func TestForTarget_Flaps(t *testing.T) {
	ref := func(name string) v1alpha1.ObjectReference {
		return v1alpha1.ObjectReference{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "istio-system", Name: name}
	}
	const day = 24 * 60 * 60
	// step is one pass, and the flaps of its one object after it.
	type step struct {
		now   int64
		stand stand
		wrote bool
		count int64
		last  int64
	}
	cases := map[string]struct {
		reason string
		steps  []step
	}{
		"ComesUp":  {"What comes up has not flapped.", []step{{1, failing, true, 0, 0}, {2, failing, false, 0, 0}, {3, ready, false, 0, 0}, {4, ready, false, 0, 0}}},
		"Flaps":    {"Every loss counts, and the return is a change.", []step{{1, ready, true, 0, 0}, {2, failing, false, 1, 2}, {3, failing, false, 1, 2}, {4, ready, false, 1, 4}, {5, ready, false, 1, 4}, {6, undecided, false, 2, 6}}},
		"Written":  {"What the revision changes may be not ready.", []step{{1, ready, true, 0, 0}, {2, failing, true, 0, 0}, {3, failing, false, 0, 0}, {4, ready, false, 0, 0}}},
		"Gone":     {"What is not in place is not a matter of probes.", []step{{1, ready, true, 0, 0}, {2, blocked, false, 0, 0}, {3, refused, false, 0, 0}}},
		"CalmsBy":  {"What has been ready for a day is forgotten.", []step{{1, ready, true, 0, 0}, {2, failing, false, 1, 2}, {3, ready, false, 1, 3}, {day, ready, false, 1, 3}, {day + 3, ready, false, 0, 0}}},
		"NotReady": {"What has not been ready for a day is not.", []step{{1, ready, true, 0, 0}, {2, failing, false, 1, 2}, {2 * day, failing, false, 1, 2}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := phase{name: "deploy", objects: []stand{ready}}
			revision := revisionOf(2, p)
			for _, s := range tc.steps {
				p.objects[0] = s.stand
				o := settled(s.now, p)
				if s.wrote {
					o = observe(s.now, p)
				}
				revision.Status = status.ForTarget(revision, o)
				var want []v1alpha1.Flap
				if s.count > 0 {
					want = []v1alpha1.Flap{{ObjectReference: ref("deploy-0"), Count: s.count, LastChange: at(s.last)}}
				}
				if diff := cmp.Diff(want, revision.Status.Flaps); diff != "" && len(want)+len(revision.Status.Flaps) > 0 {
					t.Errorf("%s At %d (-want +got):\n%s", tc.reason, s.now, diff)
				}
			}
		})
	}
}

func TestForTarget_FlapsAreBounded(t *testing.T) {
	p := phase{name: "deploy"}
	for range 40 {
		p.objects = append(p.objects, ready)
	}
	revision := revisionOf(2, p)
	revision.Status = status.ForTarget(revision, observe(1, p))
	for i := range p.objects {
		p.objects[i] = failing
		revision.Status = status.ForTarget(revision, settled(int64(10+2*i), p))
		p.objects[i] = ready
		revision.Status = status.ForTarget(revision, settled(int64(11+2*i), p))
	}
	list := revision.Status.Flaps
	if len(list) != 16 || list[0].Name != "deploy-39" || list[15].Name != "deploy-24" {
		t.Errorf("got %d entries from %s to %s, want the 16 that changed last, the newest first", len(list), list[0].Name, list[len(list)-1].Name)
	}
	// Where more objects are not ready than have a place, it is unknown which of them
	// was: none is counted.
	for i := range p.objects {
		p.objects[i] = failing
	}
	revision.Status.Flaps = nil
	revision.Status = status.ForTarget(revision, settled(200, p))
	first := len(revision.Status.Flaps)
	revision.Status = status.ForTarget(revision, settled(201, p))
	for _, flap := range revision.Status.Flaps {
		if flap.Count != 1 || flap.LastChange != (metav1.Time{Time: at(200).Time}) {
			t.Errorf("%s is counted again without having been ready", flap.Name)
		}
	}
	if first != 16 {
		t.Errorf("%d objects have ceased to be ready, want 16", first)
	}
}
