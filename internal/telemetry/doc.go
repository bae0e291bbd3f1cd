// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package telemetry says what of a change of status is worth an event, and keeps the manager's
// own metrics.
//
// Each of both compares the status that was on record with the one that has just been written,
// so that an event, or a count, stands for one transition: a pass that changes nothing has none,
// and a restart repeats none.
//
// Events are made by pure functions. reasons.go lists all of them with their meaning, events.go
// has a function for each of them, and transitions.go, package.go and retained.go say when there is
// one. What many objects have in common is one event that names the first of them. Notes
// are cut to what the API server takes. They are made of the messages of statuses,
// which hold no value of a Secret.
//
// [Metrics] holds the metrics. catalog.go lists all of them with their labels and meaning;
// docs/reference/metrics.md is made of it. Gauges about packages and revisions are read from the
// manager's cache at each scrape (state.go), so that they are never stale and end with their
// objects. Counters and histograms count what has happened: what the engine reports of
// objects (listener.go), and what has changed from one status of a revision to the
// next (transitions.go, outcomes.go). Their series of a package are dropped when it is gone.
// No label holds the name of a managed object, and labels that clients choose, such as
// field managers, have a bounded number of values (bounded.go).
package telemetry
