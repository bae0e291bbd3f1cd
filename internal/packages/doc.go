// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package packages is the loop that rolls out the revisions of a Package.
//
// One package is one work item: a single pass is about the package and all its
// active revisions, so two revisions never race. reconcile.go shows the stages of a pass
// from top to bottom: observe the revisions (observe.go), decide what may be rolled out and
// answer a rollback (decide.go, internal/history), load (internal/content) and roll out
// (engine.go, revisions.Engine), work out the statuses (internal/status) and write them
// (status.go), archive and tear down what the target has replaced (retire.go), and delete
// what no active revision contains (sweep.go). What is remembered between passes is in
// state.go. The engine writes objects; this package writes Revisions and their statuses; the
// shared loop writes the Package's status.
package packages
