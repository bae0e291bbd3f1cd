// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisionstest

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-run/strata/revisions"
)

// Cluster is an API server in memory. It is safe for concurrent use.
type Cluster struct {
	Journal

	kinds *kinds

	// The lock of the journal guards the rest.
	now     time.Time
	version int
	uids    int
	objects map[revisions.ObjectID]*stored
	events  []event
}

// event is the state of an object after a change, or the last one before it was
// deleted.
type event struct {
	object  *unstructured.Unstructured
	deleted bool
}

// epoch is when the clocks of clusters and scripts begin.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// New is a cluster with the namespaces "default" and "app". Its clock stands at
// the start of 2026 and moves only with [Cluster.Advance]: as on a real cluster,
// much happens within the second that is the unit of managedFields.
func New() *Cluster {
	c := &Cluster{kinds: newKinds(), now: epoch, version: 100, objects: map[revisions.ObjectID]*stored{}}
	for _, name := range []string{"default", "app"} {
		object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}}
		c.store(revisions.IDOf(object), nil, &stored{object: object})
	}
	return c
}

// Mapper knows the kinds that the cluster serves.
func (c *Cluster) Mapper() meta.RESTMapper { return c.kinds }

// Client is a client of the cluster. Its name stands in the log of requests, and
// is its field manager where a request names none.
func (c *Cluster) Client(name string) *Client { return &Client{cluster: c, name: name} }

// Advance moves the clock.
func (c *Cluster) Advance(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(by)
}

// Now is the time of the cluster.
func (c *Cluster) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Serve says how far a kind is served from now on. Its objects stay.
func (c *Cluster) Serve(gk schema.GroupKind, serving Serving) { c.kinds.serve(gk, serving) }

// Objects are all objects but the namespaces that were there from the start, in
// order.
func (c *Cluster) Objects() []*unstructured.Unstructured {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []*unstructured.Unstructured
	for _, id := range slices.SortedFunc(maps.Keys(c.objects), compareIDs) {
		if id.GroupKind != namespaceKind || id.Name != "default" && id.Name != "app" {
			all = append(all, c.objects[id].render())
		}
	}
	return all
}

// SetStatus replaces the status of an object, as its controller would. It does
// nothing where there is none.
func (c *Cluster) SetStatus(id revisions.ObjectID, status map[string]any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.objects[id]
	if before == nil {
		return
	}
	next := before.clone()
	next.object.Object["status"] = status
	c.store(id, before, next)
}

// CollectGarbage does what the garbage collector does when an owner is gone: what
// has no other owner is deleted, the rest loses the reference.
func (c *Cluster) CollectGarbage(owner types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range slices.SortedFunc(maps.Keys(c.objects), compareIDs) {
		before := c.objects[id]
		references := before.object.GetOwnerReferences()
		others := slices.DeleteFunc(slices.Clone(references), func(ref metav1.OwnerReference) bool { return ref.UID == owner })
		switch {
		case len(others) == len(references):
		case len(others) == 0:
			c.remove(id)
		default:
			next := before.clone()
			next.object.SetOwnerReferences(others)
			c.store(id, before, next)
		}
	}
}

// store puts the next state of an object in place of the one before, nil for an
// object that is new. A state that is no different changes nothing. It returns the
// state that the object has then.
func (c *Cluster) store(id revisions.ObjectID, before, next *stored) *stored {
	next.settle()
	if before != nil && equal(before.render().Object, next.render().Object) {
		return before
	}
	c.version++
	next.object.SetResourceVersion(strconv.Itoa(c.version))
	switch {
	case before == nil:
		c.uids++
		next.object.SetUID(types.UID("uid-" + strconv.Itoa(c.uids)))
		next.object.SetCreationTimestamp(metav1.NewTime(c.now))
		if hasGeneration(id.GroupKind) {
			next.object.SetGeneration(1)
		}
	case hasGeneration(id.GroupKind) && !equal(specOf(before.object), specOf(next.object)):
		next.object.SetGeneration(before.object.GetGeneration() + 1)
	}
	if next.object.GetDeletionTimestamp() != nil && len(next.object.GetFinalizers()) == 0 {
		c.objects[id] = next
		c.remove(id)
		return next
	}
	if id.GroupKind == definitionKind {
		c.kinds.define(next.object)
	}
	c.objects[id] = next
	c.events = append(c.events, event{object: next.render()})
	return next
}

// remove takes an object out, and with a CustomResourceDefinition all objects of
// its kind.
func (c *Cluster) remove(id revisions.ObjectID) {
	gone := c.objects[id]
	delete(c.objects, id)
	c.version++
	gone.object.SetResourceVersion(strconv.Itoa(c.version))
	c.events = append(c.events, event{object: gone.render(), deleted: true})
	if id.GroupKind != definitionKind {
		return
	}
	gk, _ := definedKind(gone.object)
	c.kinds.end(gk)
	for _, other := range slices.SortedFunc(maps.Keys(c.objects), compareIDs) {
		if other.GroupKind == gk {
			c.remove(other)
		}
	}
}

// eventsSince are the events from a number on.
func (c *Cluster) eventsSince(number int) []event {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.events[number:]
}

func (c *Cluster) timestamp() string { return c.now.UTC().Format(time.RFC3339) }

// hasGeneration says whether objects of a kind have a generation, which the older kinds of
// Kubernetes lack.
func hasGeneration(kind schema.GroupKind) bool {
	return kind.Group != "rbac.authorization.k8s.io" &&
		(kind.Group != "" || !slices.Contains([]string{"ConfigMap", "Namespace", "Secret", "Service", "ServiceAccount"}, kind.Kind))
}

// specOf is what counts for the generation.
func specOf(object *unstructured.Unstructured) map[string]any {
	spec := maps.Clone(object.Object)
	delete(spec, "metadata")
	delete(spec, "status")
	return spec
}

func compareIDs(a, b revisions.ObjectID) int {
	return slices.Compare([]string{a.Kind, a.Group, a.Namespace, a.Name}, []string{b.Kind, b.Group, b.Namespace, b.Name})
}
