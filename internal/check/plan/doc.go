// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plan says what a content would do in a cluster, without doing it.
//
// [Planner.Plan] makes the pass that the controller makes over a paused line, with
// the same engine, and asks the same preflight. What it knows of objects it reads
// once, live, instead of watching them ([Snapshot]). [Planner.Trial] makes a pass
// whose writes are dry runs, and reports what they would have changed.
//
// It reads, and sends dry runs and questions about rights. It writes nothing.
package plan
