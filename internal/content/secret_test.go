// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-run/strata/api/v1alpha1"
)

const canary = "hunter2-and-more"

func secretOf(name, value string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret",
		"metadata": map[string]any{"name": name, "namespace": "app"}, "stringData": map[string]any{"password": value},
	}}
}

func keyed(filler byte) Packer { return Packer{Key: bytes.Repeat([]byte{filler}, KeySize)} }

func mustPack(t *testing.T, p Packer, phases ...Phase) Packed {
	t.Helper()
	packed, err := p.Pack(phases, nil)
	if err != nil {
		t.Fatal(err)
	}
	return packed
}

// Manifests of kind Secret stand in Secrets, whatever their size and number, and
// come back as they were.
func TestPacker_Secrets(t *testing.T) {
	large := strings.Repeat(canary, InlineLimit)
	phases := []Phase{
		{Name: "one", Objects: objectsOf(secretOf("a", canary), configMap("b", "x"), secretOf("c", "2"))},
		{Name: "two", Objects: objectsOf(secretOf("d", large), secretOf("e", "5"))},
	}
	packed := mustPack(t, keyed(1), phases...)
	if len(packed.Slices) != 0 || len(packed.Secrets) != 3 {
		t.Errorf("%d slices and %d Secrets, want none and one for the small ones of each phase and one for the large one", len(packed.Slices), len(packed.Secrets))
	}
	spec, err := json.Marshal(packed.Phases)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(spec), "hunter2") || strings.Contains(string(spec), `"Secret"`) {
		t.Errorf("a Secret stands in the revision: %s", spec)
	}
	held := map[string][]Sealed{}
	for i := range packed.Secrets {
		secret := &packed.Secrets[i]
		if secret.Type != v1alpha1.SecretTypeManifests || secret.Immutable == nil || !*secret.Immutable {
			t.Errorf("Secret %s is of type %s, immutable %v", secret.Name, secret.Type, secret.Immutable)
		}
		if held[secret.Name], err = UnpackSecret(secret); err != nil {
			t.Fatal(err)
		}
	}
	for i, phase := range phases {
		for j, object := range phase.Objects {
			if !IsSecret(object.Manifest) {
				continue
			}
			reference := packed.Phases[i].Objects[j].Secret
			if diff := cmp.Diff(object.Manifest.Object, held[reference.Name][reference.Index].Manifest.Object); diff != "" {
				t.Errorf("%s (-packed +unpacked):\n%s", object.Manifest.GetName(), diff)
			}
		}
	}
}

func TestPacker_SecretDigests(t *testing.T) {
	one := func(value string) Phase {
		return Phase{Name: "one", Objects: objectsOf(secretOf("a", value))}
	}
	base := mustPack(t, keyed(1), one(canary))
	if again := mustPack(t, keyed(1), one(canary)); !cmp.Equal(base, again) {
		t.Error("equal content is packed in another way")
	}
	if other := mustPack(t, keyed(1), one("other")); other.Digest == base.Digest {
		t.Error("another value has the digest of the first")
	}
	if other := mustPack(t, keyed(2), one(canary)); other.Digest == base.Digest || other.Secrets[0].Name == base.Secrets[0].Name {
		t.Error("who has not got the key can tell the value by its digest")
	}
	// Where it stands does not matter: beside others it is in another Secret.
	beside := mustPack(t, keyed(1), Phase{Name: "one", Objects: objectsOf(secretOf("a", canary), secretOf("b", "x"))})
	sealed, err := UnpackSecret(&beside.Secrets[0])
	if err != nil {
		t.Fatal(err)
	}
	alone, err := UnpackSecret(&base.Secrets[0])
	if err != nil {
		t.Fatal(err)
	}
	if sealed[0].Digest != alone[0].Digest || beside.Secrets[0].Name == base.Secrets[0].Name {
		t.Error("the digest of a manifest depends on what stands beside it")
	}
}

func TestPacker_WithoutKey(t *testing.T) {
	phase := Phase{Name: "one", Objects: objectsOf(secretOf("a", canary))}
	if !HasSecrets([]Phase{phase}) || HasSecrets([]Phase{{Objects: objectsOf(configMap("a", "x"))}}) {
		t.Error("HasSecrets tells something else")
	}
	for _, p := range []Packer{{}, {Key: []byte("short")}} {
		_, err := p.Pack([]Phase{phase}, nil)
		if err == nil || !strings.Contains(err.Error(), "phase one") || strings.Contains(err.Error(), canary) {
			t.Errorf("with a key of %d bytes: %v", len(p.Key), err)
		}
	}
}

func TestPacker_SecretTooLarge(t *testing.T) {
	_, err := keyed(1).Pack([]Phase{{Name: "big", Objects: objectsOf(secretOf("a", noise(t, 1, 2<<20)))}}, nil)
	if err == nil || !strings.Contains(err.Error(), "phase big: object 0 ") || len(err.Error()) > 300 {
		t.Errorf("got %.300v", err)
	}
	if packed := mustPack(t, keyed(1), Phase{Name: "fits", Objects: objectsOf(secretOf("a", noise(t, 1, 1<<20)))}); len(packed.Secrets[0].Data[SecretKey]) > corev1.MaxSecretSize {
		t.Error("the API server would refuse the Secret")
	}
}

func TestPack_TooManyObjects(t *testing.T) {
	phases := make([]Phase, 4)
	for n := range 6000 {
		phase := &phases[n%len(phases)]
		phase.Name = "phase"
		phase.Objects = append(phase.Objects, objectsOf(configMap("a", "x"))...)
	}
	_, err := Pack(phases, nil)
	if err == nil || !strings.Contains(err.Error(), "6000 objects") || !strings.Contains(err.Error(), "split it into several packages") {
		t.Errorf("got %v", err)
	}
}

func TestReferences(t *testing.T) {
	slice := func(name string, index int32) v1alpha1.Object {
		return v1alpha1.Object{Slice: &v1alpha1.SliceReference{Name: name, Index: index}}
	}
	secret := v1alpha1.Object{Secret: &v1alpha1.SecretReference{Name: "a"}}
	phases := []v1alpha1.Phase{
		{Name: "one", Objects: []v1alpha1.Object{slice("b", 0), slice("b", 1), {}, secret, slice("a", 0)}},
		{Name: "two", Objects: []v1alpha1.Object{slice("b", 2), secret}},
	}
	want := []Reference{{Name: "a"}, {Name: "b"}, {Secret: true, Name: "a"}}
	if got := References(phases); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := References(OnlyReferences(phases)); !slices.Equal(got, want) {
		t.Errorf("what is kept of history refers to %v, want %v", got, want)
	}
	if got := OnlyReferences([]v1alpha1.Phase{{Name: "inline", Objects: []v1alpha1.Object{{}}}}); got != nil {
		t.Errorf("inline content is not kept, got %v", got)
	}
}
