// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// prepared is what no pass has to work out again about a manifest.
type prepared struct {
	id   ObjectID
	kind schema.GroupVersionKind
	// manifest is what is applied, but for the owner's label and reference. It
	// shares what it can with the object's manifest and is never changed.
	manifest *unstructured.Unstructured
	// digest is that of manifest; err says why there is none.
	digest string
	err    error
}

// Prepared is the revision with what every pass needs to know of its manifests
// worked out, which is most of the cost of a pass over a history at rest. It is
// optional: a pass does it for itself otherwise. The manifests must not be changed
// any more.
func (r Revision) Prepared() Revision {
	unprepared := func(o Object) bool { return o.prepared == nil }
	if !slices.ContainsFunc(r.Phases, func(p Phase) bool { return slices.ContainsFunc(p.Objects, unprepared) }) {
		return r
	}
	r.Phases = slices.Clone(r.Phases)
	for i := range r.Phases {
		objects := slices.Clone(r.Phases[i].Objects)
		for j := range objects {
			if objects[j].prepared == nil {
				objects[j].prepared = prepare(objects[j].Manifest, objects[j].Unmanaged).salted(objects[j].Salt)
			}
		}
		r.Phases[i].Objects = objects
	}
	return r
}

func prepare(manifest *unstructured.Unstructured, unmanaged []FieldPath) *prepared {
	if manifest == nil {
		return &prepared{err: errors.New("the object has no manifest")}
	}
	p := &prepared{id: IDOf(manifest), kind: manifest.GroupVersionKind(), manifest: applicable(manifest)}
	for _, field := range unmanaged {
		p.manifest = &unstructured.Unstructured{Object: field.pattern.Without(p.manifest.Object)}
	}
	data, err := json.Marshal(p.manifest.Object)
	if err != nil {
		p.err = fmt.Errorf("encoding: %w", err)
		return p
	}
	p.digest = shortDigest(string(data))
	return p
}

// salted mixes a salt into the digest.
func (p *prepared) salted(salt string) *prepared {
	if salt != "" {
		p.digest = shortDigest(p.digest, salt)
	}
	return p
}

// identified says whether the manifest names an object.
func (p *prepared) identified() bool { return p.id.Kind != "" && p.id.Name != "" }

var clusterRoleKind = schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}

// applicable is a manifest without what must not be applied. It shares everything
// else with the manifest.
func applicable(manifest *unstructured.Unstructured) *unstructured.Unstructured {
	content := maps.Clone(manifest.Object)
	delete(content, "status")
	if metadata, ok := content["metadata"].(map[string]any); ok {
		metadata = maps.Clone(metadata)
		delete(metadata, "creationTimestamp")
		content["metadata"] = metadata
	}
	secretStringData(content)
	if manifest.GroupVersionKind().GroupKind() == clusterRoleKind && content["aggregationRule"] != nil {
		// A controller of Kubernetes fills them in, and takes them back from every other client.
		delete(content, "rules")
	}
	return &unstructured.Unstructured{Object: content}
}

// desired is the manifest as it is applied: with the owner's label and, unless the
// object is retained, its owner reference, and without the fields that are ignored.
// Its metadata may be changed, nothing else.
func (p *prepared) desired(owner Owner, retain bool, ignored []string) *unstructured.Unstructured {
	content := maps.Clone(p.manifest.Object)
	for _, field := range ignored {
		if path, err := ParseFieldPath(field); err == nil {
			content = path.pattern.Without(content)
		}
	}
	metadata := cloned(content["metadata"])
	labels := cloned(metadata["labels"])
	labels[owner.Label] = owner.Name
	metadata["labels"] = labels
	content["metadata"] = metadata
	applied := &unstructured.Unstructured{Object: content}
	if !retain {
		applied.SetOwnerReferences([]metav1.OwnerReference{owner.Reference()})
	}
	return applied
}

// cloned is a copy of a map, one level deep, and an empty map for anything else.
func cloned(value any) map[string]any {
	if m, ok := value.(map[string]any); ok && m != nil {
		return maps.Clone(m)
	}
	return map[string]any{}
}

// content is a digest of what desired gives, without making it.
func (p *prepared) content(owner Owner, retain bool, ignored []string) string {
	parts := make([]string, 0, 6+len(ignored))
	parts = append(parts, p.digest, owner.Label, owner.Name)
	if !retain {
		parts = append(parts, owner.APIVersion, owner.Kind, string(owner.UID))
	}
	return shortDigest(append(parts, ignored...)...)
}
