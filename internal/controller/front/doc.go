// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package front is the one loop of all fronts.
//
// A front translates its custom resource into packages. The loop renders, makes
// the Packages and their next Revisions when the content is new, and derives the
// resource's status from theirs. It applies no operand and waits for nothing: it
// returns at once, and the next event of a Package brings it back.
//
// A new front is a Renderer in internal/render, a pure status mapping in
// internal/status, and one entry in internal/controller/controllers.go.
package front
