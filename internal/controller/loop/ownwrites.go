// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"maps"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// OwnWrites remembers what our own writes have returned until the cache has seen
// it, so that a pass never works on a state older than its own writes. The zero
// value is ready for use, by several goroutines.
type OwnWrites[P client.Object] struct {
	lock    sync.Mutex
	objects map[types.UID]P
}

// Wrote takes in what a write has returned. The object must not be changed after.
func (o *OwnWrites[P]) Wrote(object P) {
	o.lock.Lock()
	defer o.lock.Unlock()
	if o.objects == nil {
		o.objects = map[types.UID]P{}
	}
	o.objects[object.GetUID()] = object
}

// Newest is the newer of what the cache has and what our own write has returned.
func (o *OwnWrites[P]) Newest(cached P) P {
	o.lock.Lock()
	defer o.lock.Unlock()
	own, wrote := o.objects[cached.GetUID()]
	if !wrote {
		return cached
	}
	if version(own) > version(cached) {
		return own
	}
	delete(o.objects, cached.GetUID())
	return cached
}

// Has says whether a state of an object is one that our own write has returned, as far as
// it is remembered, or an older one.
func (o *OwnWrites[P]) Has(state P) bool {
	o.lock.Lock()
	defer o.lock.Unlock()
	own, wrote := o.objects[state.GetUID()]
	return wrote && version(own) >= version(state)
}

// Forget drops what is remembered of an object that is gone.
func (o *OwnWrites[P]) Forget(gone P) {
	o.lock.Lock()
	defer o.lock.Unlock()
	delete(o.objects, gone.GetUID())
}

// CaughtUp lets every change through, and learns from it that the cache has our own writes,
// so that they need not be kept: after the last write no pass runs that would find out.
func (o *OwnWrites[P]) CaughtUp() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			if object, ok := e.ObjectNew.(P); ok {
				o.Newest(object)
			}
			return true
		},
		DeleteFunc: func(e event.DeleteEvent) bool {
			if object, ok := e.Object.(P); ok {
				o.Forget(object)
			}
			return true
		},
	}
}

// ForgetOthers drops what is remembered of objects that are not among those that
// exist.
func (o *OwnWrites[P]) ForgetOthers(exist map[types.UID]bool) {
	o.lock.Lock()
	defer o.lock.Unlock()
	maps.DeleteFunc(o.objects, func(uid types.UID, _ P) bool { return !exist[uid] })
}

// version is a resourceVersion as a number, which Kubernetes lets clients compare
// since 1.35. 0 when it is none.
func version(object client.Object) uint64 {
	number, err := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
	if err != nil {
		return 0
	}
	return number
}
