// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-run/strata/api/v1alpha1"
)

func configMap(name, value string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": name, "namespace": "istio-system"},
		"data":     map[string]any{"value": value},
	}}
}

func objectsOf(manifests ...*unstructured.Unstructured) []Object {
	var objects []Object
	for _, m := range manifests {
		objects = append(objects, Object{Manifest: m})
	}
	return objects
}

// noise is text that does not compress well, the same for the same seed.
func noise(t *testing.T, seed, size int) string {
	t.Helper()
	data := make([]byte, base64.StdEncoding.DecodedLen(size))
	if _, err := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)}).Read(data); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(data)
}

// unpackAll reads packed content back, in the order of phases and objects.
func unpackAll(t *testing.T, packed Packed) [][]map[string]any {
	t.Helper()
	held := map[string][]*unstructured.Unstructured{}
	for i := range packed.Slices {
		slice := &packed.Slices[i]
		manifests, err := Unpack(slice)
		if err != nil {
			t.Fatalf("Unpack(%s) = %v", slice.Name, err)
		}
		if int(slice.Objects) != len(manifests) {
			t.Errorf("slice %s says that it holds %d manifests, and holds %d", slice.Name, slice.Objects, len(manifests))
		}
		held[slice.Name] = manifests
	}
	var all [][]map[string]any
	for _, phase := range packed.Phases {
		var own []map[string]any
		for i, object := range phase.Objects {
			switch {
			case (object.Object == nil) == (object.Slice == nil):
				t.Fatalf("phase %s, object %d: exactly one of object and slice must be set", phase.Name, i)
			case object.Object != nil:
				m := &unstructured.Unstructured{}
				if err := m.UnmarshalJSON(object.Object.Raw); err != nil {
					t.Fatal(err)
				}
				own = append(own, m.Object)
			default:
				own = append(own, held[object.Slice.Name][object.Slice.Index].Object)
			}
		}
		all = append(all, own)
	}
	return all
}

func TestPack_RoundTrip(t *testing.T) {
	large := func(name string) *unstructured.Unstructured { return configMap(name, strings.Repeat("x", InlineLimit)) }
	tests := map[string]struct {
		reason     string
		phases     []Phase
		wantSlices int
		wantInline int
	}{
		"Empty": {
			reason: "a package without objects is content, too",
			phases: []Phase{{Name: "nothing"}},
		},
		"SmallOnesStandInline": {
			reason: "small manifests can be read with kubectl",
			phases: []Phase{
				{Name: "a", Objects: objectsOf(configMap("1", "x"), configMap("2", "y"))},
				{Name: "b", Objects: objectsOf(configMap("3", "x"))},
			},
			wantInline: 3,
		},
		"EachLargeOneHasASliceOfItsOwn": {
			reason: "revisions share the slice of a large manifest that has not changed, and order stays",
			phases: []Phase{
				{Name: "crds", Objects: objectsOf(large("b"), configMap("1", "x"), large("a"))},
				{Name: "plane", Objects: objectsOf(large("c"))},
			},
			wantSlices: 3, wantInline: 1,
		},
		"TextThatJSONEscapes": {
			reason:     "line breaks, angle brackets and other scripts come back as they were",
			phases:     []Phase{{Name: "a", Objects: objectsOf(configMap("1", "a\nb\r\n<&>\u2028 ü 漢 \\ \""), large("2"))}},
			wantSlices: 1, wantInline: 1,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			packed, err := Pack(tc.phases, nil)
			if err != nil {
				t.Fatal(err)
			}
			inline := 0
			var want [][]map[string]any
			for i, phase := range tc.phases {
				var own []map[string]any
				for j, object := range phase.Objects {
					own = append(own, object.Manifest.Object)
					if packed.Phases[i].Objects[j].Object != nil {
						inline++
					}
				}
				want = append(want, own)
			}
			if diff := cmp.Diff(want, unpackAll(t, packed)); diff != "" {
				t.Errorf("%s: content (-packed +unpacked):\n%s", tc.reason, diff)
			}
			if len(packed.Slices) != tc.wantSlices || inline != tc.wantInline {
				t.Errorf("%s: %d slices and %d inline, want %d and %d", tc.reason, len(packed.Slices), inline, tc.wantSlices, tc.wantInline)
			}
		})
	}
}

func TestPack_IsDeterministic(t *testing.T) {
	var phase Phase
	for n := range 100 {
		phase.Objects = append(phase.Objects, objectsOf(configMap(fmt.Sprint(n), noise(t, n, 8<<10)))...)
	}
	phase.Objects = append(phase.Objects, objectsOf(configMap("large", noise(t, 100, 2*InlineLimit)))...)
	first, err := Pack([]Phase{phase}, nil)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Pack([]Phase{phase}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(first.Slices) < 3 || !reflect.DeepEqual(first, again) {
		t.Errorf("the same input gave another output, of %d and %d slices", len(first.Slices), len(again.Slices))
	}
}

func TestPack_SharesSlices(t *testing.T) {
	unchanged := configMap("crd", strings.Repeat("x", InlineLimit))
	before, err := Pack([]Phase{{Name: "crds", Objects: objectsOf(unchanged, configMap("v", "1"))}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	after, err := Pack([]Phase{{Name: "crds", Objects: objectsOf(configMap("v", "2"), unchanged, unchanged)}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before.Slices, after.Slices); diff != "" {
		t.Errorf("history must cost only what changed: slices (-before +after):\n%s", diff)
	}
}

func TestPack_ChangesNothingGiven(t *testing.T) {
	phases := func() []Phase {
		m := configMap("a", "x")
		m.SetLabels(map[string]string{})
		m.Object["metadata"].(map[string]any)["creationTimestamp"] = nil
		return []Phase{{Name: "a", Objects: objectsOf(m, configMap("b", strings.Repeat("x", InlineLimit)))}}
	}
	given := phases()
	if _, err := Pack(given, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(phases(), given); diff != "" {
		t.Errorf("Pack changed what it was given (-before +after):\n%s", diff)
	}
}

func TestPack_LargeRevisions(t *testing.T) {
	const (
		etcdRequest   = 1536 << 10
		inventoryLine = 320 // bytes of status for an object with long names
	)
	tests := map[string]struct {
		reason  string
		objects int
		size    int
		large   int
	}{
		"TwoThousandSmallObjects": {
			reason:  "the revision and its inventory must fit etcd together",
			objects: 2000, size: 300,
		},
		"TenMegabytes": {
			reason:  "content of 10 MB that hardly compresses fits, as it stands in slices",
			objects: 680, size: 15 << 10,
		},
		"TenMegabytesOfLargeObjects": {
			reason:  "large manifests have slices of their own",
			objects: 10, size: 512 << 10, large: 10,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			phases := []Phase{{Name: "first"}, {Name: "second"}}
			for n := range tc.objects {
				phase := &phases[n%2]
				phase.Objects = append(phase.Objects, Object{Manifest: configMap(fmt.Sprintf("object-%d", n), noise(t, n, tc.size))})
			}
			packed, err := Pack(phases, nil)
			if err != nil {
				t.Fatal(err)
			}
			stored, err := json.Marshal(v1alpha1.Revision{Spec: v1alpha1.RevisionSpec{Phases: packed.Phases}})
			if err != nil {
				t.Fatal(err)
			}
			if size := len(stored) + tc.objects*inventoryLine; size > etcdRequest {
				t.Errorf("%s: the revision takes %d bytes with its inventory, and etcd takes %d", tc.reason, size, etcdRequest)
			}
			for _, slice := range packed.Slices {
				if len(slice.Data) > dataLimit || slice.Bytes > 2*sliceLimit {
					t.Errorf("%s: slice %s has %d bytes, %d inflated", tc.reason, slice.Name, len(slice.Data), slice.Bytes)
				}
			}
			if tc.large > 0 && len(packed.Slices) != tc.large {
				t.Errorf("%s: %d slices, want %d", tc.reason, len(packed.Slices), tc.large)
			}
			got := unpackAll(t, packed)
			for i, phase := range phases {
				for j, object := range phase.Objects {
					if !reflect.DeepEqual(object.Manifest.Object, got[i][j]) {
						t.Fatalf("%s: phase %d, object %d came back as %.200v", tc.reason, i, j, got[i][j])
					}
				}
			}
		})
	}
}

func TestPack_TooLarge(t *testing.T) {
	tests := map[string]struct {
		reason string
		value  string
	}{
		"DoesNotFitTheAPI":   {reason: "the API server would refuse the slice, and say less clearly why", value: noise(t, 1, 2<<20)},
		"DoesNotInflateBack": {reason: "Unpack would refuse what was stored", value: strings.Repeat("x", inflateLimit)},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Pack([]Phase{{Name: "big", Objects: objectsOf(configMap("small", "x"), configMap("large", tc.value))}}, nil)
			if err == nil {
				t.Fatalf("%s: Pack took it", tc.reason)
			}
			if !strings.Contains(err.Error(), "phase big: object 1 ") || len(err.Error()) > 300 {
				t.Errorf("%s: the error does not name the object shortly: %.300s", tc.reason, err)
			}
		})
	}
}
