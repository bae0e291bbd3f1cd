// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
)

const (
	// indexContent is the cache index of Revisions by what they refer to.
	indexContent = "spec.phases.objects"

	// indexOwner is the cache index of slices and Secrets by the UIDs of their owners.
	indexOwner = "metadata.ownerReferences.uid"
)

// identities distinguish what a revision refers to from a later object of that name.
// One that does not exist has an empty one.
type identities map[content.Reference]string

// followContent looks, in the cache of metadata, at what the revisions refer to that
// are not torn down. Loaded content is dropped when an object of it was deleted or
// replaced by another of the same name, so that the pass finds out and reports it.
// What a user has restored becomes the package's again.
func (p *pass) followContent(ctx context.Context, all []v1alpha1.Revision) error {
	var errs []error
	for i := range all {
		if all[i].Status.ArchivedAt == nil && !isDeleted(p.pkg) {
			errs = append(errs, p.follow(ctx, &all[i]))
		}
	}
	return errors.Join(errs...)
}

func (p *pass) follow(ctx context.Context, revision *v1alpha1.Revision) error {
	state := p.state.of(revision)
	seen, followed := state.content, state.content != nil
	if !followed {
		seen = identities{}
		for _, reference := range content.References(revision.Spec.Phases) {
			seen[reference] = ""
		}
		state.content = seen
	}
	var errs []error
	for reference, was := range seen {
		is, err := p.identify(ctx, reference)
		errs = append(errs, err)
		if err != nil || is != "" && is == was {
			continue
		}
		// What is loaded already has been seen live, before the cache knew it.
		if followed && (was != "" || is == "") {
			state.loaded = cachedContent{}
		}
		seen[reference] = is
	}
	return errors.Join(errs...)
}

// identify returns the identity of the object that a reference names, and adopts it for the package.
func (p *pass) identify(ctx context.Context, reference content.Reference) (string, error) {
	current, key := p.Contents.Metadata(reference)
	if err := p.Client.Get(ctx, key, current); err != nil {
		if apierrors.IsNotFound(err) {
			return "", nil
		}
		return "", fmt.Errorf("looking for %s: %w", reference, err)
	}
	identity := string(current.UID) + "/" + strconv.FormatInt(current.Generation, 10)
	if content.OwnedBy(current, p.pkg.UID) || current.DeletionTimestamp != nil {
		return identity, nil
	}
	return identity, p.Contents.Adopt(ctx, p.pkg, current)
}

// collect releases what the package keeps and none of its revisions refers to any
// more, because they were pruned or were never made. The cache only says where to
// look: before anything is released the revisions are read live.
func (p *pass) collect(ctx context.Context) error {
	p.state.uncollected = 0
	unused, err := p.unused(ctx)
	if err != nil || len(unused) == 0 {
		return err
	}
	list := &v1alpha1.RevisionList{}
	if err := p.Live.List(ctx, list, client.MatchingFields{indexPackage: p.pkg.Name}); err != nil {
		return fmt.Errorf("listing the revisions of %s: %w", p.pkg.Name, err)
	}
	used := map[content.Reference]bool{}
	for i := range list.Items {
		for _, reference := range content.References(list.Items[i].Spec.Phases) {
			used[reference] = true
		}
	}
	var errs []error
	for _, reference := range unused {
		if !used[reference] {
			errs = append(errs, p.Contents.Release(ctx, p.pkg, reference))
		}
	}
	return errors.Join(errs...)
}

// unused are the slices and Secrets that no revision of the package seems to need.
func (p *pass) unused(ctx context.Context) ([]content.Reference, error) {
	var all []content.Reference
	for _, kind := range content.Kinds() {
		owned := &metav1.PartialObjectMetadataList{}
		owned.SetGroupVersionKind(kind.GroupVersionKind())
		if err := p.Client.List(ctx, owned, client.MatchingFields{indexOwner: string(p.pkg.UID)}, client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("listing what package %s keeps: %w", p.pkg.Name, err)
		}
		for i := range owned.Items {
			item := &owned.Items[i]
			item.SetGroupVersionKind(kind.GroupVersionKind())
			reference := content.ReferenceTo(item)
			names, err := users(ctx, p.Client, reference)
			if err != nil {
				return nil, err
			}
			// Others that refer to it make it theirs first.
			if names[p.pkg.Name] || len(names) > 0 && len(item.OwnerReferences) == 1 {
				continue
			}
			if left := content.Grace - p.Now().Sub(content.KeptAt(item)); left > 0 {
				p.state.uncollected = soonest(p.state.uncollected, left)
				continue
			}
			all = append(all, reference)
		}
	}
	return all, nil
}

// users are the packages of the revisions that refer to something, in the cache.
func users(ctx context.Context, reader client.Reader, reference content.Reference) (map[string]bool, error) {
	list := &v1alpha1.RevisionList{}
	if err := reader.List(ctx, list, client.MatchingFields{indexContent: reference.String()}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the revisions that refer to %s: %w", reference, err)
	}
	names := map[string]bool{}
	for i := range list.Items {
		names[list.Items[i].Spec.Package] = true
	}
	return names, nil
}

// revisionIndexes are the cache indexes of Revisions.
var revisionIndexes = map[string]client.IndexerFunc{
	indexPackage: func(object client.Object) []string {
		revision, ok := object.(*v1alpha1.Revision)
		if !ok {
			return nil
		}
		return []string{revision.Spec.Package}
	},
	indexContent: func(object client.Object) []string {
		revision, ok := object.(*v1alpha1.Revision)
		if !ok {
			return nil
		}
		var names []string
		for _, reference := range content.References(revision.Spec.Phases) {
			names = append(names, reference.String())
		}
		return names
	},
}

// owners is the function of indexOwner.
func owners(object client.Object) []string {
	var uids []string
	for _, owner := range object.GetOwnerReferences() {
		uids = append(uids, string(owner.UID))
	}
	return uids
}

// index adds the cache indexes.
func index(ctx context.Context, indexer client.FieldIndexer) error {
	for field, extract := range revisionIndexes {
		if err := indexer.IndexField(ctx, &v1alpha1.Revision{}, field, extract); err != nil {
			return fmt.Errorf("indexing revisions by %s: %w", field, err)
		}
	}
	for _, kind := range content.Kinds() {
		if err := indexer.IndexField(ctx, kind, indexOwner, owners); err != nil {
			return fmt.Errorf("indexing kind %s: %w", kind.Kind, err)
		}
	}
	return nil
}

// byContent brings back the packages that a slice or Secret is about: those whose
// revisions refer to it, and those that own it.
func byContent(mgr manager.Manager) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, object client.Object) []reconcile.Request {
		names, err := users(ctx, mgr.GetClient(), content.ReferenceTo(object))
		if err != nil {
			mgr.GetLogger().Error(err, "Looking for the packages of stored content", "name", object.GetName())
			names = map[string]bool{}
		}
		for _, owner := range object.GetOwnerReferences() {
			if owner.Kind == "Package" {
				names[owner.Name] = true
			}
		}
		var requests []reconcile.Request
		for name := range names {
			requests = append(requests, requestFor(name))
		}
		return requests
	})
}
