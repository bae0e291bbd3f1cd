// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestLease(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	spec := func(holder string, renewed time.Time) coordinationv1.LeaseSpec {
		seconds, micro := int32(100), metav1.NewMicroTime(renewed)
		return coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, RenewTime: &micro}
	}
	const second = time.Second
	held := lease{}.next(spec("a", now), now)
	cases := map[string]struct {
		reason string
		before lease
		spec   coordinationv1.LeaseSpec
		at     time.Duration
		want   time.Duration // from now; -1 for free
	}{
		"New":             {reason: "a whole duration after the expiry", spec: spec("a", now), want: 200 * second},
		"ClockBehind":     {reason: "its holder's clock does not count", spec: spec("a", now.Add(-500*second)), want: 200 * second},
		"ClockAhead":      {reason: "its holder's clock does not count", spec: spec("a", now.Add(500*second)), want: 200 * second},
		"Abandoned":       {reason: "no clock is that wrong", spec: spec("a", now.Add(-1001*second)), want: -801 * second},
		"Renewed":         {reason: "it counts from the renewal", before: held, spec: spec("a", now.Add(50*second)), at: 55 * second, want: 255 * second},
		"Frozen":          {reason: "it counts from the last renewal that was seen", before: held, spec: spec("a", now), at: 150 * second, want: 200 * second},
		"AnotherHolder":   {reason: "a new leader acts", before: held, spec: spec("b", now), at: 50 * second, want: 250 * second},
		"Released":        {reason: "there is none", before: held, spec: spec("", now), at: 50 * second, want: -1},
		"Empty":           {reason: "there is none", spec: coordinationv1.LeaseSpec{}, want: -1},
		"BackAfterFreeze": {reason: "it renews again", before: held, spec: spec("a", now.Add(900*second)), at: 900 * second, want: 1100 * second},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := tc.before.next(tc.spec, now.Add(tc.at)).freeAt()
			if tc.want == -1 && !got.IsZero() || tc.want != -1 && !got.Equal(now.Add(tc.want)) {
				t.Errorf("%s: free at %v, want %v after %v", tc.reason, got, tc.want, now)
			}
		})
	}
	holder := "a"
	if got := (lease{}).next(coordinationv1.LeaseSpec{HolderIdentity: &holder, RenewTime: &metav1.MicroTime{Time: now}}, now).freeAt(); !got.Equal(now.Add(274 * second)) {
		t.Errorf("a lease without a duration is free at %v", got)
	}
}
