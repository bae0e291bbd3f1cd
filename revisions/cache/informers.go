// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"

	"github.com/strata-run/strata/revisions"
)

// Config is what informers work with.
type Config struct {
	// Dynamic and Metadata send the lists and watches.
	Dynamic  dynamic.Interface
	Metadata metadata.Interface
	// Mapper knows the resource of a kind.
	Mapper meta.RESTMapper
	// Label is the label that managed objects carry; its value is handed to Notify.
	Label string
	// FieldOwner is that of the owners of managed objects. Optional, see
	// revisions.DefaultFieldOwner.
	FieldOwner string
	// Notify is called with the label's value when an object has changed. It must
	// not block.
	Notify func(value string)
	// Ahead is called whenever the answer to our own write is newer than the informer,
	// and used instead. It must not block. Optional.
	Ahead func()
}

// Informers are the informers of a process. They implement revisions.Cache.
type Informers struct {
	config Config
	stop   context.Context
	lock   sync.Mutex
	kinds  map[revisions.Kind]*kind
	// blockers are the objects that are in the way, by user.
	blockers map[string]*Objects
	// written holds what our own writes have returned, until the informer has seen it.
	written map[writtenKey]*unstructured.Unstructured
	// completed are the objects that had done their work when they were deleted. A pass
	// may come too late to see that.
	completed map[writtenKey]types.UID
}

type kind struct {
	gvk      schema.GroupVersionKind
	informer cache.SharedIndexInformer
	cancel   context.CancelFunc
	users    map[string]bool
	// failed is closed when the first list has failed or takes too long, and cause
	// says why. The informer goes on trying.
	failed chan struct{}
	once   sync.Once
	cause  error
}

func (k *kind) fail(err error) {
	k.once.Do(func() {
		k.cause = err
		close(k.failed)
	})
}

type writtenKey struct {
	schema.GroupVersionKind
	types.NamespacedName
}

var _ revisions.Cache = (*Informers)(nil)

// New is a set of informers without any. They end with the context.
func New(ctx context.Context, config Config) *Informers {
	config.FieldOwner = cmp.Or(config.FieldOwner, revisions.DefaultFieldOwner)
	return &Informers{
		config: config, stop: ctx, kinds: map[revisions.Kind]*kind{}, blockers: map[string]*Objects{},
		written: map[writtenKey]*unstructured.Unstructured{}, completed: map[writtenKey]types.UID{},
	}
}

// Ensure watches the kinds for the user, and returns when their states are known.
// Kinds that the user no longer names are no longer watched for it; an informer
// stops with its last user. A kind that cannot be watched is an error, and does not
// keep the other kinds from being watched.
func (i *Informers) Ensure(ctx context.Context, user string, kinds []revisions.Kind) error {
	wanted := map[revisions.Kind]bool{}
	var started []*kind
	var errs []error
	i.lock.Lock()
	for _, k := range kinds {
		running, err := i.ensure(k)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		running.users[user] = true
		wanted[k] = true
		started = append(started, running)
	}
	i.giveUp(user, wanted)
	i.lock.Unlock()
	return errors.Join(append(errs, await(ctx, started))...)
}

// syncLimit bounds the wait for the first lists, so that a kind that is not
// answered for holds up one pass, once, and not its worker.
const syncLimit = 30 * time.Second

func await(ctx context.Context, started []*kind) error {
	wait, cancel := context.WithTimeout(ctx, syncLimit)
	defer cancel()
	var errs []error
	for _, running := range started {
		synced := running.informer.HasSyncedChecker().Done()
		select {
		case <-synced:
			continue
		case <-running.failed:
		case <-wait.Done():
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			running.fail(wait.Err())
		}
		select {
		case <-synced: // it has come after all
		default:
			errs = append(errs, fmt.Errorf("listing %s: %w", running.gvk, running.cause))
		}
	}
	return errors.Join(errs...)
}

// Release gives up everything that a user watches.
func (i *Informers) Release(user string) {
	i.lock.Lock()
	defer i.lock.Unlock()
	i.giveUp(user, nil)
	i.unblock(user)
}

func (i *Informers) giveUp(user string, wanted map[revisions.Kind]bool) {
	for k, running := range i.kinds {
		if wanted[k] || !running.users[user] {
			continue
		}
		delete(running.users, user)
		if len(running.users) > 0 {
			continue
		}
		running.cancel()
		delete(i.kinds, k)
		// The other informer of the kind, if there is one, may not have seen it yet.
		if other := (revisions.Kind{GroupVersionKind: k.GroupVersionKind, MetadataOnly: !k.MetadataOnly}); i.kinds[other] != nil {
			continue
		}
		maps.DeleteFunc(i.completed, func(at writtenKey, _ types.UID) bool { return at.GroupVersionKind == k.GroupVersionKind })
		maps.DeleteFunc(i.written, func(at writtenKey, _ *unstructured.Unstructured) bool {
			return at.GroupVersionKind == k.GroupVersionKind
		})
	}
}

func (i *Informers) ensure(k revisions.Kind) (*kind, error) {
	if running, ok := i.kinds[k]; ok {
		return running, nil
	}
	mapping, err := i.config.Mapper.RESTMapping(k.GroupKind(), k.Version)
	if err != nil {
		return nil, fmt.Errorf("watching %s: %w", k.GroupVersionKind, err)
	}
	ctx, cancel := context.WithCancel(i.stop)
	running := &kind{gvk: k.GroupVersionKind, cancel: cancel, users: map[string]bool{}, failed: make(chan struct{})}
	running.informer, err = i.start(ctx, source{
		resource: mapping.Resource, metadataOnly: k.MetadataOnly, indexers: cache.Indexers{byLabel: index}, failed: running.fail,
		selected: func(options *metav1.ListOptions) { options.LabelSelector = i.config.Label },
	}, i.trim(k.GroupVersionKind), i.handler(k))
	if err != nil {
		cancel()
		return nil, fmt.Errorf("watching %s: %w", k.GroupVersionKind, err)
	}
	i.kinds[k] = running
	return running, nil
}

// source is what one informer watches.
type source struct {
	resource     schema.GroupVersionResource
	metadataOnly bool
	// namespace is empty for all.
	namespace string
	selected  func(*metav1.ListOptions)
	indexers  cache.Indexers
	// failed is called when a list or a watch has failed. Optional.
	failed func(error)
}

// start starts an informer, which ends with the context.
func (i *Informers) start(ctx context.Context, from source, trim cache.TransformFunc, handler cache.ResourceEventHandler) (cache.SharedIndexInformer, error) {
	var informer cache.SharedIndexInformer
	if from.metadataOnly {
		informer = metadatainformer.NewFilteredMetadataInformer(i.config.Metadata, from.resource, from.namespace, 0, from.indexers, from.selected).Informer()
	} else {
		informer = dynamicinformer.NewFilteredDynamicInformer(i.config.Dynamic, from.resource, from.namespace, 0, from.indexers, from.selected).Informer()
	}
	if err := informer.SetTransform(trim); err != nil {
		return nil, err
	}
	if _, err := informer.AddEventHandler(handler); err != nil {
		return nil, err
	}
	err := informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *cache.Reflector, err error) {
		if from.failed != nil {
			from.failed(err)
		}
		cache.DefaultWatchErrorHandler(ctx, r, err)
	})
	if err != nil {
		return nil, err
	}
	go informer.RunWithContext(ctx)
	return informer, nil
}

// byLabel is the index of an informer's objects by the value of the label.
const byLabel = "label"

func index(object any) ([]string, error) {
	seen, ok := object.(*packed)
	if !ok {
		return nil, fmt.Errorf("the informer holds a %T", object)
	}
	return []string{seen.label.Value()}, nil
}

// Labelled are the objects of all watched kinds that carry a value of the label, but for
// those named. They must not be changed. What our own writes have returned and no informer
// has seen is not among them.
func (i *Informers) Labelled(value string, except func(revisions.ObjectID) bool) ([]*unstructured.Unstructured, error) {
	i.lock.Lock()
	defer i.lock.Unlock()
	var found []*unstructured.Unstructured
	for k, running := range i.kinds {
		whole := i.kinds[revisions.Kind{GroupVersionKind: k.GroupVersionKind}]
		if !running.informer.HasSynced() || k.MetadataOnly && whole != nil && whole.informer.HasSynced() {
			continue
		}
		objects, err := running.informer.GetIndexer().ByIndex(byLabel, value)
		if err != nil {
			return nil, fmt.Errorf("looking for what is labelled %s: %w", value, err)
		}
		for _, object := range objects {
			seen, ok := object.(*packed)
			if !ok || except(revisions.ObjectID{GroupKind: k.GroupKind(), Namespace: seen.namespace, Name: seen.name}) {
				continue
			}
			opened, err := seen.open()
			if err != nil {
				return nil, err
			}
			found = append(found, opened)
		}
	}
	return found, nil
}

// trim keeps of an object what is needed, in one form for both informers. What is
// packed already is left as it is.
func (i *Informers) trim(gvk schema.GroupVersionKind) cache.TransformFunc {
	return func(object any) (any, error) {
		var whole *unstructured.Unstructured
		switch o := object.(type) {
		case *unstructured.Unstructured:
			whole = o
			revisions.Trim(whole, i.config.FieldOwner)
		case *metav1.PartialObjectMetadata:
			var err error
			if whole, err = trimmedMetadata(gvk, o, i.config.FieldOwner); err != nil {
				return nil, err
			}
		default:
			return object, nil
		}
		return pack(whole, i.config.Label)
	}
}

// trimmedMetadata is the metadata of an object as the engine takes it.
func trimmedMetadata(gvk schema.GroupVersionKind, object *metav1.PartialObjectMetadata, manager string) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("converting metadata: %w", err)
	}
	whole := &unstructured.Unstructured{Object: content}
	whole.SetGroupVersionKind(gvk)
	// No probe looks at it, and no decision needs its age.
	unstructured.RemoveNestedField(whole.Object, "metadata", "creationTimestamp")
	revisions.Trim(whole, manager)
	return whole, nil
}

// Get is the newest known state of an object: the informer's, or what our own last write
// has returned when that is newer, or of an object that [Informers.Block] watches what that
// watch has. The error says that the kind is not watched, or that its first list has not
// come yet.
func (i *Informers) Get(gvk schema.GroupVersionKind, key types.NamespacedName) (*unstructured.Unstructured, error) {
	i.lock.Lock()
	defer i.lock.Unlock()
	store, err := i.store(gvk)
	if err != nil {
		return nil, err
	}
	// How far the store is comes first: what happens in between is newer than that.
	reached := number(store.LastStoreSyncResourceVersion())
	seen, err := find(store, key)
	if err != nil {
		return nil, fmt.Errorf("looking up %s: %w", gvk, err)
	}
	at := writtenKey{gvk, key}
	own, wrote := i.written[at]
	if !wrote {
		return i.latest(gvk, key, seen)
	}
	// A store that is past our write without the object has missed its deletion: the
	// object came and went while the watch was broken.
	missed := seen == nil && reached >= version(own) && version(own) > 0
	if missed || seen != nil && !newer(own, seen) {
		delete(i.written, at)
		return seen, nil
	}
	if i.config.Ahead != nil {
		i.config.Ahead()
	}
	return own, nil
}

// Completed says whether an object that is gone had done its work before.
func (i *Informers) Completed(gvk schema.GroupVersionKind, key types.NamespacedName, uid types.UID) bool {
	i.lock.Lock()
	defer i.lock.Unlock()
	return uid != "" && i.completed[writtenKey{gvk, key}] == uid
}

// store is that of the informer of a kind: the one of whole objects if there is
// one that has been listed, or else the one of metadata.
func (i *Informers) store(gvk schema.GroupVersionKind) (cache.Store, error) {
	err := fmt.Errorf("kind %s is not watched", gvk)
	for _, metadataOnly := range []bool{false, true} {
		running, ok := i.kinds[revisions.Kind{GroupVersionKind: gvk, MetadataOnly: metadataOnly}]
		switch {
		case ok && running.informer.HasSynced():
			return running.informer.GetStore(), nil
		case ok:
			err = fmt.Errorf("kind %s has not been listed yet", gvk)
		}
	}
	return nil, err
}

func find(store cache.Store, key types.NamespacedName) (*unstructured.Unstructured, error) {
	object, err := stored(store, key)
	if err != nil || object == nil {
		return nil, err
	}
	return object.open()
}

// stored is what the store of an informer holds of an object, nil when it holds none.
func stored(store cache.Store, key types.NamespacedName) (*packed, error) {
	found, exists, err := store.GetByKey(storeKey(key))
	if err != nil || !exists {
		return nil, err
	}
	object, ok := found.(*packed)
	if !ok {
		return nil, fmt.Errorf("the informer holds a %T", found)
	}
	return object, nil
}

// storeKey is the key of an object in the store of an informer.
func storeKey(key types.NamespacedName) string { return cache.ObjectName(key).String() }

// Observe takes in the state that a write has returned. It is kept until the
// informer has it, or has it already.
func (i *Informers) Observe(object *unstructured.Unstructured) {
	i.lock.Lock()
	defer i.lock.Unlock()
	at := writtenKey{object.GroupVersionKind(), types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}}
	i.written[at] = object
	i.catchUp(at)
}

// catchUp drops what our own write has returned once the store has that state or a
// newer one. Otherwise it would be kept until the next read of the object.
func (i *Informers) catchUp(at writtenKey) {
	own, wrote := i.written[at]
	if !wrote {
		return
	}
	store, err := i.store(at.GroupVersionKind)
	if err != nil {
		return
	}
	if seen, err := stored(store, at.NamespacedName); err == nil && seen != nil && number(seen.version) >= version(own) {
		delete(i.written, at)
	}
}

// newer says whether one state of an object is newer than another, which may be of
// another object of the name: resourceVersions count for a kind as a whole.
func newer(a, b *unstructured.Unstructured) bool { return version(a) > version(b) }
