// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"

	"github.com/strata-run/strata/revisions"
)

// blockerKey tells watches of single objects apart.
type blockerKey struct {
	schema.GroupVersionKind

	namespace, name string
}

// objectWatch is the watch of a single object.
type objectWatch struct {
	informer cache.SharedIndexInformer
	cancel   context.CancelFunc
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
		found, isWatched := watched[blockerKey{gvk, key.Namespace, key.Name}]
		if !isWatched || !found.informer.HasSynced() {
			continue
		}
		store := found.informer.GetStore()
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
	wanted := map[blockerKey]bool{}
	var errs []error
	for _, object := range blockers {
		key := blockerKey{object.ID.WithVersion(object.Version), object.ID.Namespace, object.ID.Name}
		wanted[key] = true
		if _, isWatched := i.blockers[user][key]; isWatched {
			continue
		}
		watched, err := i.watchOne(key, object.ResourceVersion, value)
		if err != nil {
			errs = append(errs, fmt.Errorf("watching %s: %w", object.ID, err))
			continue
		}
		if i.blockers[user] == nil {
			i.blockers[user] = map[blockerKey]objectWatch{}
		}
		i.blockers[user][key] = watched
	}
	i.unblock(user, wanted)
	return errors.Join(errs...)
}

// mattersTo says whether a change of an object may change what is decided about it:
// its owner, or whether it is being deleted. A busy object that another manager owns
// must not keep a package busy.
func (i *Informers) mattersTo(before, after any) bool {
	was, okBefore := before.(*metav1.PartialObjectMetadata)
	is, okAfter := after.(*metav1.PartialObjectMetadata)
	return !okBefore || !okAfter || was.UID != is.UID ||
		was.Labels[i.config.Label] != is.Labels[i.config.Label] ||
		was.DeletionTimestamp.IsZero() != is.DeletionTimestamp.IsZero() ||
		!equality.Semantic.DeepEqual(was.OwnerReferences, is.OwnerReferences)
}

// unblock ends the watches that are not wanted any more.
func (i *Informers) unblock(user string, wanted map[blockerKey]bool) {
	for key, watched := range i.blockers[user] {
		if !wanted[key] {
			watched.cancel()
			delete(i.blockers[user], key)
		}
	}
	if len(i.blockers[user]) == 0 {
		delete(i.blockers, user)
	}
}

// watchOne watches one object until it is cancelled.
func (i *Informers) watchOne(key blockerKey, seen, value string) (objectWatch, error) {
	mapping, err := i.config.Mapper.RESTMapping(key.GroupKind(), key.Version)
	if err != nil {
		return objectWatch{}, fmt.Errorf("looking up its kind: %w", err)
	}
	one := func(options *metav1.ListOptions) {
		options.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, key.name).String()
	}
	informer := metadatainformer.NewFilteredMetadataInformer(i.config.Metadata, mapping.Resource, key.namespace, 0, cache.Indexers{}, one).Informer()
	ctx, cancel := context.WithCancel(i.stop)
	notify := func() {
		if ctx.Err() == nil {
			i.config.Notify(value)
		}
	}
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(object any, _ bool) {
			if o, ok := object.(*metav1.PartialObjectMetadata); !ok || o.ResourceVersion != seen {
				notify()
			}
		},
		UpdateFunc: func(before, after any) {
			if i.mattersTo(before, after) {
				notify()
			}
		},
		DeleteFunc: func(any) { notify() },
	})
	if err != nil {
		cancel()
		return objectWatch{}, fmt.Errorf("adding the handler: %w", err)
	}
	go informer.RunWithContext(ctx)
	go func() {
		// What is gone by now gives no event.
		if cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) && len(informer.GetStore().ListKeys()) == 0 {
			notify()
		}
	}()
	return objectWatch{informer: informer, cancel: cancel}, nil
}
