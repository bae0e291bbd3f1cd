// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// firstRead is how long the first read of an object may take.
const firstRead = 10 * time.Second

// Objects are objects of users that a controller depends on, a handful among thousands: the
// Secret that a resource names, a namespace. Watching their whole kind would cost memory in every
// cluster, and reading them anew each time a request. The first read of an object begins a
// watch on it alone, and all later reads are answered from there. A kind of which a controller
// wants to know all objects is watched the same way.
//
// They may be used by several goroutines; passes must not overlap.
type Objects struct {
	informers *Informers
	changed   func()

	lock    sync.Mutex
	watches map[target]*objectWatch
	pass    int
}

// target is an object that is watched, or a whole resource.
type target struct {
	kind         schema.GroupVersionKind
	key          types.NamespacedName
	resource     schema.GroupVersionResource
	metadataOnly bool
}

// objectWatch is the watch of a target.
type objectWatch struct {
	informer cache.SharedIndexInformer
	resource schema.GroupVersionResource
	cancel   context.CancelFunc
	// pass is the last one that has read it.
	pass int
}

// interest says what of a target is kept, and which changes of it matter.
type interest struct {
	// trim may be nil.
	trim   cache.TransformFunc
	differ func(before, after metav1.Object) bool
	// seen is the resourceVersion that was read before the watch: that the watch begins with
	// another state is a change, too. Empty if it is none.
	seen string
}

// Objects watches nothing yet. Changed is called when a watched object was created, changed or
// deleted. It must not block.
func (i *Informers) Objects(changed func()) *Objects {
	return &Objects{informers: i, changed: changed, watches: map[target]*objectWatch{}}
}

// Begin begins a pass: what is read from now on stays watched. End ends it: what was not
// read since is not watched any longer. A pass that has failed halfway is better not
// ended.
func (o *Objects) Begin() {
	o.lock.Lock()
	defer o.lock.Unlock()
	o.pass++
}

// End is described at Begin.
func (o *Objects) End() {
	o.lock.Lock()
	defer o.lock.Unlock()
	for t, w := range o.watches {
		if w.pass != o.pass {
			w.cancel()
			delete(o.watches, t)
		}
	}
}

// Stop ends all watches. The next read begins its own anew.
func (o *Objects) Stop() {
	o.Begin()
	o.End()
}

// Get reads an object, whole when it is unstructured and else its metadata alone. Its
// kind has to be set. An object that does not exist is a NotFound error of the API.
// That a kind is not served is another error, as no event reports when that changes.
func (o *Objects) Get(ctx context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	_, whole := object.(*unstructured.Unstructured)
	w, err := o.ensure(target{kind: object.GetObjectKind().GroupVersionKind(), key: key, metadataOnly: !whole}, interest{trim: trimObject, differ: newerObject})
	if err != nil {
		return err
	}
	resource := w.resource.GroupResource()
	if err := o.await(ctx, w); err != nil {
		return fmt.Errorf("watching %s %s: %w", resource, key, err)
	}
	found, exists, err := w.informer.GetStore().GetByKey(storeKey(key))
	if err != nil {
		return fmt.Errorf("reading %s %s: %w", resource, key, err)
	}
	if !exists {
		return apierrors.NewNotFound(resource, key.Name)
	}
	return copyInto(found, object)
}

// All reads all objects of a resource, in no order: their names, and of their labels the one given.
// Only its changes are reported of them. A watch that does not come up is begun anew with the next
// read.
func (o *Objects) All(ctx context.Context, resource schema.GroupVersionResource, label string) ([]*metav1.PartialObjectMetadata, error) {
	w, err := o.ensure(target{resource: resource, metadataOnly: true}, interest{
		trim: func(object any) (any, error) { return slim(object, label), nil },
		differ: func(before, after metav1.Object) bool {
			return before.GetLabels()[label] != after.GetLabels()[label]
		},
	})
	if err != nil {
		return nil, err
	}
	if err := o.await(ctx, w); err != nil {
		o.lock.Lock()
		defer o.lock.Unlock()
		w.pass--
		return nil, err
	}
	var all []*metav1.PartialObjectMetadata
	for _, found := range w.informer.GetStore().List() {
		if object, ok := found.(*metav1.PartialObjectMetadata); ok {
			all = append(all, object)
		}
	}
	return all, nil
}

// await waits for the first list of a watch.
func (o *Objects) await(ctx context.Context, w *objectWatch) error {
	if o.informers.stop.Err() != nil {
		return errors.New("the watches are closed")
	}
	limited, cancel := context.WithTimeout(ctx, firstRead)
	defer cancel()
	if !cache.WaitForCacheSync(limited.Done(), w.informer.HasSynced) {
		return errors.New("the API server does not answer, or does not allow it")
	}
	return nil
}

// store is what the watch of a target has listed, nil if there is none or it has not.
func (o *Objects) store(t target) cache.Store {
	o.lock.Lock()
	defer o.lock.Unlock()
	if w := o.watches[t]; w != nil && w.informer.HasSynced() {
		return w.informer.GetStore()
	}
	return nil
}

// List is there to make a client.Reader; only single objects can be read.
func (*Objects) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("only single objects are watched, which cannot be listed")
}

func copyInto(found any, object client.Object) error {
	switch to := object.(type) {
	case *unstructured.Unstructured:
		if from, ok := found.(*unstructured.Unstructured); ok {
			from.DeepCopyInto(to)
			return nil
		}
	case *metav1.PartialObjectMetadata:
		if from, ok := found.(*metav1.PartialObjectMetadata); ok {
			kind := to.TypeMeta
			from.DeepCopyInto(to)
			to.TypeMeta = kind
			return nil
		}
	}
	return fmt.Errorf("objects are read as unstructured or as metadata, and not as %T", object)
}

// ensure watches a target, unless it is watched already.
func (o *Objects) ensure(t target, in interest) (*objectWatch, error) {
	o.lock.Lock()
	defer o.lock.Unlock()
	if w, ok := o.watches[t]; ok {
		w.pass = o.pass
		return w, nil
	}
	from := source{resource: t.resource, namespace: t.key.Namespace, metadataOnly: t.metadataOnly, selected: func(*metav1.ListOptions) {}}
	if t.key.Name != "" {
		mapping, err := o.informers.config.Mapper.RESTMapping(t.kind.GroupKind(), t.kind.Version)
		if err != nil {
			return nil, fmt.Errorf("looking up %s: %w", t.kind, err)
		}
		from.resource = mapping.Resource
		from.selected = func(options *metav1.ListOptions) {
			options.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, t.key.Name).String()
		}
	}
	ctx, cancel := context.WithCancel(o.informers.stop)
	notify := func() {
		if ctx.Err() == nil {
			o.changed()
		}
	}
	informer, err := o.informers.start(ctx, from, in.trim, in.handler(notify))
	if err != nil {
		cancel()
		return nil, fmt.Errorf("watching %s: %w", from.resource, err)
	}
	if in.seen != "" {
		go func() {
			// What is gone by now gives no event.
			if cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) && len(informer.GetStore().ListKeys()) == 0 {
				notify()
			}
		}()
	}
	w := &objectWatch{informer: informer, resource: from.resource, cancel: cancel, pass: o.pass}
	o.watches[t] = w
	return w, nil
}

// handler reports changes. What a watch begins with is none, unless another state was seen before.
func (in interest) handler(notify func()) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(object any, initial bool) {
			is, err := meta.Accessor(object)
			if err != nil || !initial || in.seen != "" && is.GetResourceVersion() != in.seen {
				notify()
			}
		},
		UpdateFunc: func(before, after any) {
			was, errBefore := meta.Accessor(before)
			is, errAfter := meta.Accessor(after)
			if errBefore != nil || errAfter != nil || in.differ(was, is) {
				notify()
			}
		},
		DeleteFunc: func(any) { notify() },
	}
}

func newerObject(before, after metav1.Object) bool {
	return before.GetResourceVersion() != after.GetResourceVersion()
}

// trimObject takes out what no caller reads and is large.
func trimObject(object any) (any, error) {
	if o, err := meta.Accessor(object); err == nil {
		o.SetManagedFields(nil)
	}
	return object, nil
}

// slim keeps of an object of a whole kind what [Objects.All] gives.
func slim(object any, label string) any {
	o, ok := object.(*metav1.PartialObjectMetadata)
	if !ok {
		return object
	}
	kept := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: o.Namespace, Name: o.Name, UID: o.UID, ResourceVersion: o.ResourceVersion,
	}}
	if value, ok := o.Labels[label]; ok {
		kept.Labels = map[string]string{label: value}
	}
	return kept
}
