// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"bytes"
	"compress/gzip"
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
)

// goodSlice is a slice as Pack makes it.
func goodSlice(t *testing.T) *v1alpha1.ObjectSlice {
	t.Helper()
	packed, err := Pack([]Phase{{Name: "a", Objects: objectsOf(configMap("a", strings.Repeat("x", InlineLimit)))}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &packed.Slices[0]
}

// rawSlice is a slice of any content, under the name of that.
func rawSlice(t *testing.T, raw string) *v1alpha1.ObjectSlice {
	t.Helper()
	data, err := compress([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return &v1alpha1.ObjectSlice{ObjectMeta: metav1.ObjectMeta{Name: SliceName([]byte(raw))}, Data: data}
}

// bomb is a slice of a few kilobytes that inflates to 34 MiB.
func bomb(t *testing.T) *v1alpha1.ObjectSlice {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	zeros := make([]byte, 1<<20)
	for range 34 {
		if _, err := w.Write(zeros); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &v1alpha1.ObjectSlice{ObjectMeta: metav1.ObjectMeta{Name: "sha256-bomb"}, Data: out.Bytes()}
}

// alteredCase is a case of [TestUnpack_Altered].
type alteredCase struct {
	reason string
	slice  func(t *testing.T) *v1alpha1.ObjectSlice
	want   string
}

// alteredCases are the cases of [TestUnpack_Altered].
var alteredCases = map[string]alteredCase{
	"NoData": {
		reason: "a slice that has lost its data",
		slice:  func(t *testing.T) *v1alpha1.ObjectSlice { s := goodSlice(t); s.Data = nil; return s },
		want:   "does not contain gzip data",
	},
	"NotCompressed": {
		reason: "data of another form",
		slice:  func(t *testing.T) *v1alpha1.ObjectSlice { s := goodSlice(t); s.Data = []byte(`{"kind":"A"}`); return s },
		want:   "does not contain gzip data",
	},
	"CutOff": {
		reason: "data that ends too early",
		slice:  func(t *testing.T) *v1alpha1.ObjectSlice { s := goodSlice(t); s.Data = s.Data[:len(s.Data)-9]; return s },
		want:   "cannot be inflated",
	},
	"TrailingBytes": {
		reason: "data that goes on after its end",
		slice: func(t *testing.T) *v1alpha1.ObjectSlice {
			s := goodSlice(t)
			s.Data = append(s.Data, "tail"...)
			return s
		},
		want: "cannot be inflated",
	},
	"OtherContent": {
		reason: "content under a name that is not its digest: a user has exchanged it",
		slice: func(t *testing.T) *v1alpha1.ObjectSlice {
			s := rawSlice(t, `{"apiVersion":"v1","kind":"A"}`)
			s.Name = goodSlice(t).Name
			return s
		},
		want: "contains other content than its name says",
	},
	"AppendedContent": {
		reason: "a second gzip stream after the first is content, too",
		slice: func(t *testing.T) *v1alpha1.ObjectSlice {
			s := goodSlice(t)
			s.Data = append(s.Data, rawSlice(t, "\n{}").Data...)
			return s
		},
		want: "contains other content than its name says",
	},
	"NoManifest": {
		reason: "content of the right digest that is no manifest",
		slice: func(t *testing.T) *v1alpha1.ObjectSlice {
			return rawSlice(t, "{\"apiVersion\":\"v1\",\"kind\":\"A\"}\n")
		},
		want: "contains a manifest that cannot be read",
	},
	"NoKind": {
		reason: "an object without a kind",
		slice:  func(t *testing.T) *v1alpha1.ObjectSlice { return rawSlice(t, `{"apiVersion":"v1"}`) },
		want:   "contains a manifest that cannot be read",
	},
	"Bomb": {
		reason: "a few kilobytes that inflate to more memory than a manager has",
		slice:  bomb,
		want:   "inflates to more than 4194304 bytes",
	},
}

func TestUnpack_Altered(t *testing.T) {
	for name, tc := range alteredCases {
		t.Run(name, func(t *testing.T) {
			slice := tc.slice(t)
			manifests, err := Unpack(slice)
			var unavailable *UnavailableError
			if !errors.As(err, &unavailable) {
				t.Fatalf("%s: Unpack = %d manifests and error %v, want an *UnavailableError", tc.reason, len(manifests), err)
			}
			if unavailable.Slice != slice.Name || !strings.Contains(unavailable.Reason, tc.want) {
				t.Errorf("%s: error %q, want one that names %s and says %q", tc.reason, err, slice.Name, tc.want)
			}
		})
	}
}

func TestUnavailableError(t *testing.T) {
	if got := (&UnavailableError{Reason: "the content is altered"}).Error(); got != "the content is altered" {
		t.Errorf("without a slice the reason stands alone, got %q", got)
	}
	got := (&UnavailableError{Slice: "sha256-1", Reason: "does not exist"}).Error()
	if want := "ObjectSlice sha256-1 does not exist: apply the same content again, which restores it, or create a new revision"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
