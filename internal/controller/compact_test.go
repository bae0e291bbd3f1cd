// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/strata-run/strata/api/v1alpha1"
)

// What is compacted says what it said, in less room.
func TestCompact(t *testing.T) {
	var objects, inventory []string
	for i := range 20 {
		objects = append(objects, fmt.Sprintf(`{"object":{"kind":"Role","metadata":{"name":"role-%d"}}}`, i))
		inventory = append(inventory, fmt.Sprintf(`{"group":"rbac.authorization.k8s.io","version":"v1","kind":"Role","namespace":"app","name":"role-%d","uid":"u%d","action":"Created"}`, i, i))
	}
	text := fmt.Sprintf(`{"spec":{"phases":[{"name":"one","objects":[%s]},{"name":"none"}]},"status":{"inventory":[%s]}}`,
		strings.Join(objects, ","), strings.Join(inventory, ","))
	want, got := &v1alpha1.Revision{}, &v1alpha1.Revision{}
	for _, revision := range []*v1alpha1.Revision{want, got} {
		if err := json.Unmarshal([]byte(text), revision); err != nil {
			t.Fatal(err)
		}
	}
	compact(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("compacted, the revision is another (-want +got):\n%s", diff)
	}
	for name, room := range map[string]int{
		"phases": cap(got.Spec.Phases), "objects": cap(got.Spec.Phases[0].Objects) - 18, "inventory": cap(got.Status.Inventory) - 18,
	} {
		if room != 2 {
			t.Errorf("the %s have room for %d more", name, room-2)
		}
	}
	first, last := got.Status.Inventory[0].Group, got.Status.Inventory[19].Group
	if unsafe.StringData(first) != unsafe.StringData(last) {
		t.Error("two entries of an inventory have a copy each of the same word")
	}
	for i, object := range got.Spec.Phases[0].Objects[1:] {
		before := got.Spec.Phases[0].Objects[i].Object
		if end := unsafe.Add(unsafe.Pointer(unsafe.SliceData(before.Raw)), len(before.Raw)); end != unsafe.Pointer(unsafe.SliceData(object.Object.Raw)) {
			t.Fatalf("manifest %d does not lie beside the one before", i+1)
		}
		if cap(before.Raw) != len(before.Raw) {
			t.Errorf("an append to manifest %d writes into the next", i)
		}
	}
	empty := &v1alpha1.Revision{}
	compact(empty)
	if diff := cmp.Diff(&v1alpha1.Revision{}, empty); diff != "" {
		t.Errorf("an empty revision is another (-want +got):\n%s", diff)
	}
}
