// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisionstest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/revisions"
)

// Remote is an API server outside of this process, to play one script on: each
// script gets a Remote of its own. The namespaces that scripts use must exist. All
// fields are required.
type Remote struct {
	// Client may do everything.
	Client client.Client
	// Mapper is the engine's.
	Mapper meta.RESTMapper
	// NewCache is an empty cache of the objects with the owner's label, and how to
	// delay its events.
	NewCache func() (revisions.Cache, func(stale bool), error)
	// Owners are the owners of lines, one after the other. They are created when they
	// are needed, and must all be of one kind, name and label, and of different groups,
	// as one may still be there when the next comes.
	Owners []revisions.Owner

	journal Journal

	mu      sync.Mutex
	owned   int
	touched map[revisions.ObjectID]schema.GroupVersionKind
	serving map[schema.GroupKind]Serving
	cache   *remoteCache
}

// Bounds of what an API server and its controllers take.
const (
	settleLimit = 90 * time.Second
	// collectLimit is long, as the garbage collector learns only twice a minute of kinds
	// that are new.
	collectLimit = 2 * time.Minute
)

// Target plays a script on the API server.
func (r *Remote) Target() *Target {
	r.touched, r.serving = map[revisions.ObjectID]schema.GroupVersionKind{}, map[schema.GroupKind]Serving{}
	return &Target{
		Journal:   &r.journal,
		Client:    func(name string) ReadWriter { return &remoteClient{remote: r, name: name} },
		Mapper:    &remoteMapper{RESTMapper: r.Mapper, remote: r},
		NewCache:  r.newCache,
		NewOwner:  r.newOwner,
		Collect:   r.collect,
		SetStatus: r.setStatus,
		Serve: func(kind schema.GroupVersionKind, serving Serving) error {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.serving[kind.GroupKind()] = serving
			return nil
		},
		// What an object tells of time, it tells in seconds.
		Advance: func(time.Duration) { awaitAnotherSecond() },
		Objects: r.objects,
		Settle:  r.settle,
	}
}

func (r *Remote) newOwner() (revisions.Owner, error) {
	if r.owned == len(r.Owners) {
		return revisions.Owner{}, fmt.Errorf("the script has more than %d owners", len(r.Owners))
	}
	owner := &r.Owners[r.owned]
	object := ownerObject(*owner)
	if err := r.Client.Create(context.Background(), object); err != nil {
		return revisions.Owner{}, fmt.Errorf("creating the owner: %w", err)
	}
	owner.UID = object.GetUID()
	r.owned++
	return *owner, nil
}

func ownerObject(owner revisions.Owner) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetAPIVersion(owner.APIVersion)
	object.SetKind(owner.Kind)
	object.SetName(owner.Name)
	return object
}

// collect deletes an owner, and waits for the garbage collector.
func (r *Remote) collect(uid types.UID) error {
	for _, owner := range r.Owners[:r.owned] {
		if owner.UID != uid {
			continue
		}
		if err := client.IgnoreNotFound(r.Client.Delete(context.Background(), ownerObject(owner))); err != nil {
			return fmt.Errorf("deleting the owner: %w", err)
		}
	}
	return await(collectLimit, func() error {
		objects, err := r.objects()
		for _, object := range objects {
			for _, ref := range object.GetOwnerReferences() {
				if ref.UID == uid {
					return fmt.Errorf("%s has still the owner that is gone", revisions.IDOf(object))
				}
			}
		}
		return err
	})
}

func (r *Remote) setStatus(kind schema.GroupVersionKind, id revisions.ObjectID, ready, serving bool) error {
	if id.GroupKind == definitionKind {
		// The API server does it itself, and settle waits for it.
		return nil
	}
	object := blank(kind, id)
	object.Object["status"] = statusOf(id.GroupKind, ready, serving)
	data, err := object.MarshalJSON()
	if err == nil {
		err = r.Client.Status().Patch(context.Background(), object, client.RawPatch(types.MergePatchType, data))
	}
	if err != nil {
		return fmt.Errorf("setting the status of %s: %w", id, err)
	}
	return nil
}

// touch notes an object that the script has to do with.
func (r *Remote) touch(id revisions.ObjectID, version string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.touched[id] = id.WithVersion(version)
}

// ids are the objects that the script has to do with, in order.
func (r *Remote) ids() []revisions.ObjectID {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.SortedFunc(maps.Keys(r.touched), compareIDs)
}

func (r *Remote) servingOf(gk schema.GroupKind) Serving {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.serving[gk]
}

// read reads an object as it is, in whatever version is served; nil when there is
// none.
func (r *Remote) read(id revisions.ObjectID) (*unstructured.Unstructured, error) {
	r.mu.Lock()
	gvk := r.touched[id]
	r.mu.Unlock()
	object := blank(gvk, id)
	err := r.Client.Get(context.Background(), types.NamespacedName{Namespace: id.Namespace, Name: id.Name}, object)
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		if other := r.otherVersion(gvk); other != "" {
			object = blank(id.WithVersion(other), id)
			err = r.Client.Get(context.Background(), types.NamespacedName{Namespace: id.Namespace, Name: id.Name}, object)
		}
	}
	switch {
	case err == nil:
		return object, nil
	case meta.IsNoMatchError(err), apierrors.IsNotFound(err):
		object = nil
		return object, nil
	default:
		return nil, fmt.Errorf("reading %s: %w", id, err)
	}
}

// otherVersion is another version of a kind that the script has defined, empty when
// there is none. The mapper does not tell, as it forgets no version.
func (r *Remote) otherVersion(gvk schema.GroupVersionKind) string {
	for _, id := range r.ids() {
		if id.GroupKind != definitionKind {
			continue
		}
		definition := blank(id.WithVersion("v1"), id)
		if err := r.Client.Get(context.Background(), types.NamespacedName{Name: id.Name}, definition); err != nil {
			continue
		}
		if gk, _ := definedKind(definition); gk != gvk.GroupKind() {
			continue
		}
		for version, served := range definedVersions(definition) {
			if served && version != gvk.Version {
				return version
			}
		}
	}
	return ""
}

func (r *Remote) objects() ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	for _, id := range r.ids() {
		object, err := r.read(id)
		if err != nil {
			return nil, err
		}
		if object != nil {
			all = append(all, object)
		}
	}
	return all, nil
}

// settle waits until the API server has ended what it does on its own, and the
// cache, unless it is stale, knows the newest state of everything.
func (r *Remote) settle() error {
	return await(settleLimit, func() error {
		for _, id := range r.ids() {
			object, err := r.read(id)
			if err == nil {
				err = r.settled(id, object)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func (r *Remote) settled(id revisions.ObjectID, object *unstructured.Unstructured) error {
	switch {
	case object == nil:
	case id.GroupKind == namespaceKind && object.GetDeletionTimestamp() != nil:
		return fmt.Errorf("%s is being deleted", id)
	case id.GroupKind == definitionKind:
		if err := r.defined(object); err != nil {
			return err
		}
	}
	r.mu.Lock()
	gvk := r.touched[id]
	r.mu.Unlock()
	if r.cache == nil || object != nil && object.GroupVersionKind() != gvk {
		// Its version is served no longer, and no watch tells of it.
		return nil
	}
	return r.cache.knows(gvk, id, object, r.Owners[0].Label)
}

// defined says that a CustomResourceDefinition is served, or gone.
func (r *Remote) defined(definition *unstructured.Unstructured) error {
	if definition.GetDeletionTimestamp() != nil {
		return fmt.Errorf("%s is being deleted", revisions.IDOf(definition))
	}
	gk, _ := definedKind(definition)
	for name, served := range definedVersions(definition) {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gk.WithVersion(name))
		list.SetKind(gk.Kind + "List")
		err := r.Client.List(context.Background(), list)
		if served != (err == nil) {
			return fmt.Errorf("%s is served: %v, want %v: %w", list.GroupVersionKind(), !served, served, errors.Join(err))
		}
	}
	return nil
}

// Clean deletes everything that the script has left.
func (r *Remote) Clean() error {
	for _, owner := range r.Owners[:r.owned] {
		if err := client.IgnoreNotFound(r.Client.Delete(context.Background(), ownerObject(owner))); err != nil {
			return fmt.Errorf("deleting an owner: %w", err)
		}
	}
	return await(settleLimit, func() error {
		objects, err := r.objects()
		for _, object := range objects {
			id := revisions.IDOf(object)
			if object.GetFinalizers() != nil && id.GroupKind != definitionKind && id.GroupKind != namespaceKind {
				err = errors.Join(err, r.Client.Patch(context.Background(), object.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))))
			}
			err = errors.Join(err, client.IgnoreNotFound(r.Client.Delete(context.Background(), object)), fmt.Errorf("%s is still there", id))
		}
		return err
	})
}

// await asks until there is no error, and returns the last one.
func await(limit time.Duration, ask func() error) error {
	var last error
	err := wait.PollUntilContextTimeout(context.Background(), 10*time.Millisecond, limit, true, func(context.Context) (bool, error) {
		last = ask()
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("not within %s: %w", limit, last)
	}
	return nil
}

// awaitAnotherSecond waits until the API server's clock shows another second, too.
func awaitAnotherSecond() {
	began := time.Now()
	_ = await(settleLimit, func() error { // has no end but success
		if time.Since(began) < time.Second+100*time.Millisecond {
			return errors.New("it is the same second")
		}
		return nil
	})
}

func blank(gvk schema.GroupVersionKind, id revisions.ObjectID) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(gvk)
	object.SetName(id.Name)
	if id.Namespace != "" {
		object.SetNamespace(id.Namespace)
	}
	return object
}

// remoteMapper does not know the kinds of which the script says so.
type remoteMapper struct {
	meta.RESTMapper

	remote *Remote
}

// RESTMapping is the mapping of a kind.
func (m *remoteMapper) RESTMapping(gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	if m.remote.servingOf(gk) == Unknown {
		return nil, &meta.NoKindMatchError{GroupKind: gk, SearchedVersions: versions}
	}
	return m.RESTMapper.RESTMapping(gk, versions...)
}
