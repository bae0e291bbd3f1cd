// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
)

// TestClockSetBack: a clock that was set back by an hour makes no deadline and no soak an
// hour longer.
func TestClockSetBack(t *testing.T) {
	then := metav1.NewTime(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	status := v1alpha1.RevisionStatus{LastProgressTime: &then, Phases: []v1alpha1.PhaseStatus{{CompletedAt: &then}}}
	for _, now := range []time.Time{then.Time, then.Add(-time.Hour)} {
		if left := DeadlineLeft(status, time.Minute, now); left != time.Minute {
			t.Errorf("at %v %s of the deadline are left, want a minute", now, left)
		}
		if left := SoakLeft(status, time.Minute, now); left != time.Minute {
			t.Errorf("at %v %s of the soak are left, want a minute", now, left)
		}
	}
}
