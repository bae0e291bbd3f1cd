// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/check/diff"
	"github.com/strata-run/strata/internal/cli/output"
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

// BuildContent is the document of a revision.
func BuildContent(revision *v1alpha1.Revision, read StoredContent, showSecrets bool) Content {
	doc := Content{
		TypeMeta: DocumentType("Content"), Package: revision.Spec.Package, Revision: revision.Spec.Revision,
		ContentDigest: revision.Spec.ContentDigest, Verified: read.Digest != "" && read.Digest == revision.Spec.ContentDigest,
		Origin: revision.Spec.Origin, Phases: append([]StoredPhase{}, read.Phases...), Probes: revision.Spec.Probes,
	}
	if showSecrets {
		return doc
	}
	for i := range doc.Phases {
		for j := range doc.Phases[i].Objects {
			object := &doc.Phases[i].Objects[j]
			if manifest := object.Unstructured(); manifest != nil {
				object.Manifest = diff.Redact(manifest).Object
			}
		}
	}
	return doc
}

// OnlyObject are the phases with the objects that an argument names.
func OnlyObject(phases []StoredPhase, argument string) []StoredPhase {
	var kept []StoredPhase
	for _, phase := range phases {
		var objects []StoredObject
		for _, object := range phase.Objects {
			if manifest := object.Unstructured(); manifest != nil && NamesObject(argument, ReferenceOf(manifest)) {
				objects = append(objects, object)
			}
		}
		if len(objects) > 0 {
			phase.Objects = objects
			kept = append(kept, phase)
		}
	}
	return kept
}

// WriteContent writes a stream of YAML documents. Comments name the phases.
func WriteContent(p *output.Printer, doc Content) {
	first := true
	for _, phase := range doc.Phases {
		head := fmt.Sprintf("# %s revision %d, phase %s", doc.Package, doc.Revision, phase.Name)
		for _, object := range phase.Objects {
			if !first {
				p.Line(output.Span{Text: "---"})
			}
			first = false
			if head != "" {
				p.Line(output.Span{Text: head, Style: output.Faint})
				head = ""
			}
			writeStoredObject(p, object.Unstructured(), object)
		}
	}
}

func writeStoredObject(p *output.Printer, manifest *unstructured.Unstructured, object StoredObject) {
	if manifest == nil {
		p.Line(output.Span{Text: "# not readable: " + object.Unreadable, Style: output.Bad})
		return
	}
	p.YAML(manifest.Object)
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
	// Objects are in the order of the revision.
	Objects []StoredObject `json:"objects"`
}

// StoredContent is a revision's content as it was read.
type StoredContent struct {
	Phases []StoredPhase
	// Digest is that of what was read, empty when not all could be read.
	Digest string
	// Unread is why some of it could not be, nil when all was.
	Unread error
	// OnlySecrets is true when nothing but Secrets that may not or shall not be read is
	// missing.
	OnlySecrets bool
}
