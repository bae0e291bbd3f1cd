// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/history"
	"github.com/strata-run/strata/revisions"
)

// InvalidError says that a revision's content cannot be used, whatever the
// cluster does.
type InvalidError struct{ Err error }

// Error is that of the cause.
func (e *InvalidError) Error() string { return e.Err.Error() }

// Unwrap is the cause.
func (e *InvalidError) Unwrap() error { return e.Err }

// Stored reads what a revision refers to, by name. What is missing or altered is a
// *UnavailableError. No error quotes a value of a Secret.
type Stored interface {
	// Slice reads the manifests of an ObjectSlice.
	Slice(ctx context.Context, name string) ([]*unstructured.Unstructured, error)
	// Secret reads the manifests of a Secret of the manager's namespace.
	Secret(ctx context.Context, name string) ([]Sealed, error)
}

// LoadRevision loads a revision. What is stored apart from it and missing or altered,
// and content that does not match the revision's digest, is a
// *UnavailableError; content that can never be used an *InvalidError.
func LoadRevision(ctx context.Context, stored Stored, revision *v1alpha1.Revision) (revisions.Revision, error) {
	loaded := revisions.Revision{
		Number:    revision.Spec.Revision,
		Succeeded: history.Succeeded(revision),
		Records:   Records(revision.Status),
	}
	manifests, err := manifestsOf(ctx, stored, revision)
	if err != nil {
		return loaded, err
	}
	if err := checkDigest(revision, manifests); err != nil {
		return loaded, err
	}
	chosen, err := compileProbes(revision.Spec.Probes)
	if err != nil {
		return loaded, &InvalidError{Err: err}
	}
	scaling := scalingOf(manifests)
	rollback := revision.Spec.Origin != nil && revision.Spec.Origin.Kind == v1alpha1.OriginRollback
	for i, phase := range revision.Spec.Phases {
		next := revisions.Phase{Name: phase.Name}
		for j, object := range phase.Objects {
			chosen, err := chosen.object(manifests[i][j], object, phase, rollback, scaling)
			if err != nil {
				return loaded, &InvalidError{Err: fmt.Errorf("spec.phases[%d].objects[%d].%w", i, j, err)}
			}
			next.Objects = append(next.Objects, chosen)
		}
		loaded.Phases = append(loaded.Phases, next)
	}
	// Content is loaded once and looked at in every pass.
	return loaded.Prepared(), nil
}

// manifest is one of a revision's, and where it comes from.
type manifest struct {
	manifest *unstructured.Unstructured
	// sealed is set for one that comes out of a Secret.
	sealed *Sealed
}

// manifestsOf are those of every phase of a revision, out of the revision and what it
// refers to.
func manifestsOf(ctx context.Context, stored Stored, revision *v1alpha1.Revision) ([][]manifest, error) {
	if err := checkCount(revision); err != nil {
		return nil, err
	}
	read := &reading{stored: stored, slices: map[string][]*unstructured.Unstructured{}, secrets: map[string][]Sealed{}}
	var all [][]manifest
	for _, phase := range revision.Spec.Phases {
		var own []manifest
		for i, object := range phase.Objects {
			next, err := read.manifest(ctx, object)
			if err != nil {
				return nil, fmt.Errorf("phase %s, object %d: %w", phase.Name, i, err)
			}
			if next.sealed == nil && IsSecret(next.manifest) {
				return nil, &InvalidError{Err: fmt.Errorf("phase %s: Secret %s/%s stands in the revision, where its values can be read: remove it", phase.Name, next.manifest.GetNamespace(), next.manifest.GetName())}
			}
			own = append(own, next)
		}
		all = append(all, own)
	}
	return all, nil
}

// reading reads what a revision refers to, each thing once.
type reading struct {
	stored  Stored
	slices  map[string][]*unstructured.Unstructured
	secrets map[string][]Sealed
	// bytes is what all of it takes, at least.
	bytes int
}

// checkCount bounds the objects of a revision.
func checkCount(revision *v1alpha1.Revision) error {
	objects := 0
	for _, phase := range revision.Spec.Phases {
		objects += len(phase.Objects)
	}
	if objects <= MaxObjects {
		return nil
	}
	return &InvalidError{Err: fmt.Errorf("the revision has %d objects, and may have %d: split it into several packages", objects, MaxObjects)}
}

// take counts what has been read from one place, before more is read.
func (r *reading) take(kind, name string, bytes int) error {
	if r.bytes += bytes; r.bytes <= MaxBytes {
		return nil
	}
	return &InvalidError{Err: fmt.Errorf("with %s %s the content has at least %d bytes, and a revision may have %d: split it into several packages",
		kind, name, r.bytes, MaxBytes)}
}

func (r *reading) slice(ctx context.Context, name string) ([]*unstructured.Unstructured, error) {
	held, err := r.stored.Slice(ctx, name)
	bytes := 0
	for _, manifest := range held {
		bytes += weigh(manifest.Object)
	}
	return held, errors.Join(err, r.take("ObjectSlice", name, bytes))
}

func (r *reading) secret(ctx context.Context, name string) ([]Sealed, error) {
	held, err := r.stored.Secret(ctx, name)
	bytes := 0
	for _, sealed := range held {
		bytes += weigh(sealed.Manifest.Object)
	}
	return held, errors.Join(err, r.take("Secret", name, bytes))
}

// weigh is how many bytes a value has at least.
func weigh(value any) int {
	bytes := 1
	switch v := value.(type) {
	case string:
		bytes += len(v)
	case map[string]any:
		for key, item := range v {
			bytes += len(key) + weigh(item)
		}
	case []any:
		for _, item := range v {
			bytes += weigh(item)
		}
	}
	return bytes
}

func (r *reading) manifest(ctx context.Context, object v1alpha1.Object) (manifest, error) {
	switch {
	case object.Slice != nil:
		held, err := once(ctx, r.slices, object.Slice.Name, r.slice)
		if err != nil {
			return manifest{}, err
		}
		if err := within(object.Slice.Index, len(held), "ObjectSlice", object.Slice.Name); err != nil {
			return manifest{}, err
		}
		return manifest{manifest: held[object.Slice.Index]}, nil
	case object.Secret != nil:
		held, err := once(ctx, r.secrets, object.Secret.Name, r.secret)
		if err != nil {
			return manifest{}, err
		}
		if err := within(object.Secret.Index, len(held), "Secret", object.Secret.Name); err != nil {
			return manifest{}, err
		}
		sealed := held[object.Secret.Index]
		return manifest{manifest: sealed.Manifest, sealed: &sealed}, nil
	case object.Object != nil:
		inline := &unstructured.Unstructured{}
		if err := inline.UnmarshalJSON(object.Object.Raw); err != nil {
			return manifest{}, &InvalidError{Err: fmt.Errorf("reading the manifest: %w", err)}
		}
		return manifest{manifest: inline}, nil
	default:
		return manifest{}, &InvalidError{Err: fmt.Errorf("neither object nor slice nor secret is set")}
	}
}

// once reads what is not known yet.
func once[T any](ctx context.Context, known map[string][]T, name string, read func(context.Context, string) ([]T, error)) ([]T, error) {
	if held, ok := known[name]; ok {
		return held, nil
	}
	held, err := read(ctx, name)
	if err == nil {
		known[name] = held
	}
	return held, err
}

// within says that a reference to a place leads nowhere.
func within(index int32, held int, kind, name string) error {
	if index < 0 || int(index) >= held {
		return &InvalidError{Err: fmt.Errorf("%s %s holds %d manifests, and number %d is asked for", kind, name, held, index)}
	}
	return nil
}

// digest is the part that the manifest has in the revision's digest.
func (m manifest) digest() (string, error) {
	if m.sealed != nil {
		return m.sealed.Digest, nil
	}
	text, err := Canonical(m.manifest)
	if err != nil {
		return "", err
	}
	return ObjectDigest(text), nil
}

func checkDigest(revision *v1alpha1.Revision, manifests [][]manifest) error {
	if revision.Spec.ContentDigest == "" {
		return nil
	}
	digest, err := digestOf(revision, manifests)
	if err != nil {
		return err
	}
	if digest != revision.Spec.ContentDigest {
		return &UnavailableError{Reason: fmt.Sprintf("the content's digest is %s, and spec.contentDigest says %s: create a new revision", digest, revision.Spec.ContentDigest)}
	}
	return nil
}

func digestOf(revision *v1alpha1.Revision, manifests [][]manifest) (string, error) {
	var digests [][]string
	for _, phase := range manifests {
		var own []string
		for _, manifest := range phase {
			digest, err := manifest.digest()
			if err != nil {
				return "", err
			}
			own = append(own, digest)
		}
		digests = append(digests, own)
	}
	return DigestFor(revision, digests)
}

// DigestOf is the digest of a revision's content. One that has none in its spec is
// read for it, with the errors of [LoadRevision].
func DigestOf(ctx context.Context, stored Stored, revision *v1alpha1.Revision) (string, error) {
	if revision.Spec.ContentDigest != "" {
		return revision.Spec.ContentDigest, nil
	}
	manifests, err := manifestsOf(ctx, stored, revision)
	if err != nil {
		return "", err
	}
	return digestOf(revision, manifests)
}

// FromInventory is what a revision is known to have put in place, when its content
// cannot be had any more. It is good for a teardown, in reverse order: each object
// is a phase of its own. An object that does not say whose it is stays, as it may
// have been retained.
func FromInventory(revision *v1alpha1.Revision) revisions.Revision {
	known := revisions.Revision{Number: revision.Spec.Revision, Succeeded: history.Succeeded(revision)}
	for i, entry := range revision.Status.Inventory {
		manifest := &unstructured.Unstructured{Object: map[string]any{}}
		manifest.SetGroupVersionKind(schema.GroupVersionKind{Group: entry.Group, Version: entry.Version, Kind: entry.Kind})
		manifest.SetNamespace(entry.Namespace)
		manifest.SetName(entry.Name)
		object := revisions.Object{Manifest: manifest, Retain: Retains(manifest, "")}
		known.Phases = append(known.Phases, revisions.Phase{Name: fmt.Sprintf("inventory-%d", i), Objects: []revisions.Object{object}})
	}
	return known
}

// ObjectID is the engine's identity of an object that a status names.
func ObjectID(ref v1alpha1.ObjectReference) revisions.ObjectID {
	return revisions.ObjectID{
		GroupKind: schema.GroupKind{Group: ref.Group, Kind: ref.Kind},
		Namespace: ref.Namespace, Name: ref.Name,
	}
}
