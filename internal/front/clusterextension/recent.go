// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"slices"
	"sync"
)

// recent keeps what was used last, within a number of bytes: what a thousand extensions need in their
// passes is far more than what they need at rest.
type recent[V any] struct {
	// most is how many bytes may be kept.
	most int64

	mutex sync.Mutex
	// all are in the order of their use, the last one at the end.
	all   []kept[V]
	bytes int64
}

// kept is a value, and of how many bytes it was made.
type kept[V any] struct {
	name, wanted string
	size         int64
	value        V
}

// get is what was made last under a name, if that was for what is wanted now.
func (r *recent[V]) get(name, wanted string) (value V, found bool) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	at := r.at(name)
	if at < 0 || r.all[at].wanted != wanted {
		return value, false
	}
	one := r.all[at]
	r.all = append(slices.Delete(r.all, at, at+1), one)
	return one.value, true
}

// put keeps a value under a name in place of the one before, if there is room for it at all.
func (r *recent[V]) put(name, wanted string, size int64, value V) {
	r.forget(name)
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if size > r.most {
		return
	}
	r.all, r.bytes = append(r.all, kept[V]{name, wanted, size, value}), r.bytes+size
	for r.bytes > r.most {
		r.bytes -= r.all[0].size
		r.all = slices.Delete(r.all, 0, 1)
	}
}

// forget drops what is kept under a name.
func (r *recent[V]) forget(name string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if at := r.at(name); at >= 0 {
		r.bytes -= r.all[at].size
		r.all = slices.Delete(r.all, at, at+1)
	}
}

func (r *recent[V]) at(name string) int {
	return slices.IndexFunc(r.all, func(one kept[V]) bool { return one.name == name })
}
