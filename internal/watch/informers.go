// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
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

// Config is what informers work with. Every field is required.
type Config struct {
	// Dynamic and Metadata send the lists and watches.
	Dynamic  dynamic.Interface
	Metadata metadata.Interface
	// Mapper knows the resource of a kind.
	Mapper meta.RESTMapper
	// Label is the label that managed objects carry; its value is handed to Notify.
	Label string
	// Notify is called with the label's value when an object has changed. It must
	// not block.
	Notify func(value string)
}

// Informers are the informers of a process. They implement revisions.Cache.
type Informers struct {
	config Config
	stop   context.Context
	lock   sync.Mutex
	kinds  map[revisions.Kind]*kind
	// written holds what our own writes have returned, until the informer has seen it.
	written map[writtenKey]*unstructured.Unstructured
}

type kind struct {
	informer cache.SharedIndexInformer
	cancel   context.CancelFunc
	users    map[string]bool
}

type writtenKey struct {
	schema.GroupVersionKind
	types.NamespacedName
}

var _ revisions.Cache = (*Informers)(nil)

// New is a set of informers without any. They end with the context.
func New(ctx context.Context, config Config) *Informers {
	return &Informers{config: config, stop: ctx, kinds: map[revisions.Kind]*kind{}, written: map[writtenKey]*unstructured.Unstructured{}}
}

// Ensure watches the kinds for the user, and returns when their states are known.
// Kinds that the user no longer names are given up, and stopped with the last.
func (i *Informers) Ensure(ctx context.Context, user string, kinds []revisions.Kind) error {
	wanted := map[revisions.Kind]bool{}
	var started []*kind
	i.lock.Lock()
	for _, k := range kinds {
		if wanted[k] {
			continue
		}
		wanted[k] = true
		running, err := i.ensure(k)
		if err != nil {
			i.lock.Unlock()
			return err
		}
		running.users[user] = true
		started = append(started, running)
	}
	i.giveUp(user, wanted)
	i.lock.Unlock()
	return i.await(ctx, started)
}

// syncLimit bounds the wait for a kind's first list, so that a kind that cannot be
// listed holds up one pass and not its worker.
const syncLimit = 30 * time.Second

func (i *Informers) await(ctx context.Context, started []*kind) error {
	ctx, cancel := context.WithTimeout(ctx, syncLimit)
	defer cancel()
	for _, running := range started {
		checker := running.informer.HasSyncedChecker()
		select {
		case <-checker.Done():
		case <-ctx.Done():
			return fmt.Errorf("waiting for the first list of %s: %w", checker.Name(), context.Cause(ctx))
		}
	}
	return nil
}

// Release gives up everything that a user watches.
func (i *Informers) Release(user string) {
	i.lock.Lock()
	defer i.lock.Unlock()
	i.giveUp(user, nil)
}

func (i *Informers) giveUp(user string, wanted map[revisions.Kind]bool) {
	for k, running := range i.kinds {
		if wanted[k] || !running.users[user] {
			continue
		}
		delete(running.users, user)
		if len(running.users) == 0 {
			running.cancel()
			delete(i.kinds, k)
			maps.DeleteFunc(i.written, func(at writtenKey, _ *unstructured.Unstructured) bool {
				return at.GroupVersionKind == k.GroupVersionKind
			})
		}
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
	informer := i.informer(k, mapping.Resource)
	if err := informer.SetTransform(trim(k.GroupVersionKind)); err != nil {
		return nil, fmt.Errorf("watching %s: %w", k.GroupVersionKind, err)
	}
	if _, err := informer.AddEventHandler(i.handler(k)); err != nil {
		return nil, fmt.Errorf("watching %s: %w", k.GroupVersionKind, err)
	}
	ctx, cancel := context.WithCancel(i.stop)
	running := &kind{informer: informer, cancel: cancel, users: map[string]bool{}}
	i.kinds[k] = running
	go informer.RunWithContext(ctx)
	return running, nil
}

func (i *Informers) informer(k revisions.Kind, resource schema.GroupVersionResource) cache.SharedIndexInformer {
	selected := func(options *metav1.ListOptions) { options.LabelSelector = i.config.Label }
	indexers := cache.Indexers{}
	if k.MetadataOnly {
		return metadatainformer.NewFilteredMetadataInformer(i.config.Metadata, resource, metav1.NamespaceAll, 0, indexers, selected).Informer()
	}
	return dynamicinformer.NewFilteredDynamicInformer(i.config.Dynamic, resource, metav1.NamespaceAll, 0, indexers, selected).Informer()
}

// trim keeps of an object what is needed, in one form for both informers.
func trim(gvk schema.GroupVersionKind) cache.TransformFunc {
	return func(object any) (any, error) {
		switch o := object.(type) {
		case *unstructured.Unstructured:
			revisions.Trim(o)
			return o, nil
		case *metav1.PartialObjectMetadata:
			content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
			if err != nil {
				return nil, fmt.Errorf("converting metadata: %w", err)
			}
			whole := &unstructured.Unstructured{Object: content}
			whole.SetGroupVersionKind(gvk)
			revisions.Trim(whole)
			return whole, nil
		default:
			return object, nil
		}
	}
}

// Get is the newest known state of an object: the informer's, or what our own
// last write has returned when that is newer.
func (i *Informers) Get(gvk schema.GroupVersionKind, key types.NamespacedName) (*unstructured.Unstructured, error) {
	i.lock.Lock()
	defer i.lock.Unlock()
	seen, err := i.seen(gvk, key)
	if err != nil {
		return nil, err
	}
	at := writtenKey{gvk, key}
	own, wrote := i.written[at]
	if !wrote {
		return seen, nil
	}
	if seen != nil && !newer(own, seen) {
		delete(i.written, at)
		return seen, nil
	}
	return own, nil
}

func (i *Informers) seen(gvk schema.GroupVersionKind, key types.NamespacedName) (*unstructured.Unstructured, error) {
	running, ok := i.kinds[revisions.Kind{GroupVersionKind: gvk}]
	if !ok {
		if running, ok = i.kinds[revisions.Kind{GroupVersionKind: gvk, MetadataOnly: true}]; !ok {
			return nil, fmt.Errorf("kind %s is not watched", gvk)
		}
	}
	found, exists, err := running.informer.GetStore().GetByKey(key.String())
	if key.Namespace == "" {
		found, exists, err = running.informer.GetStore().GetByKey(key.Name)
	}
	if err != nil || !exists {
		return nil, err
	}
	object, ok := found.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("the informer of %s holds a %T", gvk, found)
	}
	return object, nil
}

// Observe takes in the state that a write has returned.
func (i *Informers) Observe(object *unstructured.Unstructured) {
	i.lock.Lock()
	defer i.lock.Unlock()
	key := types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
	i.written[writtenKey{object.GroupVersionKind(), key}] = object
}

// newer says whether one state of an object is newer than another. Another UID is
// another object, and what the informer says of that counts.
func newer(a, b *unstructured.Unstructured) bool {
	if a.GetUID() != b.GetUID() {
		return false
	}
	return version(a) > version(b)
}
