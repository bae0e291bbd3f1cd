// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-run/strata/api/v1alpha1"
)

// A Revision is one request to etcd, with all that its status grows to: etcd's own
// limit is 1.5 MiB.
const (
	storedLimit = 1536 << 10

	// statusRoom is left for conditions, phases, a plan, the objects that are not
	// ready, and who has written what.
	statusRoom = 192 << 10

	// entryRoom is what an inventory entry takes besides the names of its object, in
	// bytes: 183 for UID, action, digests and the names of the fields, and some for
	// what it may list.
	entryRoom = 224

	// placeRoom is what an object of the spec takes that refers to a slice, in bytes:
	// its name and its place.
	placeRoom = 118
)

// RevisionLimit is how many bytes the spec of a revision and its inventory may take
// together, as JSON.
func RevisionLimit() int { return storedLimit - statusRoom }

// inventoryRoom is how many bytes the inventory takes once each of the manifests
// is in place.
func inventoryRoom(manifests []*unstructured.Unstructured) int {
	room := 0
	for _, m := range manifests {
		gvk := m.GroupVersionKind()
		room += entryRoom + len(gvk.Group) + len(gvk.Version) + len(gvk.Kind) + len(m.GetNamespace()) + len(m.GetName())
	}
	return room
}

// checkSize says whether a revision of the phases can be stored with its inventory.
func checkSize(phases []v1alpha1.Phase, probes []v1alpha1.Probe, objects, inventory int) error {
	spec, err := json.Marshal(v1alpha1.RevisionSpec{Phases: phases, Probes: probes})
	if err != nil {
		return fmt.Errorf("encoding content: %w", err)
	}
	if size := len(spec) + inventory; size > RevisionLimit() {
		return fmt.Errorf("%d objects are too many for one revision: it would take %d bytes with the inventory of what it has put in place, and %d can be stored: split it into several packages",
			objects, size, RevisionLimit())
	}
	return nil
}
