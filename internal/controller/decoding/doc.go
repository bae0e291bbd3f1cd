// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package decoding lets the manager live beside resources that do not decode.
//
// A CustomResourceDefinition may let through what its Go type cannot hold, or have let it
// through once. A typed informer lists such a kind in vain, for ever: one resource freezes all
// of its kind, and a manager that waits for the informer does not start. [Informers] lists again
// without types then, object by object. What does not decode comes into the cache with its
// metadata and, where that decodes, its status; [Problem] finds it. Its spec is unknown,
// which is not the same as empty: a reader of specs asks first.
package decoding
