// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"fmt"
	"strings"
	"sync"
	"unique"
	"weak"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
)

// packed is an object as an informer's store holds it: its JSON, and what the
// informer and its handlers ask for. A tree of maps takes five times as much
// memory, and most objects are not read for months.
type packed struct {
	namespace, name, uid, version string
	// label is the value of the label that informers select by.
	label unique.Handle[string]
	data  string

	lock sync.Mutex
	// opened is the decoded object. It lives as long as a caller uses it, and after
	// that until the next garbage collection.
	opened weak.Pointer[unstructured.Unstructured]
}

var _ metav1.ObjectMetaAccessor = (*packed)(nil)

// pack packs an object.
func pack(object *unstructured.Unstructured, label string) (*packed, error) {
	data, err := json.Marshal(object.Object)
	if err != nil {
		return nil, fmt.Errorf("packing %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	p := &packed{data: string(data), label: unique.Make(object.GetLabels()[label])}
	p.namespace = unique.Make(object.GetNamespace()).Value()
	p.name, p.uid, p.version = p.part(object.GetName()), p.part(string(object.GetUID())), p.part(object.GetResourceVersion())
	return p, nil
}

// part is a text of the object, without memory of its own where the JSON contains it.
func (p *packed) part(text string) string {
	if at := strings.Index(p.data, text); at >= 0 {
		return p.data[at : at+len(text)]
	}
	return strings.Clone(text)
}

// GetObjectMeta is what informers ask for, and nothing else of the metadata.
func (p *packed) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{Namespace: p.namespace, Name: p.name, UID: types.UID(p.uid), ResourceVersion: p.version}
}

// open is the object. It is shared and must not be changed.
func (p *packed) open() (*unstructured.Unstructured, error) {
	p.lock.Lock()
	defer p.lock.Unlock()
	if object := p.opened.Value(); object != nil {
		return object, nil
	}
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(p.data), &object.Object); err != nil {
		return nil, fmt.Errorf("unpacking %s/%s: %w", p.namespace, p.name, err)
	}
	p.opened = weak.Make(object)
	return object, nil
}
