// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/revisions"
)

// fakeSlices is what is stored, and counts what is read of it.
type fakeSlices struct {
	slices  map[string]v1alpha1.ObjectSlice
	secrets map[string]corev1.Secret
	err     error
	reads   int
}

func (f *fakeSlices) Slice(_ context.Context, name string) ([]*unstructured.Unstructured, error) {
	f.reads++
	slice, ok := f.slices[name]
	switch {
	case f.err != nil:
		return nil, f.err
	case !ok:
		return nil, &UnavailableError{Slice: name, Reason: "does not exist"}
	}
	return Unpack(&slice)
}

func (f *fakeSlices) Secret(_ context.Context, name string) ([]Sealed, error) {
	f.reads++
	secret, ok := f.secrets[name]
	switch {
	case f.err != nil:
		return nil, f.err
	case !ok:
		return nil, &UnavailableError{Secret: "strata-system/" + name, Reason: "does not exist"}
	}
	return UnpackSecret(&secret)
}

func secretManifest(name, value string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret",
		"metadata": map[string]any{"name": name, "namespace": "istio-system"},
		"data":     map[string]any{"key": value},
	}}
}

func raw(text string) v1alpha1.Object {
	return v1alpha1.Object{Object: &runtime.RawExtension{Raw: []byte(text)}}
}

// packed stores manifests, the ones after the first in slices, as a front does.
func packed(t *testing.T, manifests ...*unstructured.Unstructured) (*v1alpha1.Revision, *fakeSlices) {
	t.Helper()
	phase := Phase{Name: "plane"}
	for _, m := range manifests {
		phase.Objects = append(phase.Objects, Object{Manifest: m})
	}
	p, err := Packer{Key: make([]byte, KeySize)}.Pack([]Phase{phase}, nil)
	if err != nil {
		t.Fatal(err)
	}
	reader := &fakeSlices{slices: map[string]v1alpha1.ObjectSlice{}, secrets: map[string]corev1.Secret{}}
	for _, secret := range p.Secrets {
		secret.Namespace = "strata-system"
		reader.secrets[secret.Name] = secret
	}
	for _, slice := range p.Slices {
		reader.slices[slice.Name] = slice
	}
	return &v1alpha1.Revision{
		ObjectMeta: metav1.ObjectMeta{Name: "istiod-3"},
		Spec:       v1alpha1.RevisionSpec{Package: "istiod", Revision: 3, Phases: p.Phases, ContentDigest: p.Digest},
	}, reader
}

func manifestsOfLoaded(r revisions.Revision) []map[string]any {
	var all []map[string]any
	for _, phase := range r.Phases {
		for _, object := range phase.Objects {
			all = append(all, object.Manifest.Object)
		}
	}
	return all
}

func TestLoadRevision(t *testing.T) {
	small, large, other := configMap("small", "x"), configMap("large", strings.Repeat("x", InlineLimit)), configMap("other", strings.Repeat("y", InlineLimit))
	revision, reader := packed(t, small, large, other, configMap("last", "z"))
	revision.Status = v1alpha1.RevisionStatus{
		Conditions: []metav1.Condition{{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionTrue}},
		Inventory: []v1alpha1.InventoryEntry{{
			ObjectReference: v1alpha1.ObjectReference{Version: "v1", Kind: "ConfigMap", Namespace: "istio-system", Name: "small"},
			UID:             "u1", Action: "Adopted", Content: "c1", Fields: "f1",
		}},
	}
	before := revision.DeepCopy()
	loaded, err := LoadRevision(t.Context(), reader, revision)
	if err != nil {
		t.Fatal(err)
	}
	want := []map[string]any{small.Object, large.Object, other.Object, configMap("last", "z").Object}
	if diff := cmp.Diff(want, manifestsOfLoaded(loaded)); diff != "" {
		t.Errorf("manifests (-stored +loaded):\n%s", diff)
	}
	if loaded.Number != 3 || !loaded.Succeeded || len(loaded.Phases) != 1 || loaded.Phases[0].Name != "plane" {
		t.Errorf("loaded revision %d, succeeded %t, phases %d; want 3, true and plane", loaded.Number, loaded.Succeeded, len(loaded.Phases))
	}
	id := revisions.ObjectID{GroupKind: schema.GroupKind{Kind: "ConfigMap"}, Namespace: "istio-system", Name: "small"}
	wantRecords := map[revisions.ObjectID]revisions.Record{id: {UID: "u1", Action: revisions.ActionAdopted, Content: "c1", Fields: "f1"}}
	if diff := cmp.Diff(wantRecords, loaded.Records); diff != "" {
		t.Errorf("records (-inventory +loaded):\n%s", diff)
	}
	if reader.reads != 2 {
		t.Errorf("%d reads of 2 slices", reader.reads)
	}
	if diff := cmp.Diff(before, revision); diff != "" {
		t.Errorf("the revision was changed (-before +after):\n%s", diff)
	}
	if err := loaded.Validate(); err != nil {
		t.Errorf("the engine refuses what was loaded: %v", err)
	}
}

// Manifests of kind Secret come out of Secrets, and count for the digest.
func TestLoadRevision_Secrets(t *testing.T) {
	first, second := secretManifest("first", "YQ=="), secretManifest("second", "Yg==")
	revision, reader := packed(t, first, configMap("between", "x"), second)
	loaded, err := LoadRevision(t.Context(), reader, revision)
	if err != nil {
		t.Fatal(err)
	}
	want := []map[string]any{first.Object, configMap("between", "x").Object, second.Object}
	if diff := cmp.Diff(want, manifestsOfLoaded(loaded)); diff != "" {
		t.Errorf("manifests (-stored +loaded):\n%s", diff)
	}
	if loaded.Phases[0].Objects[0].Salt == "" || loaded.Phases[0].Objects[1].Salt != "" {
		t.Error("what is put on record of a Secret, and of nothing else, has a salt")
	}
	if len(reader.secrets) != 1 || reader.reads != 1 {
		t.Errorf("%d reads of %d Secrets, want one of one", reader.reads, len(reader.secrets))
	}
	revision.Spec.Phases[0].Objects[0].Secret.Index, revision.Spec.Phases[0].Objects[2].Secret.Index = 1, 0
	var unavailable *UnavailableError
	if _, err := LoadRevision(t.Context(), reader, revision); !errors.As(err, &unavailable) {
		t.Errorf("with its Secrets exchanged it is other content, got %v", err)
	}
}

// A slice that several objects refer to is read once.
func TestLoadRevision_ReadsASliceOnce(t *testing.T) {
	text := "{\"apiVersion\":\"v1\",\"kind\":\"A\",\"metadata\":{\"name\":\"a\"}}\n{\"apiVersion\":\"v1\",\"kind\":\"B\",\"metadata\":{\"name\":\"b\"}}"
	slice := sliceOf(t, text)
	reader := &fakeSlices{slices: map[string]v1alpha1.ObjectSlice{slice.Name: slice}}
	refer := func(index int32) v1alpha1.Object {
		return v1alpha1.Object{Slice: &v1alpha1.SliceReference{Name: slice.Name, Index: index}}
	}
	all, err := manifestsOf(t.Context(), reader, &v1alpha1.Revision{Spec: v1alpha1.RevisionSpec{Phases: []v1alpha1.Phase{
		{Name: "one", Objects: []v1alpha1.Object{refer(1)}}, {Name: "two", Objects: []v1alpha1.Object{refer(0)}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	if got := all[0][0].manifest.GetKind() + all[1][0].manifest.GetKind(); got != "BA" {
		t.Errorf("got the kinds %s, want BA", got)
	}
	if reader.reads != 1 {
		t.Errorf("the slice was read %d times", reader.reads)
	}
}

// revisionErrorCase is a case of [TestRevision_Errors].
type revisionErrorCase struct {
	reason  string
	content func(*testing.T) (*v1alpha1.Revision, *fakeSlices)
	class   string
	want    string
}

const (
	revisionErrorInvalid     = "invalid"
	revisionErrorUnavailable = "unavailable"
	revisionErrorAnother     = "another"
)

const revisionErrorSecret = "cGFzc3dvcmQ="

var revisionErrorInline = func(objects ...v1alpha1.Object) func(*testing.T) (*v1alpha1.Revision, *fakeSlices) {
	return func(*testing.T) (*v1alpha1.Revision, *fakeSlices) {
		return &v1alpha1.Revision{Spec: v1alpha1.RevisionSpec{Revision: 1, Phases: []v1alpha1.Phase{{Name: "plane", Objects: objects}}}}, &fakeSlices{}
	}
}

var revisionErrorWithLarge = func(t *testing.T) (*v1alpha1.Revision, *fakeSlices) {
	return packed(t, configMap("small", "x"), configMap("large", strings.Repeat("x", InlineLimit)))
}

var revisionErrorWithSecret = func(t *testing.T) (*v1alpha1.Revision, *fakeSlices) {
	return packed(t, configMap("small", "x"), secretManifest("ca", revisionErrorSecret))
}

var revisionErrorWithSecretChanged = func(t *testing.T, change func(*corev1.Secret)) (*v1alpha1.Revision, *fakeSlices) {
	r, f := revisionErrorWithSecret(t)
	for name, stored := range f.secrets {
		change(&stored)
		f.secrets[name] = stored
	}
	return r, f
}

var revisionErrorWithSecretNamed = func(t *testing.T, text string) (*v1alpha1.Revision, *fakeSlices) {
	slice, immutable := sliceOf(t, text), true
	stored := corev1.Secret{
		ObjectMeta: slice.ObjectMeta, Type: v1alpha1.SecretTypeManifests, Immutable: &immutable, Data: map[string][]byte{SecretKey: slice.Data},
	}
	return &v1alpha1.Revision{Spec: v1alpha1.RevisionSpec{Revision: 1, Phases: []v1alpha1.Phase{{
		Name: "plane", Objects: []v1alpha1.Object{{Secret: &v1alpha1.SecretReference{Name: slice.Name}}},
	}}}}, &fakeSlices{secrets: map[string]corev1.Secret{slice.Name: stored}}
}

// revisionErrorCases are the cases of [TestRevision_Errors].
var revisionErrorCases = map[string]revisionErrorCase{
	"MissingSlice": {
		reason: "a slice that is gone may be restored",
		content: func(t *testing.T) (*v1alpha1.Revision, *fakeSlices) {
			r, _ := revisionErrorWithLarge(t)
			return r, &fakeSlices{}
		},
		class: revisionErrorUnavailable, want: "phase plane, object 1: ObjectSlice sha256-",
	},
	"AlteredSlice": {
		reason: "what a slice holds is proven, not believed",
		content: func(t *testing.T) (*v1alpha1.Revision, *fakeSlices) {
			r, f := revisionErrorWithLarge(t)
			for name, slice := range f.slices {
				slice.Data = sliceOf(t, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"other"}}`).Data
				f.slices[name] = slice
			}
			return r, f
		},
		class: revisionErrorUnavailable, want: "contains other content than its name says",
	},
	"UnreadableSlice": {
		reason: "an API server that does not answer says nothing about the content",
		content: func(t *testing.T) (*v1alpha1.Revision, *fakeSlices) {
			r, f := revisionErrorWithLarge(t)
			f.err = errors.New("timeout")
			return r, f
		},
		class: revisionErrorAnother, want: "timeout",
	},
	"AlteredInlineManifest": {
		reason: "inline content is proven by the revision's digest",
		content: func(t *testing.T) (*v1alpha1.Revision, *fakeSlices) {
			r, f := revisionErrorWithLarge(t)
			r.Spec.Phases[0].Objects[0].Object.Raw = []byte(strings.ReplaceAll(string(r.Spec.Phases[0].Objects[0].Object.Raw), `"x"`, `"y"`))
			return r, f
		},
		class: revisionErrorUnavailable, want: "spec.contentDigest says sha256:",
	},
	"AlteredPolicy": {
		reason: "how objects are treated is content, too",
		content: func(t *testing.T) (*v1alpha1.Revision, *fakeSlices) {
			r, f := revisionErrorWithLarge(t)
			r.Spec.Phases[0].Objects[0].CollisionProtection = v1alpha1.CollisionNone
			return r, f
		},
		class: revisionErrorUnavailable, want: "spec.contentDigest says sha256:",
	},
	"IndexBeyondTheSlice": {
		reason: "a reference to nothing can never be used",
		content: func(t *testing.T) (*v1alpha1.Revision, *fakeSlices) {
			r, f := revisionErrorWithLarge(t)
			r.Spec.Phases[0].Objects[1].Slice.Index = 1
			return r, f
		},
		class: revisionErrorInvalid, want: "holds 1 manifests, and number 1 is asked for",
	},
	"NegativeIndex": {
		reason: "data does not make a manager panic",
		content: func(t *testing.T) (*v1alpha1.Revision, *fakeSlices) {
			r, f := revisionErrorWithLarge(t)
			r.Spec.Phases[0].Objects[1].Slice.Index = -1
			return r, f
		},
		class: revisionErrorInvalid, want: "number -1 is asked for",
	},
	"NeitherObjectNorSlice": {
		reason: "an object needs a manifest", content: revisionErrorInline(v1alpha1.Object{}),
		class: revisionErrorInvalid, want: "phase plane, object 0: neither object nor slice nor secret is set",
	},
	"NoJSON": {
		reason: "a manifest must be readable", content: revisionErrorInline(raw(`{"kind":`)),
		class: revisionErrorInvalid, want: "phase plane, object 0: reading the manifest",
	},
	"NoKind": {
		reason: "a manifest must say what it is", content: revisionErrorInline(raw(`{"apiVersion":"v1"}`)),
		class: revisionErrorInvalid, want: "phase plane, object 0: reading the manifest",
	},
	"InlineSecret": {
		reason:  "everybody who reads revisions would read its values",
		content: revisionErrorInline(raw(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"ca","namespace":"istio-system"},"data":{"key":"` + revisionErrorSecret + `"}}`)),
		class:   revisionErrorInvalid, want: "phase plane: Secret istio-system/ca stands in the revision",
	},
	"SecretInASlice": {
		reason: "a slice can be read as well",
		content: func(t *testing.T) (*v1alpha1.Revision, *fakeSlices) {
			slice := sliceOf(t, `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"ca"},"data":{"key":"`+revisionErrorSecret+`"}}`)
			return &v1alpha1.Revision{Spec: v1alpha1.RevisionSpec{Revision: 1, Phases: []v1alpha1.Phase{{
				Name: "plane", Objects: []v1alpha1.Object{{Slice: &v1alpha1.SliceReference{Name: slice.Name}}},
			}}}}, &fakeSlices{slices: map[string]v1alpha1.ObjectSlice{slice.Name: slice}}
		},
		class: revisionErrorInvalid, want: "phase plane: Secret /ca stands in the revision",
	},
	"MissingSecret": {
		reason: "a Secret that is gone may be restored",
		content: func(t *testing.T) (*v1alpha1.Revision, *fakeSlices) {
			r, _ := revisionErrorWithSecret(t)
			return r, &fakeSlices{}
		},
		class: revisionErrorUnavailable, want: "phase plane, object 1: Secret strata-system/sha256-",
	},
	"SecretOfAnotherType": {
		reason: "a revision must not make the manager hand out what another owner keeps in its namespace",
		content: func(t *testing.T) (*v1alpha1.Revision, *fakeSlices) {
			return revisionErrorWithSecretChanged(t, func(s *corev1.Secret) { s.Type = corev1.SecretTypeOpaque })
		},
		class: revisionErrorUnavailable, want: "is not of type strata.run/manifests",
	},
	"SecretThatCanChange": {
		reason: "stored content does not change",
		content: func(t *testing.T) (*v1alpha1.Revision, *fakeSlices) {
			return revisionErrorWithSecretChanged(t, func(s *corev1.Secret) { s.Immutable = nil })
		},
		class: revisionErrorUnavailable, want: "is not immutable",
	},
	"AlteredSecret": {
		reason: "what a Secret holds is proven, not believed",
		content: func(t *testing.T) (*v1alpha1.Revision, *fakeSlices) {
			return revisionErrorWithSecretChanged(t, func(s *corev1.Secret) {
				s.Data[SecretKey] = sliceOf(t, `{"manifest":{"apiVersion":"v1","kind":"Secret","data":{"key":"`+revisionErrorSecret+`"}},"salt":""}`).Data
			})
		},
		class: revisionErrorUnavailable, want: "contains other content than its name says",
	},
	"UnreadableSecret": {
		reason: "an error must not quote what could not be read",
		content: func(t *testing.T) (*v1alpha1.Revision, *fakeSlices) {
			return revisionErrorWithSecretNamed(t, `{"manifest":{"apiVersion":"v1","kind":"Secret","data":`+revisionErrorSecret+`}}`)
		},
		class: revisionErrorUnavailable, want: "contains a manifest that cannot be read",
	},
	"ConfigMapInASecret": {
		reason: "only manifests of kind Secret are kept there",
		content: func(t *testing.T) (*v1alpha1.Revision, *fakeSlices) {
			return revisionErrorWithSecretNamed(t, `{"manifest":{"apiVersion":"v1","kind":"ConfigMap","data":{"key":"`+revisionErrorSecret+`"}},"salt":""}`)
		},
		class: revisionErrorUnavailable, want: "holds a manifest of kind ConfigMap",
	},
	"IndexBeyondTheSecret": {
		reason: "a reference to nothing can never be used",
		content: func(t *testing.T) (*v1alpha1.Revision, *fakeSlices) {
			r, f := revisionErrorWithSecret(t)
			r.Spec.Phases[0].Objects[1].Secret.Index = 7
			return r, f
		},
		class: revisionErrorInvalid, want: "holds 1 manifests, and number 7 is asked for",
	},
}

func TestLoadRevision_Errors(t *testing.T) {
	for name, tc := range revisionErrorCases {
		t.Run(name, func(t *testing.T) {
			revision, reader := tc.content(t)
			loaded, err := LoadRevision(t.Context(), reader, revision)
			if err == nil {
				t.Fatalf("%s: it was loaded", tc.reason)
			}
			var i *InvalidError
			var u *UnavailableError
			class := revisionErrorAnother
			switch {
			case errors.As(err, &i):
				class = revisionErrorInvalid
			case errors.As(err, &u):
				class = revisionErrorUnavailable
			}
			if class != tc.class || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: error of class %s: %v; want class %s and %q", tc.reason, class, err, tc.class, tc.want)
			}
			if strings.Contains(err.Error(), revisionErrorSecret) {
				t.Errorf("%s: the error tells a secret: %v", tc.reason, err)
			}
			if loaded.Phases != nil {
				t.Errorf("%s: phases came with the error", tc.reason)
			}
		})
	}
}

// A Secret of another API group than the core one holds no values of ours.
func TestLoadRevision_KindSecretOfAnotherGroup(t *testing.T) {
	_, err := LoadRevision(t.Context(), &fakeSlices{}, &v1alpha1.Revision{Spec: v1alpha1.RevisionSpec{Revision: 1, Phases: []v1alpha1.Phase{{
		Name: "plane", Objects: []v1alpha1.Object{raw(`{"apiVersion":"example.com/v1","kind":"Secret","metadata":{"name":"a"}}`)},
	}}}})
	if err != nil {
		t.Errorf("a custom kind Secret was refused: %v", err)
	}
}

func TestInvalidError(t *testing.T) {
	cause := errors.New("it cannot be used")
	err := fmt.Errorf("loading: %w", &InvalidError{Err: cause})
	if !errors.Is(err, cause) || err.Error() != "loading: it cannot be used" {
		t.Errorf("got %q, which does not stand for its cause", err)
	}
}

// TestRevision_Bounds: what a revision refers to is bounded as a whole, while it is read, as
// slices that are small where they are stored may be large where they are used.
func TestLoadRevision_Bounds(t *testing.T) {
	f := &fakeSlices{slices: map[string]v1alpha1.ObjectSlice{}}
	large := &v1alpha1.Revision{Spec: v1alpha1.RevisionSpec{Revision: 1, Phases: []v1alpha1.Phase{{Name: "run"}}}}
	for i := range 12 {
		packed, err := Pack([]Phase{{Name: "run", Objects: []Object{
			{Manifest: configMap(fmt.Sprintf("big-%d", i), strings.Repeat("x", 3<<20))},
		}}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		f.slices[packed.Slices[0].Name] = packed.Slices[0]
		large.Spec.Phases[0].Objects = append(large.Spec.Phases[0].Objects, packed.Phases[0].Objects...)
	}
	_, err := LoadRevision(t.Context(), f, large)
	var invalid *InvalidError
	if !errors.As(err, &invalid) || !strings.Contains(err.Error(), "34603") || !strings.Contains(err.Error(), strconv.Itoa(MaxBytes)) || f.reads != 11 {
		t.Errorf("after %d reads: %v; want a refusal at the eleventh with the bytes found and the limit", f.reads, err)
	}
	many := &v1alpha1.Revision{Spec: v1alpha1.RevisionSpec{Revision: 1, Phases: []v1alpha1.Phase{{Name: "run", Objects: make([]v1alpha1.Object, MaxObjects+1)}}}}
	if _, err := LoadRevision(t.Context(), f, many); !errors.As(err, &invalid) || !strings.Contains(err.Error(), "10001 objects") || f.reads != 11 {
		t.Errorf("after %d reads: %v; want a refusal before anything is read", f.reads, err)
	}
}
