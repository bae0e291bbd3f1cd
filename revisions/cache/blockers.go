// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-run/strata/revisions"
)

// blockerTarget is the target of an object that is in the way.
func blockerTarget(gvk schema.GroupVersionKind, key types.NamespacedName) target {
	return target{kind: gvk, key: key, metadataOnly: true}
}

// latest is what is known of an object: what the informer of its kind has seen, nil for
// nothing, or what the watch of that single object has, its metadata, when that is later. The
// two watches are not in step, and only the second notifies the package that the object is in
// the way of: what it has notified of has to be what the package finds.
func (i *Informers) latest(gvk schema.GroupVersionKind, key types.NamespacedName, seen *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	var at uint64
	if seen != nil {
		at = version(seen)
	}
	for _, watched := range i.blockers {
		store := watched.store(blockerTarget(gvk, key))
		if store == nil {
			continue
		}
		// How far the store is comes first, as in Get.
		reached, objects := number(store.LastStoreSyncResourceVersion()), store.List()
		if len(objects) == 0 && reached > at {
			seen = nil
		}
		for _, object := range objects {
			if partial, ok := object.(*metav1.PartialObjectMetadata); ok && version(partial) > at {
				return trimmedMetadata(gvk, partial, i.config.FieldOwner)
			}
		}
	}
	return seen, nil
}

// Block watches the objects of other owners that are in the way of a user's objects,
// each alone and by its metadata. It notifies with the given value when one of them
// is deleted or gets another owner. Objects that the user no longer names are no
// longer watched. A change between the state that the user has read and the start of
// the watch is notified as well.
func (i *Informers) Block(user, value string, blockers []revisions.Blocker) error {
	i.lock.Lock()
	defer i.lock.Unlock()
	if len(blockers) == 0 {
		i.unblock(user)
		return nil
	}
	watched := i.blockers[user]
	if watched == nil {
		watched = i.Objects(func() { i.config.Notify(value) })
		i.blockers[user] = watched
	}
	watched.Begin()
	var errs []error
	for _, object := range blockers {
		key := types.NamespacedName{Namespace: object.ID.Namespace, Name: object.ID.Name}
		_, err := watched.ensure(blockerTarget(object.ID.WithVersion(object.Version), key), interest{differ: i.mattersTo, seen: object.ResourceVersion})
		if err != nil {
			errs = append(errs, fmt.Errorf("watching %s: %w", object.ID, err))
		}
	}
	watched.End()
	return errors.Join(errs...)
}

// unblock ends the watches of a user.
func (i *Informers) unblock(user string) {
	if watched := i.blockers[user]; watched != nil {
		watched.Stop()
		delete(i.blockers, user)
	}
}

// mattersTo says whether a change of an object may change what is decided about it:
// its owner, or whether it is being deleted. A busy object that another manager owns
// must not keep a package busy.
func (i *Informers) mattersTo(was, is metav1.Object) bool {
	return was.GetUID() != is.GetUID() ||
		was.GetLabels()[i.config.Label] != is.GetLabels()[i.config.Label] ||
		was.GetDeletionTimestamp().IsZero() != is.GetDeletionTimestamp().IsZero() ||
		!equality.Semantic.DeepEqual(was.GetOwnerReferences(), is.GetOwnerReferences())
}
