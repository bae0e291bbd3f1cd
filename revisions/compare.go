// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// FieldOwner is the field manager of every apply.
const FieldOwner = "strata"

const (
	// fieldsV1 is the only type of managedFields entry that an API server keeps.
	fieldsV1 = "FieldsV1"
	// digestOnly is the type of the entry in which [Trim] leaves a digest. An API
	// server takes no entry of another type than FieldsV1, so nobody can bring one
	// in from outside.
	digestOnly = "Digest"
)

// FieldsDigest is a short digest of the managedFields entry of our applies, empty
// when there is none.
//
// The API server takes a field out of that entry exactly when someone else
// changes its effective value or removes it, and sets the entry's time exactly
// when an apply of ours changes the object. So an entry that stays the same means
// that the object is still as that apply has left it. Values that the server
// normalises, such as a quantity of 1000m, change nothing in it.
func FieldsDigest(obj *unstructured.Unstructured) string {
	managed, _, _ := unstructured.NestedFieldNoCopy(obj.Object, "metadata", "managedFields")
	entries, _ := managed.([]any)
	for _, item := range entries {
		entry, _ := item.(map[string]any)
		if entry["manager"] != FieldOwner || entry["operation"] != string(metav1.ManagedFieldsOperationApply) {
			continue
		}
		if subresource, set := entry["subresource"]; set && subresource != "" {
			continue
		}
		fields, _ := entry["fieldsV1"].(map[string]any)
		switch entry["fieldsType"] {
		case digestOnly:
			digest, _ := fields["digest"].(string)
			return digest
		case fieldsV1:
			return digestEntry(entry["apiVersion"], entry["time"], fields)
		}
	}
	return ""
}

// digestEntry is the digest of an entry. Maps are written with sorted keys, so it
// does not depend on the order of the fields.
func digestEntry(version, time any, fields map[string]any) string {
	data, err := json.Marshal([]any{version, time, fields})
	if err != nil {
		// What the API server sends can be encoded; without it there is no proof
		// that the object is as it was applied.
		return ""
	}
	return shortDigest(string(data))
}

// Trim replaces an object's managedFields by the digest of our entry, and drops
// what neither a decision nor a probe reads. It is meant as the transform of an
// informer, changes the object given, and may be called on it again.
func Trim(obj *unstructured.Unstructured) {
	digest := FieldsDigest(obj)
	unstructured.RemoveNestedField(obj.Object, "metadata", "managedFields")
	unstructured.RemoveNestedField(obj.Object, "metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration")
	if metadata, ok := obj.Object["metadata"].(map[string]any); ok && digest != "" {
		metadata["managedFields"] = []any{map[string]any{
			"manager": FieldOwner, "operation": string(metav1.ManagedFieldsOperationApply),
			"fieldsType": digestOnly, "fieldsV1": map[string]any{"digest": digest},
		}}
	}
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

// shortDigest is 64 bits of SHA-256: enough to tell two states of one object
// apart, and short enough to stand in a status once an object.
func shortDigest(parts ...string) string {
	size := 0
	for _, part := range parts {
		size += len(part) + 1
	}
	text := make([]byte, 0, size)
	for _, part := range parts {
		text = append(append(text, part...), 0)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}
