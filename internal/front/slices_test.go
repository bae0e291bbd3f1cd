// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
)

func TestReconciler_Slices(t *testing.T) {
	f := newFixture(t)
	f.class("a", ours)
	f.rendered = []content.Package{rendering("plane", "large")}
	want(t, "a slice is made before the revision that refers to it", "writes",
		[]string{"patch a", "create plane", "create slice of plane", "create plane-1", "status a"}, f.mustPass())
	revision := &v1alpha1.Revision{}
	if err := f.API.Get(t.Context(), types.NamespacedName{Name: "plane-1"}, revision); err != nil {
		t.Fatal(err)
	}
	slice := &v1alpha1.ObjectSlice{}
	if err := f.API.Get(t.Context(), types.NamespacedName{Name: revision.Spec.Phases[0].Objects[0].Slice.Name}, slice); err != nil {
		t.Fatalf("the revision refers to a slice that is not there: %v", err)
	}
	if len(slice.OwnerReferences) != 1 || slice.OwnerReferences[0].UID != f.pkg("plane").UID || slice.OwnerReferences[0].Controller != nil {
		t.Errorf("the slice's owners are %v, want the package, as one of several that may be", slice.OwnerReferences)
	}
}

func TestReconciler_SliceFails(t *testing.T) {
	f := newFixture(t)
	f.class("a", ours)
	f.rendered = []content.Package{rendering("plane", "large")}
	f.Refuse = refusing("create slice")
	if _, err := f.pass(); !errors.Is(err, errRefused) {
		t.Errorf("got error %v", err)
	}
	want(t, "a revision never refers to a slice that was not there", "revisions", nil, f.revisions())
}

// The same content compressed by another version of the compressor is as good, and
// other content under the name is not.
func TestReconciler_SliceExists(t *testing.T) {
	packed, err := content.Pack(rendering("plane", "large").Phases, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		reason string
		change func(slice *v1alpha1.ObjectSlice)
		good   bool
	}{
		"SameBytes":    {reason: "the slice is shared", change: func(*v1alpha1.ObjectSlice) {}, good: true},
		"OtherBytes":   {reason: "what it holds counts, not how", change: func(slice *v1alpha1.ObjectSlice) { slice.Data = recompressed(t, slice) }, good: true},
		"OtherContent": {reason: "a slice that does not hold what its name says is not built on", change: func(slice *v1alpha1.ObjectSlice) { slice.Data = []byte("x") }},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.class("a", ours)
			slice := packed.Slices[0].DeepCopy()
			slice.OwnerReferences = []metav1.OwnerReference{{APIVersion: "strata.run/v1alpha1", Kind: "Package", Name: "other", UID: "other"}}
			tc.change(slice)
			f.Create(slice)
			f.rendered = []content.Package{rendering("plane", "large")}
			_, err := f.pass()
			if tc.good != (err == nil) {
				t.Fatalf("%s: got error %v", tc.reason, err)
			}
			if !tc.good {
				if _, ok := errors.AsType[*content.UnavailableError](err); !ok {
					t.Errorf("%s: error %v does not name the slice", tc.reason, err)
				}
				want(t, tc.reason, "revisions", nil, f.revisions())
				return
			}
			want(t, tc.reason, "revisions", []string{"plane-1"}, f.revisions())
			if err := f.API.Get(t.Context(), types.NamespacedName{Name: slice.Name}, slice); err != nil {
				t.Fatal(err)
			}
			want(t, "each package that shares it owns it", "owners", 2, len(slice.OwnerReferences))
		})
	}
}

// A slice that is lost is at hand: what the front renders is the content.
func TestReconciler_RestoresSlices(t *testing.T) {
	f := newFixture(t)
	f.class("a", ours)
	f.rendered = []content.Package{rendering("plane", "large")}
	f.mustPass()
	list := &v1alpha1.ObjectSliceList{}
	if err := f.API.List(t.Context(), list); err != nil || len(list.Items) != 1 {
		t.Fatalf("%d slices, error %v", len(list.Items), err)
	}
	if err := f.API.Delete(t.Context(), &list.Items[0]); err != nil {
		t.Fatal(err)
	}
	revision := &v1alpha1.Revision{}
	if err := f.API.Get(t.Context(), types.NamespacedName{Name: "plane-1"}, revision); err != nil {
		t.Fatal(err)
	}
	revision.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionProgressing, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonContentUnavailable}}
	if err := f.API.Status().Update(t.Context(), revision); err != nil {
		t.Fatal(err)
	}
	want(t, "no revision is made of the same content", "writes", []string{"create slice of plane"}, f.mustPass())
	restored := &v1alpha1.ObjectSlice{}
	if err := f.API.Get(t.Context(), types.NamespacedName{Name: list.Items[0].Name}, restored); err != nil || !bytes.Equal(restored.Data, list.Items[0].Data) {
		t.Errorf("the slice was not restored: %v", err)
	}
}

// recompressed is a slice's content compressed in another way.
func recompressed(t *testing.T, slice *v1alpha1.ObjectSlice) []byte {
	t.Helper()
	reader, err := gzip.NewReader(bytes.NewReader(slice.Data))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	writer, err := gzip.NewWriterLevel(&out, gzip.NoCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := writer.Write(raw); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
