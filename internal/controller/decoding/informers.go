// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package decoding

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Kind is one whose resources may not decode.
type Kind struct {
	// Object is an empty object of its type.
	Object client.Object
	// Resource is where its resources are.
	Resource schema.GroupVersionResource
	// Namespace is the only one that is read of it, empty for all.
	Namespace string
}

// Informers makes informers that survive resources that do not decode.
type Informers struct {
	// Reader reads without types.
	Reader dynamic.Interface
	// Decoder decodes as clients do.
	Decoder runtime.Decoder
	// Kinds are those that it is about. Others are as strict as ever.
	Kinds []Kind
}

// New makes an informer. It has the form that caches ask for.
func (i *Informers) New(source toolscache.ListerWatcher, example runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
	for _, kind := range i.Kinds {
		if typeOf(kind.Object) == typeOf(example) {
			source = i.tolerant(source, kind)
		}
	}
	return toolscache.NewSharedIndexInformer(source, example, resync, indexers)
}

// tolerant lists without types what cannot be listed with them. A watch that comes upon such a
// resource ends, and the reflector lists.
func (i *Informers) tolerant(source toolscache.ListerWatcher, kind Kind) toolscache.ListerWatcher {
	typed := toolscache.ToListerWatcherWithContext(source)
	return &toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list, err := typed.ListWithContext(ctx, options)
			if err == nil || ctx.Err() != nil || isAnswer(err) {
				return list, err
			}
			tolerated, fallbackErr := i.list(ctx, kind, options)
			if fallbackErr != nil {
				return nil, fmt.Errorf("%w; without types: %w", err, fallbackErr)
			}
			return tolerated, nil
		},
		WatchFuncWithContext: typed.WatchWithContext,
	}
}

// isAnswer says whether an error is what the API server has said.
func isAnswer(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status)
}

// list reads a page of a kind, and marks what does not decode.
func (i *Informers) list(ctx context.Context, kind Kind, options metav1.ListOptions) (runtime.Object, error) {
	page, err := i.Reader.Resource(kind.Resource).Namespace(kind.Namespace).List(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", kind.Resource.GroupResource(), err)
	}
	list := &metav1.List{ListMeta: metav1.ListMeta{
		ResourceVersion: page.GetResourceVersion(), Continue: page.GetContinue(), RemainingItemCount: page.GetRemainingItemCount(),
	}}
	for n := range page.Items {
		object, err := i.decode(&page.Items[n], kind.Object)
		if err != nil {
			return nil, err
		}
		list.Items = append(list.Items, runtime.RawExtension{Object: object})
	}
	return list, nil
}

// decode gives an object its type. One that does not decode is left with its metadata, a mark,
// and its status if that decodes.
func (i *Informers) decode(from *unstructured.Unstructured, example client.Object) (client.Object, error) {
	object, cause := i.typed(from.Object, example)
	if cause == nil {
		return object, nil
	}
	parts := map[string]any{}
	for _, key := range []string{"apiVersion", "kind", "metadata", "status"} {
		if value, ok := from.Object[key]; ok {
			parts[key] = value
		}
	}
	object, err := i.typed(parts, example)
	if err != nil {
		delete(parts, "status")
		object, err = i.typed(parts, example)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the metadata of %s: %w", from.GetName(), err)
	}
	field := culprit(from.Object, func(value map[string]any) bool {
		_, err := i.typed(value, example)
		return err == nil
	})
	put(object, field, cause)
	return object, nil
}

func (i *Informers) typed(value map[string]any, example client.Object) (client.Object, error) {
	data, err := (&unstructured.Unstructured{Object: value}).MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("encoding it: %w", err)
	}
	decoded, kind, err := i.Decoder.Decode(data, nil, nil)
	if err != nil {
		return nil, err
	}
	object, ok := decoded.(client.Object)
	if !ok || typeOf(object) != typeOf(example) {
		return nil, fmt.Errorf("%s decodes as %T", kind, decoded)
	}
	return object, nil
}

// typeOf names the Go type of an object.
func typeOf(object runtime.Object) string { return fmt.Sprintf("%T", object) }
