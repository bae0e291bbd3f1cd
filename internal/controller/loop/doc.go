// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package loop is what all controllers share around their own work: the object is
// read, the work is done, the status is written once and only when it differs,
// also when the work has failed, and the error's class decides what comes next.
package loop
