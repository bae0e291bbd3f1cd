// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package crwatch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/internal/front/kyma/servicemesh"
)

// listPage is how many objects a list asks for at once.
const listPage = 500

// Config is what a [Watcher] needs. Every field is required but SyncLimit.
type Config struct {
	// Kinds are those that are looked for.
	Kinds []servicemesh.BlockingKind
	// Definitions reads the metadata of CustomResourceDefinitions, from a cache.
	Definitions client.Reader
	// Versions asks the API server which versions of a group it serves, the preferred one first.
	// What is remembered of that elsewhere may be of before.
	Versions func(ctx context.Context, group string) ([]string, error)
	// Metadata lists and watches the metadata of objects.
	Metadata metadata.Interface
	// Label is the only label that is kept of an object.
	Label string
	// Changed is called when an object comes or goes, or its label changes. It must not block.
	Changed func()
	// SyncLimit is how long the first read of a kind may take. Default 10 s.
	SyncLimit time.Duration
}

// Watcher watches custom resources. It may be used by several goroutines, of which one at a
// time looks.
type Watcher struct {
	config Config

	lock    sync.Mutex
	watches map[schema.GroupKind]*watch
	closed  bool
}

// watch is that of one kind.
type watch struct {
	kind     schema.GroupKind
	resource schema.GroupVersionResource
	informer cache.SharedIndexInformer
	stop     chan struct{}
}

// New is a Watcher that watches nothing yet.
func New(config Config) *Watcher {
	if config.SyncLimit == 0 {
		config.SyncLimit = 10 * time.Second
	}
	return &Watcher{config: config, watches: map[schema.GroupKind]*watch{}}
}

// Look gives all objects as the watches know them, in no order. The error says of which kinds
// they are not known.
func (w *Watcher) Look(ctx context.Context) ([]servicemesh.CustomResource, error) {
	watches, err := w.ensure(ctx)
	errs := []error{err}
	limited, cancel := context.WithTimeout(ctx, w.config.SyncLimit)
	defer cancel()
	var all []servicemesh.CustomResource
	for _, of := range watches {
		if !cache.WaitForCacheSync(limited.Done(), of.informer.HasSynced) {
			w.forget(of.kind) // the version may not be served any more: the next look finds out
			errs = append(errs, fmt.Errorf("watching objects of kind %s: the API server does not answer, or does not allow it", of.kind))
			continue
		}
		for _, object := range of.informer.GetStore().List() {
			if o, ok := object.(*metav1.PartialObjectMetadata); ok {
				all = append(all, resourceOf(of.kind, o))
			}
		}
	}
	return all, errors.Join(errs...)
}

// Confirm gives all objects as the API server has them now, in no order.
func (w *Watcher) Confirm(ctx context.Context) ([]servicemesh.CustomResource, error) {
	watches, err := w.ensure(ctx)
	errs := []error{err}
	var all []servicemesh.CustomResource
	for _, of := range watches {
		objects, err := w.list(ctx, of)
		all, errs = append(all, objects...), append(errs, err)
	}
	return all, errors.Join(errs...)
}

// Stop ends all watches. The next look begins them anew.
func (w *Watcher) Stop() {
	w.lock.Lock()
	defer w.lock.Unlock()
	for kind, of := range w.watches {
		close(of.stop)
		delete(w.watches, kind)
	}
}

// Close ends all watches for good.
func (w *Watcher) Close() {
	w.Stop()
	w.lock.Lock()
	defer w.lock.Unlock()
	w.closed = true
}

func (w *Watcher) forget(kind schema.GroupKind) {
	w.lock.Lock()
	defer w.lock.Unlock()
	if of, ok := w.watches[kind]; ok {
		close(of.stop)
		delete(w.watches, kind)
	}
}

// ensure watches every kind that is defined, and no other.
func (w *Watcher) ensure(ctx context.Context) ([]*watch, error) {
	var watches []*watch
	var errs []error
	for _, kind := range w.config.Kinds {
		defined, err := w.isDefined(ctx, kind.Definition())
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if !defined {
			w.forget(kind.GroupKind)
			continue
		}
		of, err := w.start(ctx, kind)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		watches = append(watches, of)
	}
	return watches, errors.Join(errs...)
}

// isDefined says whether a kind can have objects.
func (w *Watcher) isDefined(ctx context.Context, name string) (bool, error) {
	definition := &metav1.PartialObjectMetadata{}
	definition.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	err := w.config.Definitions.Get(ctx, types.NamespacedName{Name: name}, definition)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading CustomResourceDefinition %s: %w", name, err)
	}
	return true, nil
}

// start begins to watch a kind, unless it is watched already.
func (w *Watcher) start(ctx context.Context, kind servicemesh.BlockingKind) (*watch, error) {
	w.lock.Lock()
	defer w.lock.Unlock()
	if of, ok := w.watches[kind.GroupKind]; ok {
		return of, nil
	}
	if w.closed {
		return nil, errors.New("the watches are closed")
	}
	resource, err := w.served(ctx, kind)
	if err != nil {
		return nil, fmt.Errorf("finding out in which version %s are served, which are defined: %w", kind.Definition(), err)
	}
	informer := metadatainformer.NewFilteredMetadataInformer(w.config.Metadata, resource, metav1.NamespaceAll, 0, cache.Indexers{}, nil).Informer()
	if err := informer.SetTransform(w.slim); err != nil {
		return nil, fmt.Errorf("watching objects of kind %s: %w", kind, err)
	}
	if _, err := informer.AddEventHandler(w.handler()); err != nil {
		return nil, fmt.Errorf("watching objects of kind %s: %w", kind, err)
	}
	of := &watch{kind: kind.GroupKind, resource: resource, informer: informer, stop: make(chan struct{})}
	w.watches[kind.GroupKind] = of
	go informer.Run(of.stop)
	return of, nil
}

// served is a kind in a version that is served. Not every version of a group has all its kinds.
func (w *Watcher) served(ctx context.Context, kind servicemesh.BlockingKind) (schema.GroupVersionResource, error) {
	versions, err := w.config.Versions(ctx, kind.Group)
	if err != nil {
		return schema.GroupVersionResource{}, err
	}
	for _, version := range versions {
		resource := schema.GroupVersionResource{Group: kind.Group, Version: version, Resource: kind.Resource}
		_, err := w.config.Metadata.Resource(resource).List(ctx, metav1.ListOptions{Limit: 1})
		if err == nil || !apierrors.IsNotFound(err) {
			return resource, err
		}
	}
	return schema.GroupVersionResource{}, fmt.Errorf("none of the versions %v has them", versions)
}

// list reads all objects of a kind.
func (w *Watcher) list(ctx context.Context, of *watch) ([]servicemesh.CustomResource, error) {
	var all []servicemesh.CustomResource
	next := ""
	for {
		page, err := w.config.Metadata.Resource(of.resource).List(ctx, metav1.ListOptions{Limit: listPage, Continue: next})
		if err != nil {
			w.forget(of.kind)
			return all, fmt.Errorf("listing objects of kind %s: %w", of.kind, err)
		}
		for i := range page.Items {
			all = append(all, resourceOf(of.kind, w.slimmed(&page.Items[i])))
		}
		if next = page.Continue; next == "" {
			return all, nil
		}
	}
}

func resourceOf(kind schema.GroupKind, o *metav1.PartialObjectMetadata) servicemesh.CustomResource {
	return servicemesh.CustomResource{Kind: kind.Kind, Namespace: o.Namespace, Name: o.Name, Labels: o.Labels}
}

// slim keeps of an object what is checked.
func (w *Watcher) slim(object any) (any, error) {
	if o, ok := object.(*metav1.PartialObjectMetadata); ok {
		return w.slimmed(o), nil
	}
	return object, nil
}

func (w *Watcher) slimmed(o *metav1.PartialObjectMetadata) *metav1.PartialObjectMetadata {
	slim := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: o.Namespace, Name: o.Name, UID: o.UID, ResourceVersion: o.ResourceVersion,
	}}
	if value, ok := o.Labels[w.config.Label]; ok {
		slim.Labels = map[string]string{w.config.Label: value}
	}
	return slim
}

// handler reports changes, but not the initial list of a watch.
func (w *Watcher) handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(_ any, initial bool) {
			if !initial {
				w.config.Changed()
			}
		},
		UpdateFunc: func(before, after any) {
			a, ok := before.(*metav1.PartialObjectMetadata)
			b, alsoOK := after.(*metav1.PartialObjectMetadata)
			if !ok || !alsoOK || a.Labels[w.config.Label] != b.Labels[w.config.Label] {
				w.config.Changed()
			}
		},
		DeleteFunc: func(any) { w.config.Changed() },
	}
}
