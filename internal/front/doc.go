// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package front is the one loop of all fronts.
//
// A front translates its custom resources into packages. [Front] says what a front has
// to give: which resources are its own, what else it looks at, what should run (pure),
// what becomes of the resources' status (pure). [Reconciler] does the rest, a group of
// resources at a time: it puts finalizers on, observes, renders, makes the Packages and
// their next Revisions when the content is new, deletes packages that no resource asks
// for any more, and writes the state of the packages into the status of the resources.
// It applies no operand and waits for nothing: it returns at once, and the next event
// brings it back.
//
// [Kinds] knows which of the kinds that fronts look at are served, so that a front can
// work beside kinds that come later or never.
//
// A new front is a folder below this one: it renders and maps statuses purely, observes, and calls
// [Setup]. internal/controller lists it.
package front
