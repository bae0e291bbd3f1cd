// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"context"
	"errors"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
)

// proof is what a pass has found about its own knowledge, once it was asked for.
type proof struct {
	lock  sync.Mutex
	asked bool
	err   error
}

// confirm proves, at most once in a pass, that the package and its revisions are as the
// cache has them: before the first write of a content, before the first write for a
// package after the process has begun to lead, as the cache may be from before what
// another manager has done, and wherever the engine doubts it.
func (p *pass) confirm(ctx context.Context, doubt bool) error {
	p.proof.lock.Lock()
	defer p.proof.lock.Unlock()
	if !p.proof.asked && (doubt || !p.state.confirmed) {
		p.proof.err, p.proof.asked = p.proveCurrent(ctx), true
		p.state.confirmed = p.state.confirmed || p.proof.err == nil
	}
	return p.proof.err
}

// proveCurrent reads the package and the metadata of its revisions live. Packages and
// revisions are watched apart, so a revision may be known before the approval, the gate
// or the pause that its package asked for first; and a cache may lag behind both. What has
// changed is a conflict: the next pass sees what is asked for.
func (p *pass) proveCurrent(ctx context.Context) error {
	live := &v1alpha1.Package{}
	if err := p.Live.Get(ctx, types.NamespacedName{Name: p.pkg.Name}, live); err != nil {
		return fmt.Errorf("reading package %s before its objects are written: %w", p.pkg.Name, err)
	}
	if live.UID != p.pkg.UID || live.Generation != p.pkg.Generation {
		return changedMeanwhile("packages", p.pkg.Name)
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("RevisionList"))
	if err := p.Live.List(ctx, list, client.MatchingFields{indexPackage: p.pkg.Name}); err != nil {
		return fmt.Errorf("reading the revisions of package %s before its objects are written: %w", p.pkg.Name, err)
	}
	return p.compareWith(list.Items)
}

// compareWith says which revision the pass does not know, or not as it is.
func (p *pass) compareWith(live []metav1.PartialObjectMetadata) error {
	cached := map[types.UID]*v1alpha1.Revision{}
	for _, revision := range p.all() {
		cached[revision.UID] = &revision
	}
	for i := range live {
		revision, ok := cached[live[i].UID]
		delete(cached, live[i].UID)
		switch {
		case ok && revision.Generation == live[i].Generation:
		case ok, !isDeleted(&live[i]) && !isOfEarlier(p.pkg, &live[i]):
			return changedMeanwhile("revisions", live[i].Name)
		}
	}
	for _, revision := range cached {
		if revision.Spec.LifecycleState != v1alpha1.LifecycleArchived {
			return changedMeanwhile("revisions", revision.Name)
		}
	}
	return nil
}

func changedMeanwhile(resource, name string) error {
	return fmt.Errorf("looking at what is wanted now: %w", apierrors.NewConflict(
		schema.GroupResource{Group: v1alpha1.GroupVersion.Group, Resource: resource}, name, errors.New("it has changed, and is checked again")))
}
