// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func TestIsConflict(t *testing.T) {
	tests := map[string]struct {
		reason string
		err    error
		want   bool
	}{
		"Nil":                   {reason: "no error is no conflict"},
		"Conflict":              {reason: "the object has changed", err: errConflict, want: true},
		"AlreadyExists":         {reason: "another client was faster", err: errExists, want: true},
		"Other":                 {reason: "anything else is wrong", err: errBroken},
		"Wrapped":               {reason: "wrapping does not change the class", err: fmt.Errorf("writing: %w", errConflict), want: true},
		"JoinedConflicts":       {reason: "several conflicts are one", err: errors.Join(errConflict, errExists), want: true},
		"JoinedWithNil":         {reason: "nothing beside it changes nothing", err: errors.Join(nil, errConflict, nil), want: true},
		"JoinedWithOther":       {reason: "an error is not hidden by a conflict", err: errors.Join(errConflict, errBroken)},
		"JoinedWithOtherFirst":  {reason: "the order does not matter", err: errors.Join(errBroken, errConflict)},
		"WrappedJoin":           {reason: "a join counts where it stands", err: fmt.Errorf("phase a: %w", errors.Join(errConflict, errBroken))},
		"WrappedJoinConflicts":  {reason: "a join counts where it stands", err: fmt.Errorf("phase a: %w", errors.Join(errConflict, errConflict)), want: true},
		"NestedJoins":           {reason: "a join of joins", err: errors.Join(errors.Join(errConflict, errExists), fmt.Errorf("x: %w", errors.Join(errConflict))), want: true},
		"NestedJoinsWithOther":  {reason: "a join of joins", err: errors.Join(errors.Join(errConflict, errExists), fmt.Errorf("x: %w", errors.Join(errConflict, errBroken)))},
		"TwoInOneText":          {reason: "a format with two errors is a join", err: fmt.Errorf("%w and %w", errConflict, errBroken)},
		"TextOnly":              {reason: "a conflict that was flattened to text is none", err: fmt.Errorf("writing: %v", errConflict.Error())},
		"TerminalIsNoConflict":  {reason: "a terminal error waits for a change", err: reconcile.TerminalError(errBroken)},
		"ConflictBesideTwoMore": {reason: "one error is enough", err: errors.Join(errConflict, errConflict, errBroken)},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := IsConflict(tc.err); got != tc.want {
				t.Errorf("%s: IsConflict(%v) = %t, want %t", tc.reason, tc.err, got, tc.want)
			}
		})
	}
}

// Conflicts are looked into soon, and less and less often when they stay.
func TestConflicts_Decide(t *testing.T) {
	c := &Conflicts{}
	decide := func(name string, err error) time.Duration {
		result, got := c.Decide(t.Context(), requestFor(name), Outcome{}, err)
		if IsConflict(err) && got != nil {
			t.Errorf("a conflict is not an error, got %v", got)
		}
		return result.RequeueAfter
	}
	var waits []time.Duration
	for range 14 {
		waits = append(waits, decide("a", errConflict))
	}
	ms := time.Millisecond
	want := []time.Duration{50 * ms, 100 * ms, 200 * ms, 400 * ms, 800 * ms, 1600 * ms, 3200 * ms, 6400 * ms, 12800 * ms, 25600 * ms, 51200 * ms, 102400 * ms, 2 * time.Minute, 2 * time.Minute}
	if diff := cmp.Diff(want, waits); diff != "" {
		t.Errorf("waits (-want +got):\n%s", diff)
	}
	if wait := decide("b", errConflict); wait != 50*ms {
		t.Errorf("the first conflict of another object waits %v", wait)
	}
	decide("a", errBroken)
	if wait := decide("a", errConflict); wait != 50*ms {
		t.Errorf("the first conflict after something else waits %v", wait)
	}
	decide("b", nil)
	if wait := decide("b", errConflict); wait != 50*ms {
		t.Errorf("the first conflict after a success waits %v", wait)
	}
}
