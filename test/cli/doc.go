// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cli tests the command line on a local Kubernetes with a manager, as its users
// meet it: as a process with arguments, output and an exit code.
//
// Each file of testdata/script is a story, in the language of testscript; all share the
// cluster, so each has packages and namespaces of its own names. Besides testscript's
// own commands there are
//
//	code N strata ARGS...   runs strata and wants the exit code N
//	kubectl ARGS...         runs kubectl as admin, and wants it to succeed
//	schema KIND             checks stdout, JSON, against docs/reference/schemas/KIND.json
//	columns N               wants no line of stdout to be wider than N
//	as NAME                 runs what follows as the user NAME; "as admin" again as admin
//
// TestPlan_IsWhatHappens compares plans with what the audit log shows,
// TestWait_Promptly measures how soon commands that wait return, and TestGuide_Tasks
// runs docs/guides/tasks.md, see package guide; with -update it writes the output into it.
package cli
