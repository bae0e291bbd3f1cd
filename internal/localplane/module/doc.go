// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package module embeds the Go module that the local Kubernetes is built from.
//
// The truth is tools/kubernetes in the root of the repository. The copies here
// exist because an installed strata command has no checkout, and because go
// does not embed files of another module. `go generate` renews them; a test
// fails while they differ.
package module
