// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package revisions rolls out immutable, phased revisions of objects.
//
// A [Revision] is a list of phases of manifests. An [Engine] makes passes over a
// history of revisions: [Engine.Reconcile] applies the newest one phase by phase and
// keeps what the older ones still serve, [Engine.Teardown] takes a revision's
// objects away in reverse. A pass never waits; it is made again when something
// changes, and a pass over a history at rest sends no request.
//
// Read engine.go first, then phase.go, object.go and decide.go. decide is the
// heart: a pure function from what is known of an object to what to do about it;
// testdata/decide.txt holds its whole table. Only apply.go and delete.go write.
// testdata/rollout shows rollouts step by step, with every effect and its reason;
// package revisionstest plays them.
//
// # Invariants
//
//  1. A history that does not change is not written to.
//  2. A phase is begun only when every object of the one before is in place with
//     its probe True. What a revision has put in place is kept, whatever the
//     probes say afterwards, and never goes back to an older revision's content.
//  3. An object has one controller: the [Owner], which all revisions of a history
//     share, so handing an unchanged object over to the next revision writes
//     nothing. Ownership is proven by UID, never by a label alone.
//  4. An object that is not ours is left byte for byte as it is, unless its
//     collision protection says otherwise.
//  5. Fields that other managers set are kept: every write is a server-side apply of just
//     the fields of the manifest. At or below the exclusive fields of an object they
//     are removed.
//  6. An object is deleted only after a live read, if it carries our owner
//     reference, and on condition that it is still what was read. An object whose
//     absence is not proven is not gone.
//  7. What is wrong with one object, one kind or the target delays nothing else.
//  8. No error quotes a value of a Secret.
//
// # Limits
//
// Drift is read from the managedFields entry of our applies. Who may write an
// object may also write that entry, and so can hide a change by restoring it with
// its time, on purpose. What exceeds an exclusive field is found the same way, so what
// no manager has stays: defaults, and what an admission webhook fills in. When
// managedFields are wiped and a field is dropped before the next pass, the field stays.
//
// The package knows no custom resources and no controllers. It needs a client, a
// cache of the managed objects and a REST mapper, see [Config].
package revisions
