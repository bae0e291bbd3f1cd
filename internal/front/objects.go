// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// Manager is the field manager of what the manager writes without naming one, as the API server
// takes it from the user agent.
const Manager = "strata-manager"

// FieldOwner is the field manager of what fronts write on objects that they do not own.
const FieldOwner = client.FieldOwner("strata-front")

// Definition is an empty CustomResourceDefinition of which only the metadata are read.
func Definition() *metav1.PartialObjectMetadata {
	return Metadata(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
}

// Metadata is an empty object of a kind of which only the metadata are read.
func Metadata(kind schema.GroupVersionKind) *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(kind)
	return object
}

// MetadataList is an empty list of objects of a kind, of which only the metadata are read.
func MetadataList(kind schema.GroupVersionKind) *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	return list
}

// Untyped is an empty object of a kind that we have no type of.
func Untyped(kind schema.GroupVersionKind) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	return object
}

// Found says whether a read has found something. Any error but that there is nothing is
// given back: what cannot be read may be there.
func Found(err error) (bool, error) {
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// Named lets through news of the objects of one name.
func Named(name string) predicate.Predicate {
	return only(func(object client.Object) bool { return object.GetName() == name })
}

// Within lets through news of the objects of one namespace.
func Within(namespace string) predicate.Predicate {
	return only(func(object client.Object) bool { return object.GetNamespace() == namespace })
}

// only lets through news of some objects, and not that an informer has listed them again.
func only(matters func(client.Object) bool) predicate.Predicate {
	return predicate.And(predicate.ResourceVersionChangedPredicate{}, predicate.NewPredicateFuncs(matters))
}
