// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cmd is the command line: strata, also installed as kubectl-strata.
//
// [Run] is all that cmd/strata calls. Each subcommand has a file of its name: flags,
// reading, printing. What a command shows is a document of internal/cli/view, which is
// written as JSON, as YAML, or as text; `get` alone writes the API objects.
//
//	package + revisions ──► view.Snapshot ──► document ──► text, or JSON and YAML
//	   (load.go, follow.go)          (view, pure)
//
// What manifests or a chart make is read in source.go, packed as the fronts pack it,
// and planned by internal/check/plan, which apply shows before it writes. What a revision
// contains is read back in contents.go. Every write to a cluster stands in write.go, but for
// what up installs.
//
// What every command keeps to:
//
//   - stdout is data, stderr is progress and notes.
//   - The exit codes are those of exit.go, whatever the output format.
//   - Words say everything; marks and colour repeat it.
//   - Tables fit 80 columns for ordinary names; -o wide has no limit.
//   - Times are ages for people, RFC 3339 for programs.
//   - Which revision is the target, what a rollback takes and whether an object
//     is retained is asked of internal/history and internal/content, which the
//     controllers ask too.
//
// `up` and `down` start and stop a local Kubernetes (internal/localplane) with
// the manager beside it, in a process of its own that holds a lock: see
// supervisor.go.
package cmd
