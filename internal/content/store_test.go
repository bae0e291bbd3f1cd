// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/strata-run/strata/api/v1alpha1"
)

const namespace = "strata-system"

// fixture is an API server, what is written to it, and the contents on it.
type fixture struct {
	t        *testing.T
	api      client.WithWatch
	now      time.Time
	contents *Store
	writes   []string
	// before is called with each write before it is made. Optional.
	before func(write string)
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, corev1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	f := &fixture{t: t, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), api: fake.NewClientBuilder().WithScheme(scheme).Build()}
	f.restart()
	return f
}

// restart is a new process on the same cluster.
func (f *fixture) restart() {
	writer := interceptor.NewClient(f.api, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
			f.write("create", object)
			object.SetUID(types.UID("uid-" + object.GetName()))
			return c.Create(ctx, object, options...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			f.write("patch", object)
			return c.Patch(ctx, object, patch, options...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.DeleteOption) error {
			f.write("delete", object)
			return c.Delete(ctx, object, options...)
		},
	})
	f.contents = &Store{Client: writer, Live: f.api, Namespace: namespace, Now: func() time.Time { return f.now }}
}

func (f *fixture) write(verb string, object client.Object) {
	text := verb + " " + object.GetObjectKind().GroupVersionKind().Kind
	if _, isSlice := object.(*v1alpha1.ObjectSlice); isSlice {
		text = verb + " ObjectSlice"
	}
	if f.before != nil {
		f.before(text)
	}
	f.writes = append(f.writes, text)
}

// wrote are the writes since it was asked last.
func (f *fixture) wrote() []string {
	writes := f.writes
	f.writes = nil
	return writes
}

func pkgOf(name string) *v1alpha1.Package {
	return &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)}}
}

func manifestOf(kind, name string) *unstructured.Unstructured {
	m := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": kind, "data": map[string]any{"text": strings.Repeat("eHl6", InlineLimit)}}}
	m.SetName(name)
	return m
}

// pack packs large manifests, given as KIND/NAME.
func (f *fixture) pack(names ...string) Packed {
	f.t.Helper()
	phase := Phase{Name: "only"}
	for _, text := range names {
		kind, name, _ := strings.Cut(text, "/")
		phase.Objects = append(phase.Objects, Object{Manifest: manifestOf(kind, name)})
	}
	packed, err := f.contents.Pack(f.t.Context(), []Phase{phase}, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	return packed
}

func (f *fixture) keep(pkg string, packed Packed, standing *v1alpha1.Revision) {
	f.t.Helper()
	if err := f.contents.Keep(f.t.Context(), pkgOf(pkg), packed, standing); err != nil {
		f.t.Fatal(err)
	}
}

// owners are the names of the packages that keep something; nil when it is gone.
func (f *fixture) owners(reference Reference) []string {
	f.t.Helper()
	object, key := f.contents.Metadata(reference)
	err := f.api.Get(f.t.Context(), key, object)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		f.t.Fatal(err)
	}
	names := []string{}
	for _, owner := range object.OwnerReferences {
		names = append(names, owner.Name)
	}
	return names
}

func want(t *testing.T, reason string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", reason, diff)
	}
}

func TestContents_KeepAndRead(t *testing.T) {
	f := newFixture(t)
	packed := f.pack("ConfigMap/a", "Secret/b")
	want(t, "the key is made when it is needed first", []string{"create Secret"}, f.wrote())
	f.keep("web", packed, nil)
	want(t, "each is made once", []string{"create ObjectSlice", "create Secret"}, f.wrote())
	manifests, err := f.contents.Slice(t.Context(), packed.Slices[0].Name)
	if err != nil || len(manifests) != 1 || manifests[0].GetName() != "a" {
		t.Errorf("the slice holds %v, error %v", manifests, err)
	}
	sealed, err := f.contents.Secret(t.Context(), packed.Secrets[0].Name)
	if err != nil || len(sealed) != 1 || sealed[0].Manifest.GetName() != "b" {
		t.Errorf("the Secret does not hold what was packed, error %v", err)
	}
	for _, reference := range References(packed.Phases) {
		want(t, reference.String(), []string{"web"}, f.owners(reference))
	}
	object, key := f.contents.Metadata(Reference{Secret: true, Name: packed.Secrets[0].Name})
	if err := f.api.Get(t.Context(), key, object); err != nil || len(object.Labels) != 0 {
		t.Errorf("informers of managed Secrets would hold it: labels %v, error %v", object.Labels, err)
	}
}

// The key is the same in every process, and who loses it still reads everything.
func TestContents_Key(t *testing.T) {
	f := newFixture(t)
	first := f.pack("Secret/a")
	f.keep("web", first, nil)
	f.restart()
	f.wrote()
	want(t, "another process packs alike", first, f.pack("Secret/a"))
	want(t, "and needs no key of its own", 0, len(f.wrote()))

	lost := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: keyName}}
	if err := f.api.Delete(t.Context(), lost); err != nil {
		t.Fatal(err)
	}
	f.restart()
	if f.pack("Secret/a").Digest == first.Digest {
		t.Error("another key gives the same digest, so it keeps nothing secret")
	}
	if _, err := f.contents.Secret(t.Context(), first.Secrets[0].Name); err != nil {
		t.Errorf("what was stored with the old key cannot be read: %v", err)
	}

	key := &corev1.Secret{}
	if err := f.api.Get(t.Context(), client.ObjectKeyFromObject(lost), key); err != nil {
		t.Fatal(err)
	}
	key.Data[keyData] = []byte("short")
	if err := f.api.Update(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	f.restart()
	_, err := f.contents.Pack(t.Context(), []Phase{{Name: "only", Objects: []Object{{Manifest: manifestOf("Secret", "a")}}}}, nil)
	if err == nil || !strings.Contains(err.Error(), namespace+"/"+keyName) || strings.Contains(err.Error(), "short") {
		t.Errorf("a key that is none: %v", err)
	}
}

// Two that make the key at once use the one that was made first.
func TestContents_KeyRace(t *testing.T) {
	f := newFixture(t)
	other := &Store{Client: f.api, Live: f.api, Namespace: namespace, Now: f.contents.Now}
	var theirs Packed
	phases := []Phase{{Name: "only", Objects: []Object{{Manifest: manifestOf("Secret", "a")}}}}
	f.before = func(string) {
		f.before = nil
		var err error
		if theirs, err = other.Pack(t.Context(), phases, nil); err != nil {
			t.Fatal(err)
		}
	}
	ours, err := f.contents.Pack(t.Context(), phases, nil)
	if err != nil {
		t.Fatal(err)
	}
	want(t, "both have the same digest", theirs.Digest, ours.Digest)
}

func TestContents_KeepAgain(t *testing.T) {
	tests := map[string]struct {
		reason   string
		after    time.Duration
		standing bool
		want     []string
	}{
		"AtOnce":       {reason: "it was kept a moment ago, and is not collected soon", after: time.Minute},
		"Later":        {reason: "it may be just about to be collected, so it is kept anew", after: 2 * Grace, want: []string{"patch ObjectSlice"}},
		"WhileInUse":   {reason: "what the active revision refers to stays anyhow", after: 2 * Grace, standing: true},
		"LongWhileNot": {reason: "half an hour is left for the writer", after: Grace/2 + time.Second, want: []string{"patch ObjectSlice"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			packed := f.pack("ConfigMap/a")
			f.keep("web", packed, nil)
			f.wrote()
			f.now = f.now.Add(tc.after)
			var standing *v1alpha1.Revision
			if tc.standing {
				standing = &v1alpha1.Revision{Spec: v1alpha1.RevisionSpec{Phases: packed.Phases}}
			}
			f.keep("web", packed, standing)
			want(t, tc.reason, tc.want, f.wrote())
		})
	}
}

func TestContents_Share(t *testing.T) {
	f := newFixture(t)
	packed := f.pack("ConfigMap/a", "Secret/b")
	f.keep("web", packed, nil)
	f.keep("shop", packed, nil)
	f.now = f.now.Add(2 * Grace)
	for _, reference := range References(packed.Phases) {
		want(t, "both own it", []string{"web", "shop"}, f.owners(reference))
		for i, pkg := range []string{"web", "shop", "shop"} {
			if err := f.contents.Release(t.Context(), pkgOf(pkg), reference); err != nil {
				t.Fatal(err)
			}
			want(t, fmt.Sprintf("%s after %d releases", reference, i+1), [][]string{{"shop"}, nil, nil}[i], f.owners(reference))
		}
	}
}

// Nothing is built on what does not hold what its name says, or on a Secret that is
// another owner's.
func TestContents_KeepAltered(t *testing.T) {
	f := newFixture(t)
	packed := f.pack("ConfigMap/a", "Secret/b")
	slice, secret := packed.Slices[0].DeepCopy(), packed.Secrets[0].DeepCopy()
	slice.Data, secret.Namespace, secret.Type = []byte("x"), namespace, corev1.SecretTypeOpaque
	for _, object := range []client.Object{slice, secret} {
		if err := f.api.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	for name, part := range map[string]Packed{"Slice": {Slices: packed.Slices}, "Secret": {Secrets: packed.Secrets}} {
		err := f.contents.Keep(t.Context(), pkgOf("web"), part, nil)
		if _, ok := errors.AsType[*UnavailableError](err); !ok {
			t.Errorf("%s: got %v", name, err)
		}
	}
	for _, reference := range References(packed.Phases) {
		want(t, reference.String()+" is left alone", []string{}, f.owners(reference))
	}
}

// What changes between a read and a write is checked again.
func TestContents_KeepRaces(t *testing.T) {
	f := newFixture(t)
	packed := f.pack("ConfigMap/a")
	reference := References(packed.Phases)[0]
	other := &Store{Client: f.api, Live: f.api, Namespace: namespace, Now: f.contents.Now}
	f.before = func(string) {
		f.before = nil
		if err := other.Keep(t.Context(), pkgOf("shop"), packed, nil); err != nil {
			t.Fatal(err)
		}
	}
	f.keep("web", packed, nil)
	want(t, "another manager makes it meanwhile", []string{"shop", "web"}, f.owners(reference))

	f.now = f.now.Add(2 * Grace)
	f.before = func(string) {
		f.before = nil
		for _, pkg := range []string{"shop", "web"} {
			if err := other.Release(t.Context(), pkgOf(pkg), reference); err != nil {
				t.Fatal(err)
			}
		}
	}
	f.keep("web", packed, nil)
	want(t, "another manager collects it meanwhile", []string{"web"}, f.owners(reference))
}

func TestContents_Release(t *testing.T) {
	tests := map[string]struct {
		reason string
		after  time.Duration
		pkg    string
		// meanwhile happens between the read and the write.
		meanwhile func(f *fixture, packed Packed)
		conflict  bool
		want      []string
	}{
		"LastOwner":   {reason: "it goes with its last owner", after: 2 * Grace, pkg: "web"},
		"TooYoung":    {reason: "its revision may be about to be made", after: Grace - time.Second, pkg: "web", want: []string{"web"}},
		"Another":     {reason: "it is not the package's", after: 2 * Grace, pkg: "shop", want: []string{"web"}},
		"JoinedByOne": {reason: "a package that joins keeps it", after: 2 * Grace, pkg: "web", conflict: true, want: []string{"web", "shop"}, meanwhile: func(f *fixture, packed Packed) { f.keep("shop", packed, nil) }},
		"KeptAgain":   {reason: "so does a writer of the package itself", after: 2 * Grace, pkg: "web", conflict: true, want: []string{"web"}, meanwhile: func(f *fixture, packed Packed) { f.keep("web", packed, nil) }},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			packed := f.pack("ConfigMap/a")
			f.keep("web", packed, nil)
			f.now = f.now.Add(tc.after)
			if tc.meanwhile != nil {
				f.before = func(string) { f.before = nil; tc.meanwhile(f, packed) }
			}
			reference := References(packed.Phases)[0]
			err := f.contents.Release(t.Context(), pkgOf(tc.pkg), reference)
			if apierrors.IsConflict(err) != tc.conflict || (err != nil) != tc.conflict {
				t.Errorf("%s: error %v, want a conflict: %t", tc.reason, err, tc.conflict)
			}
			want(t, tc.reason, tc.want, f.owners(reference))
		})
	}
}

func TestContents_Missing(t *testing.T) {
	f := newFixture(t)
	_, sliceErr := f.contents.Slice(t.Context(), "sha256-1")
	_, secretErr := f.contents.Secret(t.Context(), "sha256-2")
	var texts []string
	for _, err := range []error{sliceErr, secretErr} {
		if _, ok := errors.AsType[*UnavailableError](err); !ok {
			t.Errorf("got %v", err)
			continue
		}
		texts = append(texts, err.Error())
	}
	want(t, "the errors name what is missing", []string{
		"ObjectSlice sha256-1 does not exist: apply the same content again, which restores it, or create a new revision",
		"Secret strata-system/sha256-2 does not exist: apply the same content again, which restores it, or create a new revision",
	}, texts)
	if err := f.contents.Release(t.Context(), pkgOf("web"), Reference{Name: "sha256-1"}); err != nil {
		t.Errorf("what is gone need not be released: %v", err)
	}
}

func TestContents_Adopt(t *testing.T) {
	f := newFixture(t)
	packed := f.pack("ConfigMap/a")
	if err := f.api.Create(t.Context(), packed.Slices[0].DeepCopy()); err != nil {
		t.Fatal(err)
	}
	reference := References(packed.Phases)[0]
	current, key := f.contents.Metadata(reference)
	if err := f.api.Get(t.Context(), key, current); err != nil {
		t.Fatal(err)
	}
	if err := f.contents.Adopt(t.Context(), pkgOf("web"), current); err != nil {
		t.Fatal(err)
	}
	want(t, "it is the package's", []string{"web"}, f.owners(reference))
	if err := f.contents.Adopt(t.Context(), pkgOf("shop"), current); !apierrors.IsConflict(err) {
		t.Errorf("on a state that is no longer true: %v", err)
	}
	if !slices.Equal(f.owners(reference), []string{"web"}) {
		t.Error("an owner got lost")
	}
}
