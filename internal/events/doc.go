// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package events says what of a change of status is worth an event, and in what words.
//
// Its functions are pure. Each compares the status that was on record with the one
// that has just been written, so that an event stands for one transition: a pass that
// changes nothing has none, and a restart repeats none. reasons.go lists all events
// with their meaning, events.go has a function for each of them, and revision.go,
// package.go and facts.go say when there is one.
//
// What many objects have in common is one event that names the first of them. Notes
// are cut to what the API server takes. They are made of the messages of statuses,
// which hold no value of a Secret.
package events
