// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/view"
	"github.com/strata-run/strata/internal/content"
)

// defaultManagerNamespace is where the manager runs unless it was installed elsewhere.
const defaultManagerNamespace = "strata-system"

func addManagerNamespace(cmd *cobra.Command, namespace *string) {
	cmd.Flags().StringVar(namespace, "manager-namespace", defaultManagerNamespace, "the namespace of the manager, which keeps manifests of kind Secret there")
}

func (c *cluster) contents(managerNamespace string) *content.Store {
	return &content.Store{Client: c.client, Live: c.client, Namespace: managerNamespace, Now: time.Now}
}

// secrets is what is read of manifests of kind Secret.
type secrets int

const (
	// noSecrets reads nothing of them.
	noSecrets secrets = iota
	// secretNames reads what is no secret of them, as far as one may: few may, and mostly the
	// status names them, too.
	secretNames
	wholeSecrets
)

// reader reads what revisions refer to, each thing once.
type reader struct {
	contents *content.Store
	secrets  secrets
	held     view.Manifests
}

func newReader(contents *content.Store, s secrets) *reader {
	return &reader{contents: contents, secrets: s, held: view.Manifests{}}
}

// readSlices reads what revisions refer to, and that is not in the cache yet. The errors say
// which slices cannot be read.
func (c *cluster) readSlices(ctx context.Context, cache view.Manifests, revisions ...*v1alpha1.Revision) error {
	r := &reader{contents: c.contents(defaultManagerNamespace), secrets: secretNames, held: cache}
	return r.refer(ctx, revisions...)
}

func (r *reader) refer(ctx context.Context, revisions ...*v1alpha1.Revision) error {
	var failed []error
	for _, revision := range revisions {
		for _, reference := range content.References(revision.Spec.Phases) {
			if _, known := r.held[reference]; known {
				continue
			}
			held, err := r.referred(ctx, reference)
			if err != nil {
				held = []view.Stored{{Err: err}}
			}
			r.held[reference] = held
			if err != nil && !reference.Secret {
				failed = append(failed, err)
			}
		}
	}
	return errors.Join(failed...)
}

func (r *reader) referred(ctx context.Context, reference content.Reference) ([]view.Stored, error) {
	switch {
	case !reference.Secret:
		manifests, err := r.contents.Slice(ctx, reference.Name)
		return view.StoredOf(manifests), err
	case r.secrets == noSecrets:
		return nil, view.ErrSecretsNotRead
	}
	sealed, err := r.contents.Secret(ctx, reference.Name)
	if apierrors.IsForbidden(err) {
		err = fmt.Errorf("reading Secret %s/%s, which contains manifests of kind Secret: %w", r.contents.Namespace, reference.Name, view.ErrMayNotRead)
	}
	all := make([]view.Stored, len(sealed))
	for i, one := range sealed {
		all[i] = view.Stored{Manifest: one.Manifest, Digest: one.Digest}
		if r.secrets == secretNames {
			all[i].Manifest = withoutValues(one.Manifest)
		}
	}
	return all, err
}

func withoutValues(secret *unstructured.Unstructured) *unstructured.Unstructured {
	manifest := &unstructured.Unstructured{Object: map[string]any{}}
	manifest.SetGroupVersionKind(secret.GroupVersionKind())
	manifest.SetNamespace(secret.GetNamespace())
	manifest.SetName(secret.GetName())
	manifest.SetLabels(secret.GetLabels())
	if secret.GetAnnotations()[v1alpha1.AnnotationResourcePolicy] == v1alpha1.ResourcePolicyKeep {
		manifest.SetAnnotations(map[string]string{v1alpha1.AnnotationResourcePolicy: v1alpha1.ResourcePolicyKeep})
	}
	return manifest
}

// read reads the content of a revision. What cannot be read is reported at its place.
func (r *reader) read(ctx context.Context, revision *v1alpha1.Revision) (view.StoredContent, error) {
	_ = r.refer(ctx, revision) // what could not be read is part of the content
	if ctx.Err() != nil {
		return view.StoredContent{}, ctx.Err()
	}
	return view.ContentOf(revision, r.held)
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
	return read, view.JoinOnce(errs)
}
