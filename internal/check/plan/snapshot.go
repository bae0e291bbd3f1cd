// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/revisions"
)

// readAtOnce is how many objects are read at a time.
const readAtOnce = 16

// Snapshot is the state of some objects at a moment. It stands in for the watches of a
// manager.
type Snapshot struct {
	states map[revisions.ObjectID]state
}

var _ revisions.Cache = (*Snapshot)(nil)

type state struct {
	// live is the object as it was read, nil when there is none.
	live *unstructured.Unstructured
	err  error
}

// Read reads the objects of revisions. One that cannot be read is an error of that
// object alone.
func Read(ctx context.Context, live client.Reader, all ...revisions.Revision) *Snapshot {
	s := &Snapshot{states: map[revisions.ObjectID]state{}}
	kinds := map[revisions.ObjectID]schema.GroupVersionKind{}
	for _, revision := range all {
		for _, phase := range revision.Phases {
			for _, object := range phase.Objects {
				if id := revisions.IDOf(object.Manifest); kinds[id].Empty() {
					kinds[id] = object.Manifest.GroupVersionKind()
				}
			}
		}
	}
	var lock sync.Mutex
	var group sync.WaitGroup
	room := make(chan struct{}, readAtOnce)
	for id, kind := range kinds {
		room <- struct{}{}
		group.Go(func() {
			defer func() { <-room }()
			read := readOne(ctx, live, id, kind)
			lock.Lock()
			defer lock.Unlock()
			s.states[id] = read
		})
	}
	group.Wait()
	return s
}

func readOne(ctx context.Context, live client.Reader, id revisions.ObjectID, kind schema.GroupVersionKind) state {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	err := live.Get(ctx, types.NamespacedName{Namespace: id.Namespace, Name: id.Name}, object)
	switch {
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return state{}
	case err != nil:
		return state{err: fmt.Errorf("reading %s: %w", id, err)}
	}
	return state{live: object}
}

// Live is an object as it was read, nil when there is none; the error says why it could
// not be read.
func (s *Snapshot) Live(id revisions.ObjectID) (*unstructured.Unstructured, error) {
	found := s.states[id]
	return found.live, found.err
}

// Ensure has nothing to watch.
func (s *Snapshot) Ensure(context.Context, string, []revisions.Kind) error { return nil }

// Get is the state of an object, as the engine reads it.
func (s *Snapshot) Get(kind schema.GroupVersionKind, key types.NamespacedName) (*unstructured.Unstructured, error) {
	found := s.states[revisions.ObjectID{GroupKind: kind.GroupKind(), Namespace: key.Namespace, Name: key.Name}]
	if found.live == nil || found.err != nil {
		return nil, found.err
	}
	trimmed := found.live.DeepCopy()
	revisions.Trim(trimmed, revisions.DefaultFieldOwner)
	return trimmed, nil
}

// Observe takes nothing in: no write has an effect.
func (s *Snapshot) Observe(*unstructured.Unstructured) {}
