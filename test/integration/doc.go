// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package integration tests the whole flow on the local Kubernetes: real API
// server, controllers and garbage collector, the manager with the rights that it
// is shipped with, and the audit log as the judge of what was requested.
//
// One plane and one manager serve all tests; each test has packages and a
// namespace of its own.
package integration
