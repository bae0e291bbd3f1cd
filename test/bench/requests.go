// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/strata-run/strata/internal/localplane"
)

// counts are the requests of one user or controller, each in one place. Requests
// that were refused count like others.
type counts struct {
	// Writes, Deletes, Reads and Watches are of managed objects. Lists are reads.
	Writes, Deletes, Reads, Watches int
	// Statuses are writes of the status of packages and revisions.
	Statuses int
	// Own are other writes of Strata's own kinds, OwnReads are reads of these and of
	// what fronts look at, with watches that begin.
	Own, OwnReads int
	// Storage are requests about Helm's Secrets.
	Storage int
	// Events are writes of events, and Checks are questions about rights, and who the manager is.
	Events, Checks int
	// Discovery are requests about what the API server serves.
	Discovery int
}

// all is every request.
func (c counts) all() int {
	return c.Writes + c.Deletes + c.Reads + c.Watches + c.Statuses + c.Own + c.OwnReads + c.Storage + c.Events + c.Checks + c.Discovery
}

// count sorts the requests of a user.
func count(events []localplane.AuditEvent, user string) counts {
	var c counts
	for _, e := range events {
		if e.User == user && isOnce(e) {
			c.add(e)
		}
	}
	return c
}

// isOnce leaves out the end of a watch, which was counted when it began, and the
// leader election, whose leases the log does not have either.
func isOnce(e localplane.AuditEvent) bool {
	if e.Resource == "events" && e.Namespace == managerNamespace {
		return false
	}
	if e.Verb == "watch" {
		return e.Stage == "ResponseStarted" || e.Code >= 400
	}
	return e.Stage != "ResponseStarted"
}

// add counts one request.
func (c *counts) add(e localplane.AuditEvent) {
	isRead := slices.Contains([]string{"get", "list", "watch"}, e.Verb)
	isOurs := slices.Contains([]string{"strata.run", "gateway.networking.k8s.io", "operator.openshift.io", "operator.kyma-project.io", "olm.operatorframework.io"}, e.Group)
	// What fronts look at, once for all: no fixture has a definition or an Event in it,
	// and managed objects are watched in all namespaces.
	isFronts := e.Group == "apiextensions.k8s.io" || e.Verb == "watch" && (e.Resource == "events" || e.Namespace != "" && e.Resource != "secrets") ||
		e.Resource == "namespaces" && e.Name == "istio-system" // says of a mesh that it has gone
	switch {
	case e.Resource == "":
		c.Discovery++
	case (isOurs || isFronts) && isRead:
		c.OwnReads++
	case isOurs && e.Subresource == "status":
		c.Statuses++
	case isOurs:
		c.Own++
	case e.Resource == "events":
		c.Events++
	case e.Group == "authorization.k8s.io", e.Group == "authentication.k8s.io":
		c.Checks++
	case e.Resource == "secrets":
		c.Storage++
	case e.Verb == "watch":
		c.Watches++
	case isRead:
		c.Reads++
	case e.Verb == "delete":
		c.Deletes++
	default:
		c.Writes++
	}
}

// describe lists requests by what was asked, and with the time of those about our
// own kinds, which tell how a rollout went.
func describe(events []localplane.AuditEvent, since time.Time) string {
	sums := map[string]int{}
	var own []string
	for _, e := range events {
		if !isOnce(e) {
			continue
		}
		if e.Group == "strata.run" && e.Verb != "get" && e.Verb != "list" && e.Verb != "watch" {
			own = append(own, fmt.Sprintf("    %6.3fs  %s %s %d", e.Time.Sub(since).Seconds(), requested(e), e.Name, e.Code))
			continue
		}
		sums[requested(e)]++
	}
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(sums)) {
		fmt.Fprintf(&b, "    %6d   %s\n", sums[key], key)
	}
	for _, line := range own {
		fmt.Fprintln(&b, line)
	}
	return b.String()
}

// requested is what a request asks for.
func requested(e localplane.AuditEvent) string {
	resource := e.Resource
	if resource == "" {
		resource, _, _ = strings.Cut(e.RequestURI, "?")
	}
	if e.Subresource != "" {
		resource += "/" + e.Subresource
	}
	return e.Verb + " " + resource
}

// requestsSince are a user's requests from a time on.
func (b *bench) requestsSince(since time.Time, user string) ([]localplane.AuditEvent, error) {
	all, err := localplane.ReadAudit(b.AuditLog())
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(e localplane.AuditEvent) bool { return e.User != user || e.Time.Before(since) }), nil
}

const (
	// calm is how long there must be no request before a step has ended: longer
	// than the manager holds back a status.
	calm = 8 * time.Second
	// idle is how much of that time the manager may compute: it may be busy with what
	// needs no requests.
	idle = calm / 10
)

// quiet waits until the manager asks nothing any more, and has nothing left to do.
func (b *bench) quiet(ctx context.Context, limit time.Duration) error {
	size, used, since := int64(-1), time.Duration(0), time.Now()
	return await(ctx, "the manager to come to rest", limit, 200*time.Millisecond, func(context.Context) (bool, error) {
		if err := b.process.isRunning(); err != nil {
			return false, err
		}
		info, err := os.Stat(b.AuditLog())
		if err != nil {
			return false, fmt.Errorf("looking at the audit log: %w", err)
		}
		if cpu := b.process.cpu(); info.Size() != size || cpu-used > idle {
			size, used, since = info.Size(), cpu, time.Now()
		}
		return time.Since(since) >= calm, fmt.Errorf("it was busy %s ago", time.Since(since).Round(time.Millisecond))
	})
}
