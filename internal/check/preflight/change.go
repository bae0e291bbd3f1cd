// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-run/strata/revisions"
)

// change is an object of the target that is new, or has other content than before.
type change struct {
	id     revisions.ObjectID
	object revisions.Object
	// phase is the number of its phase in the target.
	phase int
	// before is the manifest that the serving revisions keep it to, nil for an object
	// that none of them has put in place, and uid that of the object, if known.
	before *unstructured.Unstructured
	uid    types.UID
}

func (c change) kind() schema.GroupVersionKind { return c.object.Manifest.GroupVersionKind() }

// changesOf are the changes from what serves to the target, in the target's order.
func changesOf(target revisions.Revision, serving []revisions.Revision) []change {
	before := map[revisions.ObjectID]change{}
	for _, revision := range slices.Backward(serving) {
		each(revision, func(_ int, id revisions.ObjectID, object revisions.Object) {
			record, placed := revision.Records[id]
			if placed || revision.Succeeded {
				before[id] = change{before: object.Manifest, uid: record.UID}
				if object.ForwardOnly {
					// It is as another content has made it.
					before[id] = change{uid: record.UID}
				}
			}
		})
	}
	var changes []change
	each(target, func(phase int, id revisions.ObjectID, object revisions.Object) {
		c := before[id]
		if c.before != nil && equality.Semantic.DeepEqual(c.before.Object, object.Manifest.Object) {
			return
		}
		c.id, c.object, c.phase = id, object, phase
		changes = append(changes, c)
	})
	return changes
}

// each calls do for the objects of a revision that have a manifest.
func each(revision revisions.Revision, do func(phase int, id revisions.ObjectID, object revisions.Object)) {
	for i, phase := range revision.Phases {
		for _, object := range phase.Objects {
			if object.Manifest != nil {
				do(i, revisions.IDOf(object.Manifest), object)
			}
		}
	}
}

// isDefinition says whether a kind is that of CustomResourceDefinitions.
func isDefinition(gk schema.GroupKind) bool {
	return gk == schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
}
