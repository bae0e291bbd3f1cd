// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

// Listener is called for what happens while it happens. Every function may be nil, and
// must be safe for concurrent use.
type Listener struct {
	// Object is called after an object of a phase was looked at, written or not.
	Object func(owner Owner, phase string, result ObjectResult)
	// Removed is called after an object was deleted, released or retained.
	Removed func(owner Owner, phase string, result RemovedObject)
}

func (l Listener) object(owner Owner, phase string, result ObjectResult) {
	if l.Object != nil {
		l.Object(owner, phase, result)
	}
}

func (l Listener) removed(owner Owner, phase string, result RemovedObject) {
	if l.Removed != nil {
		l.Removed(owner, phase, result)
	}
}
