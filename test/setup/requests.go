// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/strata-run/strata/internal/localplane"
)

// Requests are those of a user since a time, without watches, and without what leader
// election costs: its leases and their events, and the question for the API server's health
// when a lease could not be renewed in time, as on a busy machine.
func Requests(t *testing.T, plane *localplane.Plane, user string, since time.Time) []localplane.AuditEvent {
	t.Helper()
	return slices.DeleteFunc(answered(t, plane, since), func(e localplane.AuditEvent) bool {
		return e.User != user || e.Verb == "watch" || isElection(e)
	})
}

// isElection says whether a request is about leader election.
func isElection(e localplane.AuditEvent) bool {
	return e.Resource == "leases" || e.RequestURI == "/readyz" || e.Resource == "events" && e.Namespace == managerNamespace
}

// managerNamespace is where the manager has its lease.
const managerNamespace = "strata-system"

// answered are the requests of all users since a time that were answered.
func answered(t *testing.T, plane *localplane.Plane, since time.Time) []localplane.AuditEvent {
	t.Helper()
	return slices.DeleteFunc(Audit(t, plane), func(e localplane.AuditEvent) bool { return e.Time.Before(since) || e.Stage != "ResponseComplete" })
}

// audits are the audit logs of planes as far as they were read. The log of a suite has tens of
// megabytes in the end, and is asked for many times.
var audits struct {
	sync.Mutex

	read map[string]auditLog
}

type auditLog struct {
	events []localplane.AuditEvent
	next   int64
}

// Audit is a plane's audit log, oldest answer first.
func Audit(t *testing.T, plane *localplane.Plane) []localplane.AuditEvent {
	t.Helper()
	audits.Lock()
	defer audits.Unlock()
	if audits.read == nil {
		audits.read = map[string]auditLog{}
	}
	log := audits.read[plane.AuditLog()]
	events, next, err := localplane.ReadAuditFrom(plane.AuditLog(), log.next)
	if err != nil {
		t.Fatal(err)
	}
	log = auditLog{append(log.events, events...), next}
	audits.read[plane.AuditLog()] = log
	return slices.Clone(log.events)
}

// Writes counts the writes of an object. Most is how many there may be where one would do: the
// manager applies an object once more that another client has written in the second of its
// own apply, which it cannot tell from an apply under its own name (decision 0003).
type Writes struct {
	Count, Most int
}

// ObjectWrites counts the writes of the manager since a time, by object, but for Strata's own
// kinds, the Gateway API's and Events.
func ObjectWrites(t *testing.T, plane *localplane.Plane, since time.Time) map[string]Writes {
	t.Helper()
	return objectWrites(answered(t, plane, since))
}

func objectWrites(events []localplane.AuditEvent) map[string]Writes {
	byObject := map[string][]localplane.AuditEvent{}
	for _, e := range events {
		if isObjectWrite(e) {
			name := strings.Join([]string{e.Resource, e.Namespace, e.Name}, " ")
			byObject[name] = append(byObject[name], e)
		}
	}
	counts := map[string]Writes{}
	for name, writes := range byObject {
		others := slices.DeleteFunc(slices.Clone(writes), func(e localplane.AuditEvent) bool { return e.User == Manager || e.Subresource == "status" })
		ours := slices.DeleteFunc(writes, func(e localplane.AuditEvent) bool { return e.User != Manager })
		if len(ours) == 0 {
			continue
		}
		most := 1
		if slices.ContainsFunc(others, func(e localplane.AuditEvent) bool { return inSecondOf(ours[0], e) }) {
			most++
		}
		counts[name] = Writes{Count: len(ours), Most: most}
	}
	return counts
}

// isObjectWrite says whether a request has written an object that a package may have. A question about rights is a create that writes nothing.
func isObjectWrite(e localplane.AuditEvent) bool {
	isRead := e.Verb == "get" || e.Verb == "list" || e.Verb == "watch" || strings.Contains(e.RequestURI, "dryRun=All")
	isElsewhere := slices.Contains([]string{"strata.run", "gateway.networking.k8s.io", "authorization.k8s.io"}, e.Group) || e.Resource == "events"
	return !isRead && !isElsewhere && !isElection(e) && e.Code < 300
}

// inSecondOf says whether another write may have the time of ours in managedFields, which has
// whole seconds, and come after it. An entry gets its time between the arrival of the request
// and its answer.
func inSecondOf(ours, other localplane.AuditEvent) bool {
	return other.Answered.After(ours.Time) && !other.Time.Truncate(time.Second).After(ours.Answered)
}
