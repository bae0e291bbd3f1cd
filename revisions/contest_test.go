// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestContest_Spacing has somebody change an object without a pause for a day, and
// counts the repairs.
func TestContest_Spacing(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var contest *Contest
	var waits []time.Duration
	repairs := 0
	for now := start; now.Before(start.Add(24 * time.Hour)); repairs++ {
		contest = contest.repaired([]Rival{{Manager: "gitops", Fields: []string{".a"}}}, now)
		waits = append(waits, contest.NextRepair().Sub(now))
		now = now.Add(max(contest.NextRepair().Sub(now), time.Millisecond))
	}
	second := time.Second
	want := []time.Duration{0, 0, second, 2 * second, 4 * second, 8 * second, 16 * second, 32 * second, 64 * second, 128 * second, 256 * second, 5 * time.Minute, 5 * time.Minute}
	if diff := cmp.Diff(want, waits[:len(want)]); diff != "" {
		t.Errorf("the waits after the first repairs (-want +got):\n%s", diff)
	}
	if repairs > 300 {
		t.Errorf("%d repairs in a day, want no more than one in 5 minutes at last", repairs)
	}
	if contest.Count != int64(repairs) || !contest.First.Equal(start) {
		t.Errorf("%+v is on record of %d repairs since %v", contest, repairs, start)
	}
}

func TestContest_Repaired(t *testing.T) {
	now := time.Date(2026, 1, 1, 1, 0, 0, 0, time.UTC)
	before := now.Add(-time.Minute)
	many := make([]string, 20)
	cases := map[string]struct {
		reason  string
		contest *Contest
		rivals  []Rival
		want    *Contest
	}{
		"First":  {"somebody left no trace", nil, nil, &Contest{Count: 1, First: now, Last: now}},
		"Again":  {"it goes on", &Contest{Manager: "a", Fields: []string{".x"}, Count: 3, First: before, Last: before}, []Rival{{Manager: "b", Fields: []string{".y"}}}, &Contest{Manager: "b", Fields: []string{".y"}, Count: 4, First: before, Last: now}},
		"NoName": {"who removes a field leaves no trace, and is most likely the one of before", &Contest{Manager: "a", Fields: []string{".x"}, Count: 1, First: before, Last: before}, nil, &Contest{Manager: "a", Fields: []string{".x"}, Count: 2, First: before, Last: now}},
		"Peace":  {"that was long ago", &Contest{Manager: "a", Count: 9, First: before.Add(-time.Hour), Last: before.Add(-time.Hour)}, nil, &Contest{Count: 1, First: now, Last: now}},
		"Many":   {"a list of fields is bounded", nil, []Rival{{Manager: "a", Fields: many}}, &Contest{Manager: "a", Fields: many[:8], Count: 1, First: now, Last: now}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.contest.repaired(tc.rivals, now)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
