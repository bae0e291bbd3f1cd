// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package objectwatch

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
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// syncLimit is how long the first read of an object may take.
const syncLimit = 10 * time.Second

// Config is what a [Reader] needs. Every field is required but Label.
type Config struct {
	// Dynamic and Metadata watch objects, and the metadata of objects.
	Dynamic  dynamic.Interface
	Metadata metadata.Interface
	// Mapper finds the resource of a kind.
	Mapper meta.RESTMapper
	// Label is all that is kept of the metadata of objects whose whole kind is watched, besides
	// their names. Only its changes are reported of them.
	Label string
	// Changed is called when a watched object was created, changed or deleted. It must
	// not block.
	Changed func()
}

// Reader reads objects that it watches one by one. It may be used by several
// goroutines; passes must not overlap.
type Reader struct {
	config Config

	lock    sync.Mutex
	watches map[target]*watch
	pass    int
	closed  bool
}

// target is an object that is watched, or a whole resource.
type target struct {
	kind     schema.GroupVersionKind
	key      client.ObjectKey
	resource schema.GroupVersionResource
	// whole says that more than the metadata is read.
	whole bool
}

type watch struct {
	informer cache.SharedIndexInformer
	resource schema.GroupVersionResource
	stop     chan struct{}
	pass     int
}

// New is a Reader that watches nothing yet.
func New(config Config) *Reader {
	return &Reader{config: config, watches: map[target]*watch{}}
}

// Begin begins a pass: what is read from now on stays watched. End ends it: what was not
// read since is not watched any longer. A pass that has failed halfway is better not
// ended.
func (r *Reader) Begin() {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.pass++
}

// End is described at Begin.
func (r *Reader) End() {
	r.lock.Lock()
	defer r.lock.Unlock()
	for key, p := range r.watches {
		if p.pass != r.pass {
			close(p.stop)
			delete(r.watches, key)
		}
	}
}

// Close ends all watches. Nothing can be read afterwards.
func (r *Reader) Close() {
	r.lock.Lock()
	r.closed = true
	r.lock.Unlock()
	r.Begin()
	r.End()
}

// Get reads an object, whole when it is unstructured and else its metadata alone. Its
// kind has to be set. An object that does not exist is a NotFound error of the API.
// That a kind is not served is another error, as no event reports when that changes.
func (r *Reader) Get(ctx context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	_, whole := object.(*unstructured.Unstructured)
	p, err := r.ensure(target{kind: object.GetObjectKind().GroupVersionKind(), key: key, whole: whole})
	if err != nil {
		return err
	}
	resource := p.resource.GroupResource()
	if err := p.await(ctx); err != nil {
		return fmt.Errorf("watching %s %s: %w", resource, key, err)
	}
	name := key.Name
	if key.Namespace != "" {
		name = key.Namespace + "/" + key.Name
	}
	found, exists, err := p.informer.GetStore().GetByKey(name)
	if err != nil {
		return fmt.Errorf("reading %s %s: %w", resource, key, err)
	}
	if !exists {
		return apierrors.NewNotFound(resource, key.Name)
	}
	return copyInto(found, object)
}

// All reads all objects of a resource, in no order: their names and the label, see [Config].
// A watch that does not come up is begun anew with the next read.
func (r *Reader) All(ctx context.Context, resource schema.GroupVersionResource) ([]*metav1.PartialObjectMetadata, error) {
	p, err := r.ensure(target{resource: resource})
	if err != nil {
		return nil, err
	}
	if err := p.await(ctx); err != nil {
		r.lock.Lock()
		defer r.lock.Unlock()
		p.pass--
		return nil, err
	}
	var all []*metav1.PartialObjectMetadata
	for _, found := range p.informer.GetStore().List() {
		if object, ok := found.(*metav1.PartialObjectMetadata); ok {
			all = append(all, object)
		}
	}
	return all, nil
}

// await waits for the first list of a watch.
func (p *watch) await(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, syncLimit)
	defer cancel()
	if !cache.WaitForCacheSync(limited.Done(), p.informer.HasSynced) {
		return errors.New("the API server does not answer, or does not allow it")
	}
	return nil
}

// List is there to make a client.Reader; only single objects can be read.
func (*Reader) List(context.Context, client.ObjectList, ...client.ListOption) error {
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

// ensure watches an object, unless it is watched already.
func (r *Reader) ensure(object target) (*watch, error) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if p, ok := r.watches[object]; ok {
		p.pass = r.pass
		return p, nil
	}
	if r.closed {
		return nil, errors.New("the watches are closed")
	}
	resource := object.resource
	if resource.Empty() {
		mapping, err := r.config.Mapper.RESTMapping(object.kind.GroupKind(), object.kind.Version)
		if err != nil {
			return nil, fmt.Errorf("looking up %s: %w", object.kind, err)
		}
		resource = mapping.Resource
	}
	p := &watch{informer: r.informer(resource, object), resource: resource, stop: make(chan struct{}), pass: r.pass}
	trim, differ := trim, newer
	if object.key.Name == "" {
		trim, differ = r.slim, r.relabelled
	}
	if err := p.informer.SetTransform(trim); err != nil {
		return nil, fmt.Errorf("watching %s: %w", resource, err)
	}
	if _, err := p.informer.AddEventHandler(r.handler(differ)); err != nil {
		return nil, fmt.Errorf("watching %s: %w", resource, err)
	}
	r.watches[object] = p
	go p.informer.Run(p.stop)
	return p, nil
}

func (r *Reader) informer(resource schema.GroupVersionResource, object target) cache.SharedIndexInformer {
	alone := func(options *metav1.ListOptions) {
		if object.key.Name != "" {
			options.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, object.key.Name).String()
		}
	}
	if object.whole {
		return dynamicinformer.NewFilteredDynamicInformer(r.config.Dynamic, resource, object.key.Namespace, 0, cache.Indexers{}, alone).Informer()
	}
	return metadatainformer.NewFilteredMetadataInformer(r.config.Metadata, resource, object.key.Namespace, 0, cache.Indexers{}, alone).Informer()
}

// trim takes out what no caller reads and is large.
func trim(object any) (any, error) {
	if o, err := meta.Accessor(object); err == nil {
		o.SetManagedFields(nil)
	}
	return object, nil
}

// slim keeps of an object of a whole kind what [Reader.All] gives.
func (r *Reader) slim(object any) (any, error) {
	if o, ok := object.(*metav1.PartialObjectMetadata); ok {
		return Slim(o, r.config.Label), nil
	}
	return object, nil
}

// Slim is an object with one label at most.
func Slim(o *metav1.PartialObjectMetadata, label string) *metav1.PartialObjectMetadata {
	slim := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: o.Namespace, Name: o.Name, UID: o.UID, ResourceVersion: o.ResourceVersion,
	}}
	if value, ok := o.Labels[label]; ok {
		slim.Labels = map[string]string{label: value}
	}
	return slim
}

// handler reports changes, but not the initial list of a watch.
func (r *Reader) handler(differ func(before, after metav1.Object) bool) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(_ any, initial bool) {
			if !initial {
				r.config.Changed()
			}
		},
		UpdateFunc: func(before, after any) {
			was, errBefore := meta.Accessor(before)
			is, errAfter := meta.Accessor(after)
			if errBefore != nil || errAfter != nil || differ(was, is) {
				r.config.Changed()
			}
		},
		DeleteFunc: func(any) { r.config.Changed() },
	}
}

func newer(before, after metav1.Object) bool {
	return before.GetResourceVersion() != after.GetResourceVersion()
}

func (r *Reader) relabelled(before, after metav1.Object) bool {
	return before.GetLabels()[r.config.Label] != after.GetLabels()[r.config.Label]
}
