// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controller lists the controllers that the manager runs, and runs them.
//
// controllers.go is the list. packages, below, rolls out lines of revisions, and loop holds what
// the loops share. What translates custom resources stands in internal/front, with a folder for
// each front.
package controller
