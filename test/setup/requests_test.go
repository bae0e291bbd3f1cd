// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/strata-run/strata/internal/localplane"
)

// TestObjectWrites: one more write is by design of an object that another client has written
// in the second of the manager's first, and of no other.
func TestObjectWrites(t *testing.T) {
	second := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(user, verb string, received, took time.Duration) localplane.AuditEvent {
		return localplane.AuditEvent{
			User: user, Verb: verb, Code: 200, Resource: "configmaps", Namespace: "ns", Name: "a",
			Time: second.Add(received), Answered: second.Add(received + took),
		}
	}
	const istiod, ms = "istiod", time.Millisecond
	status := at(istiod, "patch", 300*ms, ms)
	status.Subresource = "status"
	refused := at(istiod, "patch", 300*ms, ms)
	refused.Code = 409
	ours, once := at(Manager, "patch", 200*ms, 5*ms), Writes{1, 1}
	for name, tc := range map[string]struct {
		events []localplane.AuditEvent
		want   Writes
	}{
		"Alone":        {[]localplane.AuditEvent{ours}, once},
		"Beside":       {[]localplane.AuditEvent{ours, at(istiod, "patch", 990*ms, ms)}, Writes{1, 2}},
		"BesideTwice":  {[]localplane.AuditEvent{ours, at(istiod, "patch", 990*ms, ms), at(Manager, "patch", 2200*ms, 5*ms)}, Writes{2, 2}},
		"NextSecond":   {[]localplane.AuditEvent{ours, at(istiod, "patch", 1000*ms, ms), at(Manager, "patch", 2200*ms, 5*ms)}, Writes{2, 1}},
		"SlowOurs":     {[]localplane.AuditEvent{at(Manager, "patch", 200*ms, 900*ms), at(istiod, "patch", 1200*ms, ms)}, Writes{1, 2}},
		"Before":       {[]localplane.AuditEvent{at(istiod, "patch", 100*ms, ms), ours}, once},
		"OnlyRead":     {[]localplane.AuditEvent{ours, at(istiod, "get", 300*ms, ms)}, once},
		"Status":       {[]localplane.AuditEvent{ours, status}, once},
		"Refused":      {[]localplane.AuditEvent{ours, refused}, once},
		"BesideSecond": {[]localplane.AuditEvent{ours, at(Manager, "patch", 2200*ms, ms), at(istiod, "patch", 2300*ms, ms)}, Writes{2, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(map[string]Writes{"configmaps ns a": tc.want}, objectWrites(tc.events)); diff != "" {
				t.Error(diff)
			}
		})
	}
	lease := at(Manager, "update", 0, ms)
	lease.Resource = "leases"
	if counts := objectWrites([]localplane.AuditEvent{at(istiod, "patch", 0, ms), lease}); len(counts) > 0 {
		t.Errorf("another client's write or a lease counts as the manager's write of an object: %v", counts)
	}
}
