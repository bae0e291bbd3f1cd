// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metrics are the manager's own metrics.
//
// catalog.go lists all of them with their labels and meaning; docs/reference/metrics.md
// is made of it. Gauges about packages and revisions are read from the manager's cache
// at each scrape (state.go), so that they are never stale and end with their
// objects. Counters and histograms count what has happened: what the engine reports of
// objects (listener.go), and what has changed from one status of a revision to the
// next (transitions.go). Their series of a package are dropped when it is gone.
//
// No label holds the name of a managed object, and labels that clients choose, such as
// field managers, have a bounded number of values (bounded.go).
package metrics
