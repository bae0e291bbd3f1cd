// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/strata-run/strata/api/v1alpha1"
)

// Canonical is a manifest as JSON with sorted keys and no white space: equal
// manifests give equal bytes.
func Canonical(manifest *unstructured.Unstructured) ([]byte, error) {
	data, err := json.Marshal(withStoredMetadata(manifest.Object))
	if err != nil {
		return nil, fmt.Errorf("encoding %s %s: %w", manifest.GetKind(), manifest.GetName(), err)
	}
	return data, nil
}

// withStoredMetadata is the object with its metadata as the API server stores that
// of a manifest in a Revision: without empty maps, null times and unknown fields.
// The digest would change on the way otherwise. The object given is not changed.
func withStoredMetadata(object map[string]any) map[string]any {
	data, err := json.Marshal(object["metadata"])
	if err != nil {
		return object
	}
	known := &metav1.ObjectMeta{}
	if err := utiljson.Unmarshal(data, known); err != nil {
		return object
	}
	metadata, err := runtime.DefaultUnstructuredConverter.ToUnstructured(known)
	if err != nil {
		return object
	}
	if known.CreationTimestamp.IsZero() {
		delete(metadata, "creationTimestamp")
	}
	stored := maps.Clone(object)
	if _, set := object["metadata"]; set {
		stored["metadata"] = metadata
	}
	return stored
}

// ObjectDigest is the hexadecimal SHA-256 of a manifest's canonical JSON.
func ObjectDigest(canonical []byte) string {
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:])
}

// asStored is the probes with the API's defaults set, as they come back from the
// API server. No probes are nil.
func asStored(probes []v1alpha1.Probe) []v1alpha1.Probe {
	var stored []v1alpha1.Probe
	for _, probe := range probes {
		probe = *probe.DeepCopy()
		for i := range probe.Assertions {
			setDefaults(&probe.Assertions[i])
		}
		stored = append(stored, probe)
	}
	return stored
}

func setDefaults(assertion *v1alpha1.Assertion) {
	conditions := []*v1alpha1.ConditionAssertion{assertion.Condition}
	if assertion.Not != nil {
		conditions = append(conditions, assertion.Not.Condition)
	}
	for _, alternative := range assertion.AnyOf {
		conditions = append(conditions, alternative.Condition)
		if alternative.Not != nil {
			conditions = append(conditions, alternative.Not.Condition)
		}
	}
	for _, c := range conditions {
		if c != nil && c.Status == "" {
			c.Status = metav1.ConditionTrue
		}
	}
}

// Identified is the digest of content with an identity, see [v1alpha1.Origin]. Content without one
// keeps the digest of its objects.
func Identified(digest, identity string) string {
	if identity == "" {
		return digest
	}
	return "sha256:" + ObjectDigest([]byte(digest+"\n"+identity))
}

// identityOf is that of a revision's content, empty for none.
func identityOf(revision *v1alpha1.Revision) string {
	if revision.Spec.Origin == nil {
		return ""
	}
	return revision.Spec.Origin.Identity
}

// DigestFor is the digest of a revision's content, given the digest of each of its objects in order.
func DigestFor(revision *v1alpha1.Revision, objects [][]string) (string, error) {
	digest, err := Digest(revision.Spec.Phases, objects, revision.Spec.Probes)
	if err != nil {
		return "", err
	}
	return Identified(digest, identityOf(revision)), nil
}

// Digest is that of content without an identity: the phases, given with the digest of
// each of their objects in order, and the probes. Numbers and the split into slices
// have no part in it.
func Digest(phases []v1alpha1.Phase, objects [][]string, probes []v1alpha1.Probe) (string, error) {
	type object struct {
		Digest              string
		CollisionProtection v1alpha1.CollisionProtection
		Deletion            v1alpha1.ObjectDeletion
		// Fields that came later are left out while unset: what had a digest keeps it.
		UnmanagedFields   []string                 `json:",omitempty"`
		OnImmutableChange v1alpha1.ImmutableChange `json:",omitempty"`
		ExclusiveFields   []string                 `json:",omitempty"`
		UpdatePhase       string                   `json:",omitempty"`
		CreateOnce        bool                     `json:",omitempty"`
	}
	type phase struct {
		Name                string
		CollisionProtection v1alpha1.CollisionProtection
		Objects             []object
	}
	var document struct {
		Phases []phase
		Probes []v1alpha1.Probe
	}
	for i, p := range phases {
		entry := phase{Name: p.Name, CollisionProtection: p.CollisionProtection}
		for j, o := range p.Objects {
			entry.Objects = append(entry.Objects, object{
				objects[i][j], o.CollisionProtection, o.Deletion, o.UnmanagedFields, o.OnImmutableChange, o.ExclusiveFields, o.UpdatePhase, o.CreateOnce,
			})
		}
		document.Phases = append(document.Phases, entry)
	}
	document.Probes = asStored(probes)
	data, err := json.Marshal(document)
	if err != nil {
		return "", fmt.Errorf("encoding content: %w", err)
	}
	return "sha256:" + ObjectDigest(data), nil
}
