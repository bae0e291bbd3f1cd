// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package view is what the command line shows: one model of packages, revisions, phases
// and objects, whose JSON are the documents of -o json and -o yaml, and the text for people
// that is written from the same model.
//
//	Snapshot{Package, Revisions, Manifests, Pods} ──► Status, Tree, Explanation, History, … ──► text, JSON
//
// A [Snapshot] is all that was read of a package. Its methods build the documents and read
// nothing further. Documents without a method of a Snapshot are about something else: a plan,
// two contents, a Helm release. What writes a document as text begins with Write.
//
// [Documents] lists every document; their JSON Schemas in docs/reference/schemas are
// made from the types and their comments.
package view
