// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisionstest

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/revisions"
)

// remoteClient sends requests to a [Remote], and keeps the same journal of them as
// a [Client] does.
type remoteClient struct {
	unoffered

	remote *Remote
	name   string
}

var _ ReadWriter = (*remoteClient)(nil)

// Get reads an object.
func (c *remoteClient) Get(ctx context.Context, key types.NamespacedName, obj client.Object, options ...client.GetOption) error {
	object, request, err := requestOf(ctx, c.name, VerbGet, obj)
	if err != nil {
		return err
	}
	request.Object.Namespace, request.Object.Name = key.Namespace, key.Name
	return c.read(request, object.GroupVersionKind().Version, func() error { return c.remote.Client.Get(ctx, key, object, options...) })
}

// List reads the objects of a kind.
func (c *remoteClient) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	all, request, err := listOf(c.name, list, options)
	if err != nil {
		return err
	}
	return c.read(request, "", func() error { return c.remote.Client.List(ctx, all, options...) })
}

// read sends a request that changes nothing.
func (c *remoteClient) read(request Request, version string, send func() error) error {
	if version != "" {
		c.remote.touch(request.Object, version)
	}
	return c.remote.journal.answer(request, func() (string, error) {
		if err := c.remote.checkServed(request); err != nil {
			return "", err
		}
		return "", send()
	})
}

// Patch applies a server-side apply or a merge patch. A client whose name ends in
// /SUBRESOURCE writes through that.
func (c *remoteClient) Patch(ctx context.Context, obj client.Object, patch client.Patch, options ...client.PatchOption) error {
	object, w, err := patchOf(ctx, c.name, obj, patch, options)
	if err != nil {
		return err
	}
	name, subresource, through := strings.Cut(w.manager, "/")
	options = append(options, client.FieldOwner(name))
	return c.write(w, func() error {
		if !through {
			return c.remote.Client.Patch(ctx, object, patch, options...)
		}
		data, err := patch.Data(object)
		if err != nil {
			return fmt.Errorf("encoding the patch: %w", err)
		}
		// The body is not the object's but a Scale's, so it is given apart.
		part := &unstructured.Unstructured{}
		part.SetGroupVersionKind(schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"})
		return c.remote.Client.SubResource(subresource).Patch(ctx, object, client.RawPatch(patch.Type(), data), client.FieldOwner(name), client.WithSubResourceBody(part))
	})
}

// Create creates an object.
func (c *remoteClient) Create(ctx context.Context, obj client.Object, options ...client.CreateOption) error {
	object, request, err := requestOf(ctx, c.name, VerbCreate, obj)
	if err != nil {
		return err
	}
	w := newWrite(request, object.Object, object.GroupVersionKind().Version, "")
	return c.write(w, func() error {
		return c.remote.Client.Create(ctx, object, append(options, client.FieldOwner(c.name))...)
	})
}

// Update replaces an object.
func (c *remoteClient) Update(ctx context.Context, obj client.Object, options ...client.UpdateOption) error {
	object, request, err := requestOf(ctx, c.name, VerbUpdate, obj)
	if err != nil {
		return err
	}
	w := newWrite(request, object.Object, object.GroupVersionKind().Version, "")
	return c.write(w, func() error {
		return c.remote.Client.Update(ctx, object, append(options, client.FieldOwner(c.name))...)
	})
}

// Delete deletes an object.
func (c *remoteClient) Delete(ctx context.Context, obj client.Object, options ...client.DeleteOption) error {
	object, request, err := requestOf(ctx, c.name, VerbDelete, obj)
	if err != nil {
		return err
	}
	request.Condition = deleteCondition((&client.DeleteOptions{}).ApplyOptions(options))
	w := write{request: request, version: object.GroupVersionKind().Version}
	return c.write(w, func() error { return c.remote.Client.Delete(ctx, object, options...) })
}

// write sends a write, and tells its effect by what is there before and after it.
func (c *remoteClient) write(w write, send func() error) error {
	c.remote.touch(w.request.Object, w.version)
	return c.remote.journal.answer(w.request, func() (string, error) {
		if err := c.remote.checkServed(w.request); err != nil {
			return "", err
		}
		before, err := c.remote.read(w.request.Object)
		if err != nil {
			return "", err
		}
		if err := send(); err != nil || w.request.DryRun {
			return "", err
		}
		after, err := c.remote.read(w.request.Object)
		return effectOf(before, after), err
	})
}

func effectOf(before, after *unstructured.Unstructured) string {
	switch {
	case before == nil:
		return "created"
	case after == nil:
		return "deleted"
	case before.GetResourceVersion() == after.GetResourceVersion():
		return "unchanged"
	case before.GetDeletionTimestamp() == nil && after.GetDeletionTimestamp() != nil:
		return "marked for deletion"
	default:
		return "changed"
	}
}

// checkServed answers for a kind of which the script says that it is not served.
func (r *Remote) checkServed(request Request) error {
	switch r.servingOf(request.Object.GroupKind) {
	case Unknown:
		return &meta.NoKindMatchError{GroupKind: request.Object.GroupKind}
	case Unreachable:
		return pathNotFound(request)
	default:
		return nil
	}
}

// remoteCache is a cache of the objects of a [Remote].
type remoteCache struct {
	revisions.Cache

	delay func(bool)

	mu       sync.Mutex
	stale    bool
	pristine pristine
}

func (r *Remote) newCache() (Watcher, error) {
	inner, delay, err := r.NewCache()
	if err != nil {
		return nil, fmt.Errorf("making the cache: %w", err)
	}
	r.cache = &remoteCache{Cache: inner, delay: delay, pristine: pristine{}}
	return r.cache, nil
}

// Get is the newest known state of an object.
func (c *remoteCache) Get(gvk schema.GroupVersionKind, key types.NamespacedName) (*unstructured.Unstructured, error) {
	object, err := c.Cache.Get(gvk, key)
	c.mu.Lock()
	defer c.mu.Unlock()
	if object != nil && c.pristine[object] == nil {
		c.pristine[object] = object.DeepCopy()
	}
	return object, err
}

// SetStale keeps events back from now on, or delivers all of them.
func (c *remoteCache) SetStale(stale bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stale = stale
	c.delay(stale)
}

// Changed are the objects that a reader has changed, which none may.
func (c *remoteCache) Changed() []revisions.ObjectID {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pristine.changed()
}

// knows says whether the cache has the state of an object that is given, unless the
// kind is not watched or the events are delayed.
func (c *remoteCache) knows(gvk schema.GroupVersionKind, id revisions.ObjectID, object *unstructured.Unstructured, label string) error {
	c.mu.Lock()
	stale := c.stale
	c.mu.Unlock()
	known, unwatched := c.Cache.Get(gvk, types.NamespacedName{Namespace: id.Namespace, Name: id.Name})
	want, has := "", ""
	if object != nil && object.GetLabels()[label] != "" {
		want = object.GetResourceVersion()
	}
	if known != nil {
		has = known.GetResourceVersion()
	}
	if unwatched == nil && !stale && want != has {
		return fmt.Errorf("the cache has %s in version %q, and it is in version %q", id, has, want)
	}
	return nil
}
