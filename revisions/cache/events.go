// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/strata-run/strata/revisions"
)

// handler notifies the user of an object when it has changed. An update notifies
// both the old and the new value of the label.
func (i *Informers) handler(k revisions.Kind) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) {
			if seen, ok := object.(*packed); ok && !i.isOwn(k, seen) {
				i.notify(seen)
			}
		},
		UpdateFunc: func(before, after any) {
			was, known := before.(*packed)
			is, ok := after.(*packed)
			if !ok || i.isOwn(k, is) {
				return
			}
			i.notify(is)
			if known && was.label != is.label {
				i.notify(was)
			}
		},
		DeleteFunc: func(object any) {
			if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = last.Obj
			}
			if last, ok := object.(*packed); ok {
				i.deleted(k, last)
				i.notify(last)
			}
		},
	}
}

// keyOf is the key of an object of a kind.
func keyOf(k revisions.Kind, object *packed) writtenKey {
	return writtenKey{k.GroupVersionKind, types.NamespacedName{Namespace: object.namespace, Name: object.name}}
}

// isOwn says whether an event brings nothing but the state that our own write has
// returned already. What the write has returned is not needed any more then.
func (i *Informers) isOwn(k revisions.Kind, seen *packed) bool {
	i.lock.Lock()
	defer i.lock.Unlock()
	at := keyOf(k, seen)
	own, wrote := i.written[at]
	i.catchUp(at)
	return wrote && string(own.GetUID()) == seen.uid && own.GetResourceVersion() == seen.version
}

func (i *Informers) notify(object *packed) {
	if value := object.label.Value(); value != "" {
		i.config.Notify(value)
	}
}

// mostCompleted bounds how many objects are remembered that had done their work.
const mostCompleted = 1000

// deleted drops what our own write had returned for an object that is gone, and keeps in mind
// whether it had done its work.
func (i *Informers) deleted(k revisions.Kind, last *packed) {
	completed := false
	if !k.MetadataOnly && k.Group == "batch" {
		state, err := last.open()
		completed = err == nil && revisions.HasCompleted(state)
	}
	i.lock.Lock()
	defer i.lock.Unlock()
	at := keyOf(k, last)
	if own, wrote := i.written[at]; wrote && string(own.GetUID()) == last.uid {
		delete(i.written, at)
	}
	if !completed {
		return
	}
	if len(i.completed) >= mostCompleted {
		clear(i.completed) // a pass that comes so late has to see it for itself
	}
	i.completed[at] = types.UID(last.uid)
}

// version is a resourceVersion as a number, which Kubernetes lets clients compare
// since 1.35. 0 when it is none.
func version(object metav1.Object) uint64 { return number(object.GetResourceVersion()) }

func number(version string) uint64 {
	n, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
