// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/view"
	"github.com/strata-run/strata/internal/content"
)

// defaultManagerNamespace is where the manager runs unless it was installed elsewhere.
const defaultManagerNamespace = "strata-system"

// addManagerNamespace adds the flag that says where manifests of kind Secret are kept.
func addManagerNamespace(cmd *cobra.Command, namespace *string) {
	cmd.Flags().StringVar(namespace, "manager-namespace", defaultManagerNamespace, "the namespace of the manager, which keeps manifests of kind Secret there")
}

// contents reads and keeps what revisions refer to.
func (c *cluster) contents(managerNamespace string) *content.Store {
	return &content.Store{Client: c.client, Live: c.client, Namespace: managerNamespace, Now: time.Now}
}

// reader reads what revisions refer to, each thing once.
type reader struct {
	contents *content.Store
	// withSecrets is false when manifests of kind Secret are not to be read at all.
	withSecrets bool
	held        view.Manifests
	failed      map[content.Reference]error
}

func newReader(contents *content.Store, withSecrets bool) *reader {
	return &reader{contents: contents, withSecrets: withSecrets, held: view.Manifests{}, failed: map[content.Reference]error{}}
}

// read reads the content of a revision. What cannot be read is reported at its place.
func (r *reader) read(ctx context.Context, revision *v1alpha1.Revision) (view.StoredContent, error) {
	var all view.StoredContent
	var digests [][]string
	var errs []error
	for _, phase := range revision.Spec.Phases {
		stored := view.StoredPhase{Name: phase.Name, CollisionProtection: phase.CollisionProtection, Objects: []view.StoredObject{}}
		var own []string
		for _, object := range phase.Objects {
			next, digest, err := r.object(ctx, object)
			if ctx.Err() != nil {
				return all, ctx.Err()
			}
			if err != nil {
				errs = append(errs, err)
				next.Unreadable = err.Error()
			}
			stored.Objects = append(stored.Objects, next)
			own = append(own, digest)
		}
		all.Phases = append(all.Phases, stored)
		digests = append(digests, own)
	}
	var err error
	all.OnlySecrets = !slices.ContainsFunc(errs, func(err error) bool { return !errors.Is(err, errMayNotRead) && !errors.Is(err, errSecretsNotRead) })
	if all.Unread = joinOnce(errs); all.Unread == nil {
		all.Digest, err = content.DigestFor(revision, digests)
	}
	return all, err
}

// readEach reads the contents of revisions, by number. Those that cannot be read are left
// out, and the error says why.
func (r *reader) readEach(ctx context.Context, revisions []v1alpha1.Revision) (map[int64]view.StoredContent, error) {
	var errs []error
	read := map[int64]view.StoredContent{}
	for i := range revisions {
		content, err := r.read(ctx, &revisions[i])
		if err != nil {
			return nil, err
		}
		if content.Unread != nil && !content.OnlySecrets {
			errs = append(errs, content.Unread)
			continue
		}
		read[revisions[i].Spec.Revision] = content
	}
	return read, joinOnce(errs)
}

// joinOnce joins errors, each text once.
func joinOnce(errs []error) error {
	var distinct []error
	seen := map[string]bool{}
	for _, err := range errs {
		if !seen[err.Error()] {
			seen[err.Error()] = true
			distinct = append(distinct, err)
		}
	}
	return errors.Join(distinct...)
}

// object reads one object, and its part of the digest.
func (r *reader) object(ctx context.Context, object v1alpha1.Object) (view.StoredObject, string, error) {
	stored := view.StoredObject{
		Source: "inline", CollisionProtection: object.CollisionProtection, Deletion: object.Deletion,
		OnImmutableChange: object.OnImmutableChange, UnmanagedFields: object.UnmanagedFields,
		ExclusiveFields: object.ExclusiveFields, UpdatePhase: object.UpdatePhase, CreateOnce: object.CreateOnce,
	}
	if reference, refers := view.ReferenceIn(object); refers {
		stored.Source = strings.Replace(reference.String(), " ", "/", 1)
		held, err := r.referred(ctx, reference)
		at := view.IndexIn(object)
		switch {
		case err != nil:
			return stored, "", err
		case at >= len(held):
			return stored, "", fmt.Errorf("%s holds %d manifests, and number %d is asked for", reference, len(held), at)
		}
		stored.Manifest = held[at].Manifest.Object
		return stored, held[at].Digest, nil
	}
	if object.Object == nil {
		return stored, "", errors.New("neither object nor slice nor secret is set")
	}
	manifest := &unstructured.Unstructured{}
	if err := manifest.UnmarshalJSON(object.Object.Raw); err != nil {
		return stored, "", fmt.Errorf("reading an inline manifest: %w", err)
	}
	text, err := content.Canonical(manifest)
	if err != nil {
		return stored, "", err
	}
	stored.Manifest = manifest.Object
	return stored, content.ObjectDigest(text), nil
}

// errMayNotRead says that the user of the command has no right to get a Secret.
var errMayNotRead = errors.New("you may not read it")

// errSecretsNotRead says that the command was not asked to read Secrets.
var errSecretsNotRead = errors.New("manifests of kind Secret are not read")

// referred reads what a revision refers to, and asks for nothing twice.
func (r *reader) referred(ctx context.Context, reference content.Reference) ([]view.Held, error) {
	if held, known := r.held[reference]; known {
		return held, nil
	}
	if err := r.failed[reference]; err != nil {
		return nil, err
	}
	err := errSecretsNotRead
	switch {
	case !reference.Secret:
		var manifests []*unstructured.Unstructured
		if manifests, err = r.contents.Slice(ctx, reference.Name); err == nil {
			r.held.Keep(reference.Name, manifests)
		}
	case r.withSecrets:
		var sealed []content.Sealed
		if sealed, err = r.contents.Secret(ctx, reference.Name); apierrors.IsForbidden(err) {
			err = fmt.Errorf("reading Secret %s/%s, which holds manifests of kind Secret: %w", r.contents.Namespace, reference.Name, errMayNotRead)
		}
		if err == nil {
			r.held[reference] = []view.Held{}
		}
		for _, one := range sealed {
			r.held[reference] = append(r.held[reference], view.Held{Manifest: one.Manifest, Digest: one.Digest})
		}
	}
	if err != nil {
		r.failed[reference] = err
	}
	return r.held[reference], err
}

// readSlices reads the slices that revisions refer to and that are not in the
// cache yet. What cannot be read is left out, and the errors say why. Secrets are read,
// for the names of what is in them, as far as one may: few may, and mostly the status
// names it, too.
func (c *cluster) readSlices(ctx context.Context, cache view.Manifests, revisions ...*v1alpha1.Revision) error {
	var failed []error
	for _, r := range revisions {
		for _, phase := range r.Spec.Phases {
			for _, object := range phase.Objects {
				reference, refers := view.ReferenceIn(object)
				if _, known := cache[reference]; known || !refers {
					continue
				}
				// One that cannot be read is not asked for again.
				cache[reference] = nil
				if reference.Secret {
					c.readSecretNames(ctx, cache, reference)
				} else if err := c.readSlice(ctx, cache, reference.Name); err != nil {
					failed = append(failed, err)
				}
			}
		}
	}
	return errors.Join(failed...)
}

func (c *cluster) readSlice(ctx context.Context, cache view.Manifests, name string) error {
	slice := &v1alpha1.ObjectSlice{}
	if err := c.client.Get(ctx, client.ObjectKey{Name: name}, slice); err != nil {
		return fmt.Errorf("reading ObjectSlice %s: %w", name, err)
	}
	manifests, err := content.Unpack(slice)
	if err == nil {
		cache.Keep(name, manifests)
	}
	return err
}

// readSecretNames reads the manifests that stand in a Secret, and keeps what is no
// secret of them.
func (c *cluster) readSecretNames(ctx context.Context, cache view.Manifests, reference content.Reference) {
	sealed, err := c.contents(defaultManagerNamespace).Secret(ctx, reference.Name)
	if err != nil {
		return
	}
	all := make([]view.Held, len(sealed))
	for i, one := range sealed {
		manifest := &unstructured.Unstructured{Object: map[string]any{}}
		manifest.SetGroupVersionKind(one.Manifest.GroupVersionKind())
		manifest.SetNamespace(one.Manifest.GetNamespace())
		manifest.SetName(one.Manifest.GetName())
		manifest.SetLabels(one.Manifest.GetLabels())
		if one.Manifest.GetAnnotations()[v1alpha1.AnnotationResourcePolicy] == v1alpha1.ResourcePolicyKeep {
			manifest.SetAnnotations(map[string]string{v1alpha1.AnnotationResourcePolicy: v1alpha1.ResourcePolicyKeep})
		}
		all[i] = view.Held{Manifest: manifest, Digest: one.Digest}
	}
	cache[reference] = all
}
