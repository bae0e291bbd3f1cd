// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestDriftBackoff_Spacing has a manager change an object without a pause for a day, and
// counts the repairs.
func TestDriftBackoff_Spacing(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var backoff *DriftBackoff
	var waits []time.Duration
	repairs := 0
	for now := start; now.Before(start.Add(24 * time.Hour)); repairs++ {
		backoff = backoff.next(drift{cause: DriftChanged, manager: "gitops", fields: []string{".a"}}, now, 0)
		waits = append(waits, backoff.Next.Sub(now))
		now = now.Add(max(backoff.Next.Sub(now), time.Millisecond))
	}
	second := time.Second
	want := []time.Duration{0, 0, second, 2 * second, 4 * second, 8 * second, 16 * second, 32 * second, 64 * second, 128 * second, 256 * second, 5 * time.Minute, 5 * time.Minute}
	if diff := cmp.Diff(want, waits[:len(want)]); diff != "" {
		t.Errorf("the waits after the first repairs (-want +got):\n%s", diff)
	}
	if repairs > 300 {
		t.Errorf("%d repairs in a day, want no more than one in 5 minutes at last", repairs)
	}
	if backoff.Count != int64(repairs) || !backoff.First.Equal(start) {
		t.Errorf("%+v is on record of %d repairs since %v", backoff, repairs, start)
	}
}

func TestDriftBackoff_After(t *testing.T) {
	now := time.Date(2026, 1, 1, 1, 0, 0, 0, time.UTC)
	before := now.Add(-time.Minute)
	many := make([]string, 20)
	known := func(cause DriftCause, count int64) *DriftBackoff {
		return &DriftBackoff{Cause: cause, Manager: "a", Fields: []string{".x"}, Count: count, First: before, Last: before, Next: before}
	}
	cases := map[string]struct {
		reason string
		before *DriftBackoff
		drift  drift
		others int
		want   *DriftBackoff
	}{
		"First":     {"another client left no trace", nil, driftBy(nil), 0, &DriftBackoff{Cause: DriftChanged, Count: 1, First: now, Last: now, Next: now}},
		"Again":     {"it goes on", known(DriftChanged, 3), driftBy([]ConflictingManager{{Manager: "b", Fields: []string{".y"}}}), 0, &DriftBackoff{Cause: DriftChanged, Manager: "b", Fields: []string{".y"}, Count: 4, First: before, Last: now, Next: now.Add(2 * time.Second)}},
		"NoName":    {"who removes a field leaves no trace, and is most likely the one of before", known(DriftChanged, 1), driftBy(nil), 0, &DriftBackoff{Cause: DriftChanged, Manager: "a", Fields: []string{".x"}, Count: 2, First: before, Last: now, Next: now}},
		"Deleted":   {"a deletion counts with changes, and has no manager", known(DriftChanged, 1), drift{cause: DriftDeleted}, 0, &DriftBackoff{Cause: DriftDeleted, Count: 2, First: before, Last: now, Next: now}},
		"LongAgo":   {"that was long ago", &DriftBackoff{Manager: "a", Count: 9, Next: before.Add(-time.Hour)}, driftBy(nil), 0, &DriftBackoff{Cause: DriftChanged, Count: 1, First: now, Last: now, Next: now}},
		"Many":      {"a list of fields is bounded", nil, driftBy([]ConflictingManager{{Manager: "a", Fields: many}}), 0, &DriftBackoff{Cause: DriftChanged, Manager: "a", Fields: many[:8], Count: 1, First: now, Last: now, Next: now}},
		"Crowd":     {"a package has a share of writes for all of its objects", known(DriftDeleted, 2), drift{cause: DriftDeleted}, 199, &DriftBackoff{Cause: DriftDeleted, Manager: "a", Fields: []string{".x"}, Count: 3, First: before, Last: now, Next: now.Add(199 * 4 * time.Second)}},
		"CrowdOnce": {"two repairs are made at once, of however many objects", nil, drift{cause: DriftDeleted}, 199, &DriftBackoff{Cause: DriftDeleted, Count: 1, First: now, Last: now, Next: now}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.before.next(tc.drift, now, tc.others)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestDriftBackoff_Slowed has the cases of a clock that is not where it was.
func TestDriftBackoff_Slowed(t *testing.T) {
	now := time.Date(2026, 1, 1, 1, 0, 0, 0, time.UTC)
	at := func(count int64, last, next time.Duration) *DriftBackoff {
		return &DriftBackoff{Count: count, Last: now.Add(last), Next: now.Add(next)}
	}
	cases := map[string]struct {
		reason  string
		backoff *DriftBackoff
		want    bool
	}{
		"None":      {"an object that was never changed", nil, false},
		"Few":       {"the first repairs are made at once", at(2, -time.Second, time.Second), false},
		"Waits":     {"its next repair is due later", at(4, -time.Second, time.Second), true},
		"Due":       {"its next repair is due", at(4, -2*time.Second, 0), false},
		"ClockBack": {"the last repair is in the future: the clock was set back by an hour", at(9, time.Hour, time.Hour+time.Minute), false},
		"NoLast":    {"of an object beyond the list of the status only the next repair is on record", &DriftBackoff{Count: 9, Next: now.Add(time.Minute)}, true},
		"FarAhead":  {"no wait is so long", &DriftBackoff{Count: 9, Next: now.Add(24 * time.Hour)}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.backoff.Slowed(now); got != tc.want {
				t.Errorf("Slowed() = %t, want %t: %s", got, tc.want, tc.reason)
			}
		})
	}
}
