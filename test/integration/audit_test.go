// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/strata-run/strata/internal/localplane"
	"github.com/strata-run/strata/internal/localplane/planetest"
	"github.com/strata-run/strata/test/setup"
)

// requests are the manager's since a time, but for events.
func requests(t *testing.T, since time.Time) []localplane.AuditEvent {
	t.Helper()
	return slices.DeleteFunc(setup.Requests(t, plane, setup.Manager, since), func(e localplane.AuditEvent) bool { return e.Resource == "events" })
}

// comeToRest waits until the manager has asked for nothing for some time: what it was to
// do, or held back, is done by then. Who counts what rest costs begins after it.
func comeToRest(t *testing.T, quiet time.Duration) {
	t.Helper()
	since := time.Now()
	planetest.Eventually(t, "the manager to come to rest", func() (bool, error) {
		events := requests(t, since)
		if len(events) > 0 {
			since = time.Now()
		}
		return time.Since(since) > quiet, fmt.Errorf("at last it has sent:%s", describe(byURI(events)))
	})
}

// noRequests wants the manager to send nothing for a time that has begun.
func noRequests(t *testing.T, span time.Duration, since time.Time) {
	t.Helper()
	planetest.Stays(t, span, "the manager sends nothing at rest", func() (bool, error) {
		events := requests(t, since)
		return len(events) == 0, errors.New(describe(byURI(events)))
	})
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

// writtenObjects counts the manager's writes of objects since a time.
func writtenObjects(t *testing.T, since time.Time) map[string]setup.Writes {
	t.Helper()
	return setup.ObjectWrites(t, plane, since)
}

func describe[V any](counts map[string]V) string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&b, "\n  %3v %s", counts[k], k)
	}
	return b.String()
}
