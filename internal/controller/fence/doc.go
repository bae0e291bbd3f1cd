// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fence keeps a manager that may have been replaced from writing.
//
// A lease says who leads, and a leader that cannot renew it ends. Between the two lies
// a gap: a process that was frozen, with its machine or alone, goes on in the middle of
// a pass and knows nothing of the time that has passed. So every write is let through
// only while the last renewal of the lease is young enough, by a clock that goes on
// during a freeze; and the API server is asked to drop the write unless it is done
// before another manager can lead. What was sent before a freeze and arrives after it is
// covered by the preconditions of the writes themselves.
package fence
