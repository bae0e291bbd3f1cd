// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-run/strata/api/v1alpha1"
)

// base is the content that the cases of TestPack_Digest change.
type base struct {
	phases []Phase
	probes []v1alpha1.Probe
}

func newBase() base {
	return base{
		phases: []Phase{
			{Name: "crds", Objects: objectsOf(configMap("a", "1"), configMap("b", "2"))},
			{Name: "plane", CollisionProtection: v1alpha1.CollisionPrevent, Objects: objectsOf(configMap("c", "3"))},
		},
		probes: []v1alpha1.Probe{{
			Name: "ready", Selector: v1alpha1.ProbeSelector{Kind: "ConfigMap"},
			Assertions: []v1alpha1.Assertion{v1alpha1.AssertionOf(v1alpha1.Check{Condition: &v1alpha1.ConditionAssertion{Type: "Ready", Status: metav1.ConditionTrue}})},
		}},
	}
}

func (b base) object(phase, index int) *Object { return &b.phases[phase].Objects[index] }

func (b base) metadata(phase, index int) map[string]any {
	return b.object(phase, index).Manifest.Object["metadata"].(map[string]any)
}

func TestPack_Digest(t *testing.T) {
	tests := map[string]struct {
		reason string
		change func(b *base)
		same   bool
	}{
		"Nothing": {reason: "equal content has an equal digest", change: func(*base) {}, same: true},
		"EmptyMetadata": {
			reason: "the API server drops empty maps and null times of a manifest's metadata, which changes nothing",
			change: func(b *base) {
				b.metadata(0, 0)["labels"] = map[string]any{}
				b.metadata(0, 0)["annotations"] = nil
				b.metadata(0, 0)["creationTimestamp"] = nil
			},
			same: true,
		},
		"UnknownMetadata": {
			reason: "the API server drops metadata that it does not know",
			change: func(b *base) { b.metadata(0, 0)["clusterName"] = "x" },
			same:   true,
		},
		"DefaultOfAnAssertion": {
			reason: "the API server sets the default of a condition's status",
			change: func(b *base) { b.probes[0].Assertions[0].Condition.Status = "" },
			same:   true,
		},
		"Value": {
			reason: "a changed value is other content",
			change: func(b *base) { *b.object(0, 0) = objectsOf(configMap("a", "x"))[0] },
		},
		"Label": {
			reason: "a changed label is other content",
			change: func(b *base) { b.object(0, 0).Manifest.SetLabels(map[string]string{"a": "b"}) },
		},
		"NullOutsideOfMetadata": {
			reason: "a null may mean something to a kind's API",
			change: func(b *base) { b.object(0, 0).Manifest.Object["data"].(map[string]any)["other"] = nil },
		},
		"OrderOfObjects": {
			reason: "the order is kept as it is rendered",
			change: func(b *base) {
				objects := b.phases[0].Objects
				objects[0], objects[1] = objects[1], objects[0]
			},
		},
		"OrderOfPhases": {
			reason: "phases are rolled out in order",
			change: func(b *base) { b.phases[0], b.phases[1] = b.phases[1], b.phases[0] },
		},
		"ObjectInAnotherPhase": {
			reason: "the phase decides when an object is applied",
			change: func(b *base) {
				b.phases[1].Objects = append([]Object{b.phases[0].Objects[1]}, b.phases[1].Objects...)
				b.phases[0].Objects = b.phases[0].Objects[:1]
			},
		},
		"PhaseName":         {reason: "status names phases", change: func(b *base) { b.phases[0].Name = "x" }},
		"PhaseCollision":    {reason: "collision protection decides what is adopted", change: func(b *base) { b.phases[1].CollisionProtection = v1alpha1.CollisionNone }},
		"ObjectCollision":   {reason: "collision protection decides what is adopted", change: func(b *base) { b.object(0, 0).CollisionProtection = v1alpha1.CollisionNone }},
		"Deletion":          {reason: "the policy decides what stays", change: func(b *base) { b.object(0, 0).Deletion = v1alpha1.ObjectRetain }},
		"Probe":             {reason: "probes decide what is ready", change: func(b *base) { b.probes[0].Assertions[0].Condition.Type = "Synced" }},
		"AssertionStatus":   {reason: "probes decide what is ready", change: func(b *base) { b.probes[0].Assertions[0].Condition.Status = metav1.ConditionFalse }},
		"NoProbes":          {reason: "probes decide what is ready", change: func(b *base) { b.probes = nil }},
		"ObjectMore":        {reason: "another object is other content", change: func(b *base) { b.phases[1].Objects = append(b.phases[1].Objects, objectsOf(configMap("d", "4"))...) }},
		"EmptyPhaseMore":    {reason: "another phase is other content", change: func(b *base) { b.phases = append(b.phases, Phase{Name: "last"}) }},
		"NumberInsteadText": {reason: "a number is not its text", change: func(b *base) { b.object(0, 0).Manifest.Object["data"] = map[string]any{"value": int64(1)} }},
	}
	digest := func(t *testing.T, b base) string {
		t.Helper()
		packed, err := Pack(b.phases, b.probes)
		if err != nil {
			t.Fatal(err)
		}
		return packed.Digest
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			before, changed := newBase(), newBase()
			tc.change(&changed)
			a, b := digest(t, before), digest(t, changed)
			if (a == b) != tc.same {
				t.Errorf("%s: digests %s and %s, want the same: %t", tc.reason, a, b, tc.same)
			}
			if !strings.HasPrefix(a, "sha256:") || len(a) != len("sha256:")+64 {
				t.Errorf("digest %q does not have the form that the API takes", a)
			}
		})
	}
}

func TestPack_DigestOfNoProbes(t *testing.T) {
	phases := []Phase{{Name: "a", Objects: objectsOf(configMap("a", "1"))}}
	none, err := Pack(phases, nil)
	if err != nil {
		t.Fatal(err)
	}
	empty, err := Pack(phases, []v1alpha1.Probe{})
	if err != nil {
		t.Fatal(err)
	}
	if none.Digest != empty.Digest {
		t.Errorf("an empty list of probes comes back from the API server as none, and has the digest %s instead of %s", empty.Digest, none.Digest)
	}
}

// The same manifests have the same digest whether they stand inline, in a slice of
// their own, or with others in one.
func TestDigest_DoesNotDependOnSlices(t *testing.T) {
	small := configMap("small", "x")
	large := configMap("large", strings.Repeat("x", InlineLimit))
	split := []Phase{{Name: "a", Objects: objectsOf(small, large)}}
	packed, err := Pack(split, nil)
	if err != nil {
		t.Fatal(err)
	}
	var digests []string
	for _, m := range []*unstructured.Unstructured{small, large} {
		text, err := Canonical(m)
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, ObjectDigest(text))
	}
	for name, objects := range map[string][]v1alpha1.Object{
		"Inline":    make([]v1alpha1.Object, 2),
		"OneSlice":  {{Slice: &v1alpha1.SliceReference{Name: "x"}}, {Slice: &v1alpha1.SliceReference{Name: "x", Index: 1}}},
		"TwoSlices": {{Slice: &v1alpha1.SliceReference{Name: "x"}}, {Slice: &v1alpha1.SliceReference{Name: "y"}}},
	} {
		got, err := Digest([]v1alpha1.Phase{{Name: "a", Objects: objects}}, [][]string{digests}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got != packed.Digest {
			t.Errorf("%s: digest %s, want %s", name, got, packed.Digest)
		}
	}
}

func TestCanonical(t *testing.T) {
	tests := map[string]struct {
		reason string
		object map[string]any
		want   string
	}{
		"KeysAreSorted": {
			reason: "equal manifests give equal bytes",
			object: map[string]any{"kind": "A", "apiVersion": "v1", "b": map[string]any{"d": int64(1), "c": []any{"y", "x"}}},
			want:   `{"apiVersion":"v1","b":{"c":["y","x"],"d":1},"kind":"A"}`,
		},
		"KindsOfIntegers": {
			reason: "what a program has built equals what was read from JSON",
			object: map[string]any{"kind": "A", "n": int32(5), "m": float64(5)},
			want:   `{"kind":"A","m":5,"n":5}`,
		},
		"StoredMetadata": {
			reason: "metadata is as the API server stores it",
			object: map[string]any{"kind": "A", "metadata": map[string]any{
				"name": "a", "labels": map[string]any{}, "creationTimestamp": nil, "finalizers": []any{}, "annotations": map[string]any{"x": ""},
			}},
			want: `{"kind":"A","metadata":{"annotations":{"x":""},"name":"a"}}`,
		},
		"MalformedMetadata": {
			reason: "what cannot be understood is left for others to refuse",
			object: map[string]any{"kind": "A", "metadata": map[string]any{"name": int64(1)}},
			want:   `{"kind":"A","metadata":{"name":1}}`,
		},
		"NoMetadata": {
			reason: "nothing is made up",
			object: map[string]any{"kind": "A"},
			want:   `{"kind":"A"}`,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Canonical(&unstructured.Unstructured{Object: tc.object})
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tc.want {
				t.Errorf("%s: got %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}

// Fields that the API got later decide what is applied, and leave the digest of
// content without them alone.
func TestDigest_LaterFields(t *testing.T) {
	digest := func(object v1alpha1.Object) string {
		t.Helper()
		got, err := Digest([]v1alpha1.Phase{{Name: "a", Objects: []v1alpha1.Object{object}}}, [][]string{{"x"}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	const before = `{"Phases":[{"Name":"a","CollisionProtection":"","Objects":[{"Digest":"x","CollisionProtection":"","Deletion":""}]}],"Probes":null}`
	if got, want := digest(v1alpha1.Object{}), "sha256:"+ObjectDigest([]byte(before)); got != want {
		t.Errorf("content without these fields has the digest %s, want %s as before", got, want)
	}
	seen := map[string]string{digest(v1alpha1.Object{}): "Plain"}
	for name, object := range map[string]v1alpha1.Object{
		"UnmanagedFields":   {UnmanagedFields: []string{".spec.replicas"}},
		"OnImmutableChange": {OnImmutableChange: v1alpha1.ImmutableReplace},
		"ExclusiveFields":   {ExclusiveFields: []string{".spec.replicas"}},
		"UpdatePhase":       {UpdatePhase: "later"},
	} {
		if same, ok := seen[digest(object)]; ok {
			t.Errorf("%s has the digest of %s", name, same)
		}
		seen[digest(object)] = name
	}
}

// What has no identity keeps its digest, and an identity makes it another.
func TestIdentified(t *testing.T) {
	if got := Identified("sha256:a", ""); got != "sha256:a" {
		t.Errorf("without an identity the digest is %s", got)
	}
	one, two, other := Identified("sha256:a", "p/1"), Identified("sha256:a", "p/2"), Identified("sha256:b", "p/1")
	if one == "sha256:a" || one == two || one == other {
		t.Errorf("the digests %s, %s and %s are not all different", one, two, other)
	}
}
