// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package output writes what the command line shows: tables, trees, wrapped text,
// JSON and YAML.
//
// Any text in a cluster may have been written by an attacker to deceive its
// reader, so no text reaches a terminal as it is. Commands pass plain words with
// a [Style] ([Span], [Cell], [Node]); the [Printer] passes each word
// through [Clean] and only then adds colour. JSON and YAML keep their
// meaning: what a terminal could act on is escaped, not changed.
//
// The package knows nothing of Kubernetes or of Strata's types.
package output
