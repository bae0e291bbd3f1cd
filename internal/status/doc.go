// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package status turns what a pass has found into the status of a Revision or a
// Package. What a front says on its custom resource is in the front's folder, and made
// with [Condition] and [Set]. It is pure: the same results at the same time give the same
// status, so a caller writes only what differs.
package status
