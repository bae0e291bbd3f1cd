// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package setup prepares a local Kubernetes for tests, as an installation prepares a
// cluster: it applies what the repository ships, and runs the manager with the rights
// that it ships.
//
// The tests of the other folders differ in what else they install, and in the manager's
// settings. A test's TestMain calls [Main] with a function that calls [Apply] with [Shipped]
// and files of its own, waits with [Served], and starts the manager; a test that needs a
// cluster of its own calls [Start].
package setup
