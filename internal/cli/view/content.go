// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/check/diff"
	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/content"
)

// Content is the document of `strata show`: what a revision contains.
type Content struct {
	metav1.TypeMeta `json:",inline"`

	// Package is the package's name.
	Package string `json:"package"`
	// Revision is the number.
	Revision int64 `json:"revision"`
	// ContentDigest is what the revision says its digest is, empty when it says none.
	ContentDigest string `json:"contentDigest,omitempty"`
	// Verified is true when all of it was read and has that digest.
	Verified bool `json:"verified"`
	// Origin is where the content comes from.
	Origin *v1alpha1.Origin `json:"origin,omitempty"`
	// Phases are in the order in which they are rolled out. With --object there is but
	// that object in them.
	Phases []StoredPhase `json:"phases"`
	// Probes decide when an object is ready.
	Probes []v1alpha1.Probe `json:"probes,omitempty"`
}

// BuildContent is the document of a content.
func BuildContent(read StoredContent, showSecrets bool) Content {
	spec := read.Revision.Spec
	doc := Content{
		TypeMeta: DocumentType("Content"), Package: spec.Package, Revision: spec.Revision, ContentDigest: spec.ContentDigest,
		Verified: read.Digest != "" && read.Digest == spec.ContentDigest, Origin: spec.Origin, Phases: []StoredPhase{}, Probes: spec.Probes,
	}
	for i, items := range read.Items {
		phase := StoredPhase{Name: spec.Phases[i].Name, CollisionProtection: spec.Phases[i].CollisionProtection, Items: []StoredObject{}}
		for _, it := range items {
			phase.Items = append(phase.Items, storedObject(it, showSecrets))
		}
		doc.Phases = append(doc.Phases, phase)
	}
	return doc
}

func storedObject(it Item, showSecrets bool) StoredObject {
	o := it.Object
	stored := StoredObject{
		Source: "inline", CollisionProtection: o.CollisionProtection, Deletion: o.Deletion, OnImmutableChange: o.OnImmutableChange,
		UnmanagedFields: o.UnmanagedFields, ExclusiveFields: o.ExclusiveFields, UpdatePhase: o.UpdatePhase, CreateOnce: o.CreateOnce,
	}
	if reference, _, refers := referenceIn(o); refers {
		stored.Source = strings.Replace(reference.String(), " ", "/", 1)
	}
	switch {
	case it.Unread != nil:
		stored.Unreadable = it.Unread.Error()
	case showSecrets:
		stored.Manifest = it.Manifest.Object
	default:
		stored.Manifest = diff.Redact(it.Manifest).Object
	}
	return stored
}

// OnlyObject are the phases with the objects that an argument names.
func OnlyObject(phases []StoredPhase, argument string) []StoredPhase {
	var kept []StoredPhase
	for _, phase := range phases {
		var objects []StoredObject
		for _, object := range phase.Items {
			if manifest := object.Unstructured(); manifest != nil && NamesObject(argument, ReferenceOf(manifest)) {
				objects = append(objects, object)
			}
		}
		if len(objects) > 0 {
			phase.Items = objects
			kept = append(kept, phase)
		}
	}
	return kept
}

// Names are the objects.
func (c Content) Names() []string {
	var names []string
	for _, phase := range c.Phases {
		for _, object := range phase.Items {
			if manifest := object.Unstructured(); manifest != nil {
				names = append(names, NameOf(ReferenceOf(manifest)))
			}
		}
	}
	return names
}

// WriteContent writes a stream of YAML documents. Comments name the phases.
func WriteContent(p *output.Printer, doc Content) {
	first := true
	for _, phase := range doc.Phases {
		head := fmt.Sprintf("# %s revision %d, phase %s", doc.Package, doc.Revision, phase.Name)
		for _, object := range phase.Items {
			if !first {
				p.Line(output.Span{Text: "---"})
			}
			first = false
			if head != "" {
				p.Line(output.Span{Text: head, Style: output.Faint})
				head = ""
			}
			if object.Manifest == nil {
				p.Line(output.Span{Text: "# not readable: " + object.Unreadable, Style: output.Bad})
			} else {
				p.YAML(object.Manifest)
			}
		}
	}
}

// StoredObject is one object of a revision as it is stored.
type StoredObject struct {
	// Source is inline, ObjectSlice/NAME or Secret/NAME: where the manifest stands.
	Source string `json:"source"`
	// CollisionProtection and the fields after it, up to CreateOnce, are as they are set,
	// empty for the default.
	CollisionProtection v1alpha1.CollisionProtection `json:"collisionProtection,omitempty"`
	Deletion            v1alpha1.ObjectDeletion      `json:"deletion,omitempty"`
	OnImmutableChange   v1alpha1.ImmutableChange     `json:"onImmutableChange,omitempty"`
	UnmanagedFields     []string                     `json:"unmanagedFields,omitempty"`
	ExclusiveFields     []string                     `json:"exclusiveFields,omitempty"`
	UpdatePhase         string                       `json:"updatePhase,omitempty"`
	CreateOnce          bool                         `json:"createOnce,omitempty"`
	// Unreadable is why the manifest could not be read; manifest is unset then.
	Unreadable string `json:"unreadable,omitempty"`
	// Manifest is the object. Values of a Secret are redacted unless asked for.
	Manifest map[string]any `json:"manifest,omitempty"`
}

// Unstructured is the manifest, nil when it could not be read.
func (o *StoredObject) Unstructured() *unstructured.Unstructured {
	if o.Manifest == nil {
		return nil
	}
	return &unstructured.Unstructured{Object: o.Manifest}
}

// StoredPhase is one phase of a revision as it is stored.
type StoredPhase struct {
	// Name is the phase's.
	Name string `json:"name"`
	// CollisionProtection is for objects that set none, empty for the default.
	CollisionProtection v1alpha1.CollisionProtection `json:"collisionProtection,omitempty"`
	// Items are the objects, in the order of the revision.
	Items []StoredObject `json:"items"`
}

// StoredContent is a revision's content as it was read.
type StoredContent struct {
	Revision *v1alpha1.Revision
	// Items are the objects of each phase.
	Items [][]Item
	// Digest is that of what was read, empty when not all could be read.
	Digest string
	// Unread is why some of it could not be, nil when all was.
	Unread error
	// OnlySecrets is true when nothing but Secrets that may not or shall not be read is
	// missing.
	OnlySecrets bool
}

// Why a Secret with manifests was not read.
var (
	// ErrMayNotRead is that the user of the command has no right to get it.
	ErrMayNotRead = errors.New("you may not read it")
	// ErrSecretsNotRead is that the command reads none.
	ErrSecretsNotRead = errors.New("manifests of kind Secret are not read")
)

// ContentOf is the content of a revision, as far as the manifests are held that it refers to.
func ContentOf(r *v1alpha1.Revision, held Manifests) (StoredContent, error) {
	all := StoredContent{Revision: r, Items: ItemsOf(r, held), OnlySecrets: true}
	digests := make([][]string, len(all.Items))
	var errs []error
	for i, items := range all.Items {
		for _, it := range items {
			digests[i] = append(digests[i], it.Digest)
			if it.Unread != nil {
				errs = append(errs, it.Unread)
				all.OnlySecrets = all.OnlySecrets && (errors.Is(it.Unread, ErrMayNotRead) || errors.Is(it.Unread, ErrSecretsNotRead))
			}
		}
	}
	var err error
	if all.Unread = JoinOnce(errs); all.Unread == nil {
		all.Digest, err = content.DigestFor(r, digests)
	}
	return all, err
}

// JoinOnce joins errors, each text once.
func JoinOnce(errs []error) error {
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
