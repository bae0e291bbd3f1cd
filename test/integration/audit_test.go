// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/strata-run/strata/internal/localplane"
	"github.com/strata-run/strata/test/setup"
)

// requests are the manager's since a time. Leases and their events, and watches,
// are left out.
func requests(t *testing.T, since time.Time) []localplane.AuditEvent {
	t.Helper()
	all, err := localplane.ReadAudit(plane.AuditLog())
	must(t, err)
	return slices.DeleteFunc(all, func(e localplane.AuditEvent) bool {
		return e.User != setup.Manager || e.Time.Before(since) || e.Resource == "leases" || e.RequestURI == readyz || e.Resource == "events" || e.Verb == "watch" || e.Stage != "ResponseComplete"
	})
}

// readyz is what the manager asks when a request was not answered in time, such as the one
// that renews its lease on a busy machine.
const readyz = "/readyz"

// comeToRest waits until the manager has asked for nothing for some time: what it was to
// do, or held back, is done by then. Who counts what rest costs begins after it.
func comeToRest(t *testing.T, quiet time.Duration) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; {
		since := time.Now()
		time.Sleep(quiet)
		events := requests(t, since)
		if len(events) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the manager does not come to rest; %s have cost:%s", quiet, describe(byURI(events)))
		}
	}
}

// byURI counts requests by what they ask for.
func byURI(events []localplane.AuditEvent) map[string]int {
	counts := map[string]int{}
	for _, e := range events {
		counts[key(e)+" "+e.RequestURI]++
	}
	return counts
}

// writes counts successful writes by verb and resource.
func writes(events []localplane.AuditEvent) map[string]int {
	counts := map[string]int{}
	for _, e := range events {
		if e.Verb == "get" || e.Verb == "list" || e.Code >= 300 {
			continue
		}
		counts[key(e)]++
	}
	return counts
}

func key(e localplane.AuditEvent) string {
	resource := e.Resource
	if e.Subresource != "" {
		resource += "/" + e.Subresource
	}
	return e.Verb + " " + resource
}

// perObject counts successful writes of objects that are not Strata's own, by
// object. A question about rights is a create that writes nothing.
func perObject(events []localplane.AuditEvent) map[string]int {
	counts := map[string]int{}
	for _, e := range events {
		if e.Verb == "get" || e.Verb == "list" || e.Code >= 300 || e.Group == "strata.run" || e.Group == "gateway.networking.k8s.io" || e.Group == "authorization.k8s.io" {
			continue
		}
		counts[strings.Join([]string{e.Resource, e.Namespace, e.Name}, " ")]++
	}
	return counts
}

func describe(counts map[string]int) string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&b, "\n  %3d %s", counts[k], k)
	}
	return b.String()
}
