// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"
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
			if !i.isOwn(k, object) {
				i.notify(object)
			}
		},
		UpdateFunc: func(before, after any) {
			if i.isOwn(k, after) {
				return
			}
			i.notify(after)
			if i.label(before) != i.label(after) {
				i.notify(before)
			}
		},
		DeleteFunc: func(object any) {
			if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = last.Obj
			}
			i.forget(k, object)
			i.remember(k, object)
			i.notify(object)
		},
	}
}

// isOwn says whether an event brings nothing but the state that our own write has
// returned already. What the write has returned is not needed any more then.
func (i *Informers) isOwn(k revisions.Kind, object any) bool {
	seen, ok := object.(*packed)
	if !ok {
		return false
	}
	i.lock.Lock()
	defer i.lock.Unlock()
	at := writtenKey{k.GroupVersionKind, types.NamespacedName{Namespace: seen.namespace, Name: seen.name}}
	own, wrote := i.written[at]
	i.catchUp(at)
	return wrote && string(own.GetUID()) == seen.uid && own.GetResourceVersion() == seen.version
}

func (i *Informers) notify(object any) {
	if value := i.label(object); value != "" {
		i.config.Notify(value)
	}
}

func (i *Informers) label(object any) string {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return ""
	}
	return accessor.GetLabels()[i.config.Label]
}

// forget drops what our own write had returned for an object that is gone.
func (i *Informers) forget(k revisions.Kind, object any) {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return
	}
	i.lock.Lock()
	defer i.lock.Unlock()
	at := writtenKey{k.GroupVersionKind, types.NamespacedName{Namespace: accessor.GetNamespace(), Name: accessor.GetName()}}
	if own, wrote := i.written[at]; wrote && own.GetUID() == accessor.GetUID() {
		delete(i.written, at)
	}
}

// mostCompleted bounds how many objects are remembered that had done their work.
const mostCompleted = 1000

// remember keeps in mind that an object had done its work when it was deleted.
func (i *Informers) remember(k revisions.Kind, object any) {
	last, ok := object.(*packed)
	if !ok || k.MetadataOnly || k.Group != "batch" {
		return
	}
	state, err := last.open()
	if err != nil || !revisions.HasCompleted(state) {
		return
	}
	i.lock.Lock()
	defer i.lock.Unlock()
	if len(i.completed) >= mostCompleted {
		clear(i.completed) // a pass that comes so late has to see it for itself
	}
	i.completed[writtenKey{k.GroupVersionKind, types.NamespacedName{Namespace: last.namespace, Name: last.name}}] = types.UID(last.uid)
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
