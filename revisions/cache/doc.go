// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cache keeps the newest known state of managed objects in memory.
//
// There is one informer for a kind in the whole process, however many packages
// use it. It selects by label, keeps of each object what a decision and a probe
// need, packed into its JSON until a caller reads it, is started by the first
// user and stopped with the last. [Informers] also remembers what our own writes
// have returned, until the informer has it, so that a read is never older than our
// own writes.
//
// Objects that belong to other owners, of which a controller depends on a few, are watched each alone, by
// [Objects].
package cache
