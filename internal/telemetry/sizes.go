// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-run/strata/api/v1alpha1"
)

// What parts of a Revision take besides the text that is in them, in bytes: all of it
// has keys, quotes and braces.
const (
	revisionBytes  = 1024
	objectBytes    = 128
	inventoryBytes = 256
)

// sizeGrace is how long a size is kept of a Revision that no list has.
const sizeGrace = time.Minute

type size struct {
	bytes int
	taken time.Time
}

// Size takes in a Revision as the API server sends it. The cache does not keep the
// content of those that are archived, so it has to be measured before.
func (m *Metrics) Size(revision *v1alpha1.Revision) {
	bytes := revisionBytes
	for _, phase := range revision.Spec.Phases {
		for _, object := range phase.Objects {
			bytes += objectBytes
			if object.Object != nil {
				bytes += len(object.Object.Raw)
			}
		}
	}
	for _, entry := range revision.Status.Inventory {
		bytes += inventoryBytes + len(entry.Group) + len(entry.Kind) + len(entry.Namespace) + len(entry.Name)
	}
	for _, condition := range revision.Status.Conditions {
		bytes += len(condition.Message)
	}
	m.lock.Lock()
	defer m.lock.Unlock()
	m.sizes[revision.UID] = size{bytes: bytes, taken: m.now()}
}

// sizesOf are the sizes of packages. What is not in the list is forgotten, unless it
// has just come.
func (m *Metrics) sizesOf(revisions []v1alpha1.Revision) map[string]int {
	m.lock.Lock()
	defer m.lock.Unlock()
	listed := make(map[types.UID]bool, len(revisions))
	sum := map[string]int{}
	for i := range revisions {
		listed[revisions[i].UID] = true
		sum[revisions[i].Spec.Package] += m.sizes[revisions[i].UID].bytes
	}
	for uid, known := range m.sizes {
		if !listed[uid] && m.now().Sub(known.taken) > sizeGrace {
			delete(m.sizes, uid)
		}
	}
	return sum
}
