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
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/internal/front/kyma/servicemesh"
	"github.com/strata-run/strata/revisions/cache"
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
	// Objects watches the metadata of objects, and reports when one comes or goes, or its label
	// changes. Metadata lists them.
	Objects  *cache.Objects
	Metadata metadata.Interface
	// Label is the only label that is kept of an object.
	Label string
	// SyncLimit is how long the first read of a kind may take. Default 10 s.
	SyncLimit time.Duration
}

// Watcher watches custom resources. It may be used by several goroutines, of which one at a
// time looks.
type Watcher struct {
	config Config

	lock sync.Mutex
	// resources are the kinds in a version that is served.
	resources map[schema.GroupKind]schema.GroupVersionResource
}

// New is a Watcher that watches nothing yet.
func New(config Config) *Watcher {
	if config.SyncLimit == 0 {
		config.SyncLimit = 10 * time.Second
	}
	return &Watcher{config: config, resources: map[schema.GroupKind]schema.GroupVersionResource{}}
}

// Look gives all objects as the watches know them, in no order. The error says of which kinds
// they are not known.
func (w *Watcher) Look(ctx context.Context) ([]servicemesh.CustomResource, error) {
	limited, cancel := context.WithTimeout(ctx, w.config.SyncLimit)
	defer cancel()
	w.config.Objects.Begin()
	defer w.config.Objects.End()
	return w.each(ctx, func(kind schema.GroupKind, resource schema.GroupVersionResource) ([]servicemesh.CustomResource, error) {
		objects, err := w.config.Objects.All(limited, resource, w.config.Label)
		if err != nil {
			return nil, fmt.Errorf("watching objects of kind %s: %w", kind, err)
		}
		var all []servicemesh.CustomResource
		for _, object := range objects {
			all = append(all, w.resourceOf(kind, object))
		}
		return all, nil
	})
}

// Confirm gives all objects as the API server has them now, in no order.
func (w *Watcher) Confirm(ctx context.Context) ([]servicemesh.CustomResource, error) {
	return w.each(ctx, func(kind schema.GroupKind, resource schema.GroupVersionResource) ([]servicemesh.CustomResource, error) {
		return w.list(ctx, kind, resource)
	})
}

// Stop ends all watches. The next look begins them anew.
func (w *Watcher) Stop() { w.config.Objects.Stop() }

// each reads every kind that is defined. One that cannot be read may not be served any more in
// the version that was: the next read finds out.
func (w *Watcher) each(ctx context.Context, read func(schema.GroupKind, schema.GroupVersionResource) ([]servicemesh.CustomResource, error)) ([]servicemesh.CustomResource, error) {
	var all []servicemesh.CustomResource
	var errs []error
	for _, kind := range w.config.Kinds {
		resource, defined, err := w.resource(ctx, kind)
		var objects []servicemesh.CustomResource
		if defined && err == nil {
			objects, err = read(kind.GroupKind, resource)
		}
		if !defined || err != nil {
			w.lock.Lock()
			delete(w.resources, kind.GroupKind)
			w.lock.Unlock()
		}
		all, errs = append(all, objects...), append(errs, err)
	}
	return all, errors.Join(errs...)
}

// resource is a kind in a version that is served, if the kind is defined.
func (w *Watcher) resource(ctx context.Context, kind servicemesh.BlockingKind) (resource schema.GroupVersionResource, defined bool, err error) {
	if defined, err = w.isDefined(ctx, kind.Definition()); err != nil || !defined {
		return resource, defined, err
	}
	w.lock.Lock()
	defer w.lock.Unlock()
	if known, ok := w.resources[kind.GroupKind]; ok {
		return known, true, nil
	}
	if resource, err = w.served(ctx, kind); err != nil {
		return resource, true, fmt.Errorf("finding out in which version %s are served, which are defined: %w", kind.Definition(), err)
	}
	w.resources[kind.GroupKind] = resource
	return resource, true, nil
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
func (w *Watcher) list(ctx context.Context, kind schema.GroupKind, resource schema.GroupVersionResource) ([]servicemesh.CustomResource, error) {
	var all []servicemesh.CustomResource
	for next := ""; ; {
		page, err := w.config.Metadata.Resource(resource).List(ctx, metav1.ListOptions{Limit: listPage, Continue: next})
		if err != nil {
			return all, fmt.Errorf("listing objects of kind %s: %w", kind, err)
		}
		for i := range page.Items {
			all = append(all, w.resourceOf(kind, &page.Items[i]))
		}
		if next = page.Continue; next == "" {
			return all, nil
		}
	}
}

func (w *Watcher) resourceOf(kind schema.GroupKind, o *metav1.PartialObjectMetadata) servicemesh.CustomResource {
	found := servicemesh.CustomResource{Kind: kind.Kind, Namespace: o.Namespace, Name: o.Name}
	if value, ok := o.Labels[w.config.Label]; ok {
		found.Labels = map[string]string{w.config.Label: value}
	}
	return found
}
