// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// DefaultFieldOwner is the field manager of an [Owner] that names none.
const DefaultFieldOwner = "strata"

const (
	// fieldsV1 is the only type of managedFields entry that an API server keeps.
	fieldsV1 = "FieldsV1"
	// digestOnly is the type of the entry in which [Trim] leaves a digest. An API
	// server takes no entry of another type than FieldsV1, so no client can bring one
	// in from outside.
	digestOnly = "Digest"
)

// FieldsDigest is a short digest of the managedFields entry of a manager's applies and the
// number of its fields, such as 9f86d081884c7d65-12. It is empty when there is no
// entry.
//
// The API server takes a field out of that entry exactly when another manager
// changes its effective value or removes it, and sets the entry's time exactly
// when an apply of ours changes the object. So an entry that stays the same means
// that the object is still as that apply has left it. Values that the server
// normalises, such as a quantity of 1000m, change nothing in it. The time has whole
// seconds; see rewritten.go for an apply in the same one.
func FieldsDigest(obj *unstructured.Unstructured, manager string) string {
	return ownEntry(obj, manager).digest
}

func isOurEntry(entry map[string]any, manager string) bool {
	if entry["manager"] != manager || entry["operation"] != string(metav1.ManagedFieldsOperationApply) {
		return false
	}
	subresource, set := entry["subresource"]
	return !set || subresource == ""
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
	return shortDigest(string(data)) + "-" + strconv.Itoa(countFields(fields))
}

// countFields is how many fields an entry has: each ends in an empty map.
func countFields(fields map[string]any) int {
	if len(fields) == 0 {
		return 1
	}
	count := 0
	for _, value := range fields {
		inner, _ := value.(map[string]any)
		count += countFields(inner)
	}
	return count
}

// fieldsLost is how many fields fewer there are by one digest than by another.
func fieldsLost(before, now string) (int, bool) {
	_, had, _ := strings.Cut(before, "-")
	_, has, _ := strings.Cut(now, "-")
	a, errA := strconv.Atoi(had)
	b, errB := strconv.Atoi(has)
	return a - b, errA == nil && errB == nil
}

// Trim replaces an object's managedFields by the digest of the manager's entry, and drops
// what neither a decision nor a probe reads. Where other managers have fields, apart
// from the status, it keeps all entries as text, to show which has changed what. It is
// meant as the transform of an informer, changes the object given, and may be
// called on it again.
func Trim(obj *unstructured.Unstructured, manager string) {
	trimManaged(obj, manager)
	unstructured.RemoveNestedField(obj.Object, "metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration")
	trimSchemas(obj)
}

func trimManaged(obj *unstructured.Unstructured, manager string) {
	metadata, ok := obj.Object["metadata"].(map[string]any)
	if !ok {
		return
	}
	found := ownEntry(obj, manager)
	list, _ := metadata["managedFields"].([]any)
	var ours map[string]any
	var kept []any
	for _, item := range list {
		entry, _ := item.(map[string]any)
		switch {
		case isOurEntry(entry, manager):
			ours = entry
		case entry["fieldsType"] != nil && entry["subresource"] != "status":
			kept = append(kept, trimEntry(entry, own{}, true))
		}
	}
	if found.digest != "" {
		kept = append(kept, trimEntry(ours, found, len(kept) > 0))
	}
	delete(metadata, "managedFields")
	if len(kept) > 0 {
		metadata["managedFields"] = kept
	}
}

// trimEntry is a managedFields entry with its fields as text, which takes a tenth of
// the memory of a map, and with what was found in it if it is ours.
func trimEntry(entry map[string]any, found own, keepFields bool) map[string]any {
	fields, _ := entry["fieldsV1"].(map[string]any)
	text := map[string]any{}
	if found.digest != "" {
		text["digest"], text["state"] = found.digest, found.state
	}
	if found.others != OtherWritesEarlier {
		text["others"] = string(found.others)
	}
	if packed, ok := fields["set"].(string); ok && keepFields && entry["fieldsType"] == digestOnly {
		text["set"] = packed
	} else if data, err := json.Marshal(fields); err == nil && keepFields && entry["fieldsType"] == fieldsV1 {
		text["set"] = string(data)
	}
	short := map[string]any{"fieldsType": digestOnly, "fieldsV1": text}
	for _, name := range []string{"manager", "operation", "subresource", "time"} {
		if value, set := entry[name]; set {
			short[name] = value
		}
	}
	return short
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
