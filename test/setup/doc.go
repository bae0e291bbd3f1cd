// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package setup prepares a local Kubernetes for tests, as an installation prepares a
// cluster: it applies what the repository ships, and runs the manager with the rights
// that it ships.
//
// The tests of the other folders differ in what else they install, and in the manager's
// settings. A test's TestMain starts a plane, calls [Apply] with [Shipped] and files of
// its own, waits with [Served], and runs the manager with [StartManager]; before any of it,
// [Log] says where to log to.
package setup
