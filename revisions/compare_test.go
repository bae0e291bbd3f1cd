// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// entry is a managedFields entry; fields overrides or, with nil, removes some.
func entry(manager, operation string, fields content) content {
	e := content{
		"manager": manager, "operation": operation, "apiVersion": "v1", "time": "2026-01-01T00:00:00Z",
		"fieldsType": "FieldsV1", "fieldsV1": content{"f:data": content{"f:a": content{}, "f:b": content{}}},
	}
	for name, value := range fields {
		if value == nil {
			delete(e, name)
			continue
		}
		e[name] = value
	}
	return e
}

func managed(entries ...any) *unstructured.Unstructured {
	return manifest("v1", "ConfigMap", "app", "settings", content{"managedFields": entries})
}

// TestFieldsDigest has pairs of objects and says whether their digests are the same.
func TestFieldsDigest(t *testing.T) {
	ours := entry("strata", "Apply", nil)
	reordered := entry("strata", "Apply", content{"fieldsV1": content{"f:data": content{"f:b": content{}, "f:a": content{}}}})
	cases := map[string]struct {
		reason string
		a, b   *unstructured.Unstructured
		same   bool
	}{
		"OthersDoNotCount": {
			reason: "what other managers own is none of our business",
			a:      managed(ours), b: managed(entry("kubectl", "Update", nil), ours), same: true,
		},
		"Order": {
			reason: "the order of the fields says nothing",
			a:      managed(ours), b: managed(reordered), same: true,
		},
		"LostField": {
			reason: "another manager has taken a field",
			a:      managed(ours), b: managed(entry("strata", "Apply", content{"fieldsV1": content{"f:data": content{"f:a": content{}}}})),
		},
		"LaterApply": {
			reason: "another apply of ours has changed a value, which its fields do not tell",
			a:      managed(ours), b: managed(entry("strata", "Apply", content{"time": "2026-01-01T00:00:01Z"})),
		},
		"OtherVersion": {
			reason: "the names of fields are those of their version",
			a:      managed(ours), b: managed(entry("strata", "Apply", content{"apiVersion": "v2"})),
		},
		"OurUpdate": {
			reason: "an update under our name is not the entry of our applies",
			a:      managed(), b: managed(entry("strata", "Update", nil)), same: true,
		},
		"OurStatus": {
			reason: "nor is an apply to a subresource",
			a:      managed(), b: managed(entry("strata", "Apply", content{"subresource": "status"})), same: true,
		},
		"NoFieldsType": {
			reason: "an entry of no type is not believed",
			a:      managed(), b: managed(entry("strata", "Apply", content{"fieldsType": nil})), same: true,
		},
		"Malformed": {
			reason: "a list of something else is no entry",
			a:      managed(), b: managed("x", nil, content{}), same: true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a, b := FieldsDigest(tc.a, DefaultFieldOwner), FieldsDigest(tc.b, DefaultFieldOwner)
			if (a == b) != tc.same {
				t.Errorf("FieldsDigest() = %q and %q, want same: %t: %s", a, b, tc.same, tc.reason)
			}
		})
	}
	if FieldsDigest(managed(ours), DefaultFieldOwner) == "" || FieldsDigest(managed(), DefaultFieldOwner) != "" {
		t.Error("the digest is empty exactly when there is no entry")
	}
}

// TestTrim keeps the digest, drops what no reader needs, and may run twice.
func TestTrim(t *testing.T) {
	live := managed(entry("kubectl", "Update", nil), entry("strata", "Apply", nil))
	live.SetAnnotations(map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "{}", "a": "b"})
	want := FieldsDigest(live, DefaultFieldOwner)
	trimmed := live.DeepCopy()
	Trim(trimmed, DefaultFieldOwner)
	if got := FieldsDigest(trimmed, DefaultFieldOwner); got != want {
		t.Errorf("the digest is %q after Trim, and was %q", got, want)
	}
	if diff := cmp.Diff(map[string]string{"a": "b"}, trimmed.GetAnnotations()); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	if entries := trimmed.GetManagedFields(); len(entries) != 2 || entries[0].Manager != "kubectl" {
		t.Errorf("%v is left of managedFields, want what tells who has changed what", entries)
	}
	alone := managed(entry("kubectl", "Update", content{"subresource": "status"}), entry("strata", "Apply", nil))
	Trim(alone, DefaultFieldOwner)
	if entries := managedEntries(alone); len(entries) != 0 {
		t.Errorf("%v is left of managedFields, want nothing but our digest: the status has no one manager", entries)
	}
	again := trimmed.DeepCopy()
	Trim(again, DefaultFieldOwner)
	if diff := cmp.Diff(trimmed.Object, again.Object); diff != "" {
		t.Errorf("Trim changes an object that was trimmed (-once +twice):\n%s", diff)
	}
}

// TestTrim_Metadata goes the way of an informer that knows metadata only.
func TestTrim_Metadata(t *testing.T) {
	live := managed(entry("kubectl", "Update", nil), entry("strata", "Apply", nil))
	var typed metav1.PartialObjectMetadata
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, &typed); err != nil {
		t.Fatal(err)
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&typed)
	if err != nil {
		t.Fatal(err)
	}
	trimmed := &unstructured.Unstructured{Object: object}
	Trim(trimmed, DefaultFieldOwner)
	if got, want := FieldsDigest(trimmed, DefaultFieldOwner), FieldsDigest(live, DefaultFieldOwner); got != want {
		t.Errorf("the digest is %q by way of metadata, and %q of the whole object", got, want)
	}
}

// TestFieldsDigest_Spoofed wipes the managedFields and leaves behind what a digest
// could be mistaken for. All that must lead to is an apply that restores the entry.
func TestFieldsDigest_Spoofed(t *testing.T) {
	honest := managed(entry("strata", "Apply", nil))
	Trim(honest, DefaultFieldOwner)
	digest := FieldsDigest(honest, DefaultFieldOwner)
	spoofed := manifest("v1", "ConfigMap", "app", "settings", content{
		"annotations": content{"memory.strata.run/fields": digest, "strata.run/fields": digest},
		"labels":      content{"memory.strata.run/fields": digest},
	})
	spoofed.Object["digest"] = digest
	for _, trimmed := range []bool{false, true} {
		if trimmed {
			Trim(spoofed, DefaultFieldOwner)
		}
		if got := FieldsDigest(spoofed, DefaultFieldOwner); got != "" {
			t.Errorf("trimmed: %t: FieldsDigest() = %q without an entry of ours", trimmed, got)
		}
	}
	decided := decide(decisionInput{
		Owner: testOwner, Content: "content", Record: &Record{UID: "uid", Content: "content", Fields: digest},
		Current: &Current{UID: "uid", Fields: FieldsDigest(spoofed, DefaultFieldOwner)},
	})
	if decided.Operation != OperationApply {
		t.Errorf("decide() = %s for an object without managedFields, want %s", decided.Operation, OperationApply)
	}
}

// TestTrim_Schemas takes the bulk of a definition away.
func TestTrim_Schemas(t *testing.T) {
	definition := with(manifest("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "things.example.org", nil), "spec", content{
		"group": "example.org", "versions": []any{content{"name": "v1", "schema": content{"openAPIV3Schema": content{}}}, "x"},
	})
	Trim(definition, DefaultFieldOwner)
	want := content{"group": "example.org", "versions": []any{content{"name": "v1"}, "x"}}
	if diff := cmp.Diff(want, definition.Object["spec"]); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
}
