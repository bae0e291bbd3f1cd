// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisionstest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-run/strata/revisions"
)

// Cache is a revisions.Cache of a [Cluster]. As informers do, it holds trimmed
// objects that carry a label, of the kinds that a user of the cache watches, and
// what our own writes have returned. [Cache.SetStale] makes it stale.
type Cache struct {
	// FieldOwner is that of the owner of the objects, revisions.DefaultFieldOwner at first.
	FieldOwner string

	cluster *Cluster
	label   string

	mu       sync.Mutex
	stale    bool
	seen     int
	users    map[string][]revisions.Kind
	states   map[revisions.ObjectID]*state
	pristine pristine
}

// pristine are the objects that readers have, each as it was given out.
type pristine map[*unstructured.Unstructured]*unstructured.Unstructured

func (p pristine) changed() []revisions.ObjectID {
	var changed []revisions.ObjectID
	for object, before := range p {
		if !equal(object.Object, before.Object) {
			changed = append(changed, revisions.IDOf(before))
		}
	}
	return slices.SortedFunc(slices.Values(changed), compareIDs)
}

// state is what is known of an object. Without an object it is known to be gone.
type state struct {
	version  int
	object   *unstructured.Unstructured
	metadata *unstructured.Unstructured
}

var _ revisions.Cache = (*Cache)(nil)

// NewCache is a cache of the objects of a cluster that carry a label.
func NewCache(cluster *Cluster, label string) *Cache {
	return &Cache{
		FieldOwner: revisions.DefaultFieldOwner, cluster: cluster, label: label, users: map[string][]revisions.Kind{}, states: map[revisions.ObjectID]*state{},
		pristine: pristine{},
	}
}

// SetStale keeps events back from now on, or delivers all of them.
func (c *Cache) SetStale(stale bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deliver()
	c.stale = stale
}

// Ensure watches the kinds for the user.
func (c *Cache) Ensure(ctx context.Context, user string, wanted []revisions.Kind) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("watching: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.users[user] = nil
	var unknown error
	for _, k := range wanted {
		if _, err := c.cluster.kinds.RESTMapping(k.GroupKind(), k.Version); err != nil {
			unknown = fmt.Errorf("watching %s: %w", k.GroupVersionKind, err)
			continue
		}
		if slices.ContainsFunc(c.users[user], func(other revisions.Kind) bool { return other.GroupVersionKind == k.GroupVersionKind }) {
			return fmt.Errorf("the kind %s is named twice", k.GroupVersionKind)
		}
		c.users[user] = append(c.users[user], k)
	}
	return unknown
}

// Get is the newest known state of an object, as it is watched.
func (c *Cache) Get(gvk schema.GroupVersionKind, key types.NamespacedName) (*unstructured.Unstructured, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	watched, whole := false, false
	for _, own := range c.users {
		for _, k := range own {
			if k.GroupVersionKind == gvk {
				watched, whole = true, whole || !k.MetadataOnly
			}
		}
	}
	if !watched {
		return nil, fmt.Errorf("the kind %s is not watched", gvk)
	}
	c.deliver()
	known, ok := c.states[revisions.ObjectID{GroupKind: gvk.GroupKind(), Namespace: key.Namespace, Name: key.Name}]
	if !ok {
		known = &state{}
	}
	if whole {
		return known.object, nil
	}
	return known.metadata, nil
}

// Labelled are the objects that carry a value of the label, but for those named.
func (c *Cache) Labelled(value string, except func(revisions.ObjectID) bool) []*unstructured.Unstructured {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deliver()
	var found []*unstructured.Unstructured
	for id, known := range c.states {
		if known.object != nil && known.object.GetLabels()[c.label] == value && !except(id) {
			found = append(found, known.object)
		}
	}
	return found
}

// Observe takes in the state that a write has returned.
func (c *Cache) Observe(object *unstructured.Unstructured) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.take(event{object: object})
}

// Changed are the objects that a reader has changed, which none may.
func (c *Cache) Changed() []revisions.ObjectID {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pristine.changed()
}

// deliver takes in the events that have happened since.
func (c *Cache) deliver() {
	if c.stale {
		return
	}
	events := c.cluster.eventsSince(c.seen)
	c.seen += len(events)
	for _, e := range events {
		c.take(e)
	}
}

// take takes in an event that is newer than what is known. An object that loses
// the label is gone, as a watch with a selector says.
func (c *Cache) take(e event) {
	id := revisions.IDOf(e.object)
	version, err := strconv.Atoi(e.object.GetResourceVersion())
	if err != nil || c.states[id] != nil && c.states[id].version >= version {
		return
	}
	next := &state{version: version}
	if _, labelled := e.object.GetLabels()[c.label]; labelled && !e.deleted {
		next.object = e.object.DeepCopy()
		revisions.Trim(next.object, c.FieldOwner)
		next.metadata = &unstructured.Unstructured{Object: maps.Clone(next.object.Object)}
		maps.DeleteFunc(next.metadata.Object, func(field string, _ any) bool {
			return field != "apiVersion" && field != "kind" && field != "metadata"
		})
		c.pristine[next.object] = next.object.DeepCopy()
	}
	if known := c.states[id]; known != nil {
		delete(c.pristine, known.object)
	}
	c.states[id] = next
}
