// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"testing"
	"time"

	"github.com/strata-run/strata/revisions/probes"
)

func TestRequireMinReady(t *testing.T) {
	const hold = time.Minute
	start := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	id := ObjectID{Name: "a"}
	holds, fails := probes.Result{Status: probes.True}, probes.Result{Status: probes.False, Message: "no"}
	// step is one pass: what it finds, and what has to come of it.
	type step struct {
		after   time.Duration
		probe   probes.Result
		uid     string
		wrote   bool
		gone    bool
		ready   bool
		since   time.Duration // after the start; negative for none
		retryIn time.Duration
	}
	cases := map[string]struct {
		reason string
		steps  []step
	}{
		"Holds": {"The object is ready when its probe has held for long enough.", []step{
			{after: 0, probe: holds, since: 0, retryIn: hold},
			{after: 30 * time.Second, probe: holds, since: 0, retryIn: 30 * time.Second},
			{after: hold, probe: holds, since: 0, ready: true},
			{after: 2 * hold, probe: holds, since: 0, ready: true},
		}},
		"Interrupted": {"A probe that stops to hold starts anew.", []step{
			{after: 0, probe: holds, since: 0, retryIn: hold},
			{after: 30 * time.Second, probe: fails, since: -1},
			{after: 40 * time.Second, probe: holds, since: 40 * time.Second, retryIn: hold},
			{after: hold, probe: holds, since: 40 * time.Second, retryIn: 40 * time.Second},
			{after: hold + 40*time.Second, probe: holds, since: 40 * time.Second, ready: true},
		}},
		"LaterToo": {"So does one that stops to hold later.", []step{
			{after: 0, probe: holds, since: 0, retryIn: hold},
			{after: hold, probe: holds, since: 0, ready: true},
			{after: 2 * hold, probe: fails, since: -1},
			{after: 3 * hold, probe: holds, since: 3 * hold, retryIn: hold},
		}},
		"Written": {"What was changed has to prove itself again.", []step{
			{after: 0, probe: holds, since: 0, retryIn: hold},
			{after: 50 * time.Second, probe: holds, wrote: true, since: 50 * time.Second, retryIn: hold},
		}},
		"Recreated": {"Another object of the name is another object.", []step{
			{after: 0, probe: holds, since: 0, retryIn: hold},
			{after: 50 * time.Second, probe: holds, uid: "other", since: 50 * time.Second, retryIn: hold},
		}},
		"NotInPlace": {"What could not be looked at does not hold.", []step{
			{after: 0, probe: holds, since: 0, retryIn: hold},
			{after: 20 * time.Second, gone: true, since: -1},
			{after: 50 * time.Second, probe: holds, since: 50 * time.Second, retryIn: hold},
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := RevisionResult{Records: map[ObjectID]Record{}}
			phase := Phase{Objects: []Object{{MinReady: hold}}}
			for i, s := range tc.steps {
				now := start.Add(s.after)
				object := ObjectResult{ID: id, Probe: s.probe, Action: ActionUnchanged}
				if !s.gone {
					object.Record = &Record{UID: "uid"}
				}
				if s.uid != "" {
					object.Record.UID = "other"
				}
				if s.wrote {
					object.Action = ActionUpdated
				}
				objects := []ObjectResult{object}
				r.requireMinReady(phase, objects, now)
				r.record(objects, false)
				got := objects[0]
				if got.Ready() != s.ready {
					t.Errorf("%s Pass %d: ready is %v: %s", tc.reason, i, got.Ready(), got.Probe.Message)
				}
				if since := r.Records[id].ReadySince; since.IsZero() != (s.since < 0) || s.since >= 0 && !since.Equal(start.Add(s.since)) {
					t.Errorf("%s Pass %d: it holds since %v, want %s after the start", tc.reason, i, since, s.since)
				}
				if wait := got.Retry.Sub(now); s.retryIn > 0 && wait != s.retryIn || s.retryIn == 0 && !got.Retry.IsZero() {
					t.Errorf("%s Pass %d: the next look is in %s, want %s", tc.reason, i, wait, s.retryIn)
				}
			}
		})
	}
}

func TestSettle_WithoutClock(t *testing.T) {
	r := RevisionResult{Records: map[ObjectID]Record{}}
	objects := []ObjectResult{{Record: &Record{UID: "uid"}, Probe: probes.Result{Status: probes.True}}}
	r.requireMinReady(Phase{Objects: []Object{{MinReady: time.Second}}}, objects, time.Time{})
	if objects[0].Ready() {
		t.Error("without a clock it is not known how long a probe has held")
	}
}

func TestSettle_AtOnce(t *testing.T) {
	r := RevisionResult{Records: map[ObjectID]Record{}}
	objects := []ObjectResult{{Record: &Record{UID: "uid"}, Probe: probes.Result{Status: probes.True}}}
	r.requireMinReady(Phase{Objects: []Object{{}}}, objects, time.Now())
	if !objects[0].Ready() || !objects[0].Record.ReadySince.IsZero() {
		t.Errorf("got %v with %v, want it ready without a time", objects[0], objects[0].Record)
	}
}
