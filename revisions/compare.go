// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// FieldOwner is the field manager of every apply.
const FieldOwner = "strata"

// observedFields is where [Trim] leaves the digest of our managedFields entry.
// It exists in memory only, and is believed only on an object that was trimmed.
const observedFields = "memory.strata.run/fields"

// FieldsDigest is a short digest of the managedFields entry of our applies, empty
// when there is none.
//
// The API server takes a field out of that entry exactly when someone else
// changes its effective value or removes it, so an entry that stays the same
// means no drift. Values that the server normalises, such as a quantity of
// 1000m, change nothing in it.
func FieldsDigest(obj *unstructured.Unstructured) string {
	managed := obj.GetManagedFields()
	if len(managed) == 0 {
		return obj.GetAnnotations()[observedFields]
	}
	for _, entry := range managed {
		if entry.Manager != FieldOwner || entry.Operation != metav1.ManagedFieldsOperationApply || entry.Subresource != "" || entry.FieldsV1 == nil {
			continue
		}
		return shortDigest([]byte(entry.APIVersion), entry.FieldsV1.Raw)
	}
	return ""
}

// Trim replaces an object's managedFields by their digest, and drops what neither
// a decision nor a probe reads. It is meant as the transform of an informer, and
// changes the object given.
func Trim(obj *unstructured.Unstructured) {
	digest := FieldsDigest(obj)
	obj.SetManagedFields(nil)
	annotations := obj.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	delete(annotations, "kubectl.kubernetes.io/last-applied-configuration")
	annotations[observedFields] = digest
	obj.SetAnnotations(annotations)
	trimSchemas(obj)
}

// trimSchemas drops the schemas of a CustomResourceDefinition, which are most of
// its size. Probes look at its status.
func trimSchemas(obj *unstructured.Unstructured) {
	if obj.GetKind() != "CustomResourceDefinition" {
		return
	}
	versions, _, _ := unstructured.NestedFieldNoCopy(obj.Object, "spec", "versions")
	list, _ := versions.([]any)
	for _, item := range list {
		if version, ok := item.(map[string]any); ok {
			delete(version, "schema")
		}
	}
}

// stamp is the manifest as it is applied: with the owner's label and, unless the
// object is retained, its owner reference.
func stamp(obj Object, owner Owner) *unstructured.Unstructured {
	stamped := obj.Manifest.DeepCopy()
	unstructured.RemoveNestedField(stamped.Object, "status")
	unstructured.RemoveNestedField(stamped.Object, "metadata", "creationTimestamp")
	secretStringData(stamped)
	labels := stamped.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[owner.Label] = owner.Name
	stamped.SetLabels(labels)
	if !obj.Retain {
		stamped.SetOwnerReferences([]metav1.OwnerReference{owner.Reference()})
	}
	return stamped
}

// contentDigest is a short digest of what is applied. Maps are written with
// sorted keys, so it depends on the content alone.
func contentDigest(stamped *unstructured.Unstructured) (string, error) {
	data, err := json.Marshal(stamped.Object)
	if err != nil {
		return "", fmt.Errorf("encoding %s: %w", IDOf(stamped), err)
	}
	return shortDigest(data), nil
}

// shortDigest is 64 bits of SHA-256: enough to tell two states of one object
// apart, and short enough to stand in a status once an object.
func shortDigest(parts ...[]byte) string {
	hash := sha256.New()
	for _, part := range parts {
		hash.Write(part)
		hash.Write([]byte{0})
	}
	return hex.EncodeToString(hash.Sum(nil)[:8])
}
