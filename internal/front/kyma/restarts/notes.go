// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
)

// Annotations of an Istio resource that say since when its mesh is as it is.
const (
	// annotationChanges is the [Changes].
	annotationChanges = "strata.run/restart-causes"
	// annotationLeft names the namespaces that have left the mesh and whose pods still have sidecars
	// of it, each with since when that is known. Labels that are gone do not tell when they went.
	annotationLeft = "strata.run/left-namespaces"
	// annotationJoined names the namespaces that have joined the mesh and whose workloads were
	// restarted for that, each with since when: the time that its label had then. The namespace
	// itself does not say, as that time changes with every other field that its field manager sets.
	annotationJoined = "strata.run/joined-namespaces"
)

const (
	// maxLeft bounds the namespaces whose workloads lose their sidecars at a time.
	maxLeft = 100
	// maxJoined bounds the namespaces whose joining is recorded. For any more, the time of
	// the label counts.
	maxJoined = 200
)

// notes are what has to outlive the process about a mesh.
type notes struct {
	changes      Changes
	left, joined namespaceTimes
}

// parseNotes reads the annotations of an Istio resource.
func parseNotes(annotations map[string]string) notes {
	return notes{
		changes: parseJSON[Changes](annotations[annotationChanges]),
		left:    parseJSON[namespaceTimes](annotations[annotationLeft]), joined: parseJSON[namespaceTimes](annotations[annotationJoined]),
	}
}

// or takes what is missing from other notes.
func (n notes) or(other notes) notes {
	if len(n.changes) == 0 {
		n.changes = other.changes
	}
	if len(n.left) == 0 {
		n.left = other.left
	}
	if len(n.joined) == 0 {
		n.joined = other.joined
	}
	return n
}

func (n notes) annotations() map[string]string {
	return map[string]string{annotationChanges: n.changes.String(), annotationLeft: n.left.String(), annotationJoined: n.joined.String()}
}

// notesOf are the notes about the mesh of a resource: as written last, as the cache may not have it
// yet, or as the resource has them. A resource that takes the place of another one goes on where
// that has ended.
func (c *Controller) notesOf(m *mesh) notes {
	if c.known.istio == m.istio.UID {
		return c.known.notes
	}
	n := parseNotes(m.istio.Annotations)
	switch {
	case m.pkg == nil:
	case c.known.istio != "" && c.known.pkg == m.pkg.UID:
		n = n.or(c.known.notes)
	case m.pkg.DeletionTimestamp.IsZero():
		for _, before := range m.before {
			n = n.or(parseNotes(before.Annotations))
		}
	}
	return n
}

// recordNotes writes notes to the resource, before workloads are restarted by them. They come back
// when another manager replaces the resource as a whole.
func (c *Controller) recordNotes(ctx context.Context, istio *v1alpha2.Istio, n notes) error {
	written, changed := c.known.notes.annotations(), map[string]string{}
	for key, text := range n.annotations() {
		if text != istio.Annotations[key] || c.known.istio == istio.UID && text != written[key] {
			changed[key] = text
		}
	}
	if len(changed) > 0 {
		o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: istio.Namespace, Name: istio.Name, UID: istio.UID}}
		o.SetGroupVersionKind(v1alpha2.GroupVersion.WithKind("Istio"))
		if err := c.annotate(ctx, o, changed); err != nil {
			return fmt.Errorf("recording on Istio %s/%s since when its mesh is as it is: %w", istio.Namespace, istio.Name, err)
		}
	}
	c.known.notes, c.known.istio = n, istio.UID
	return nil
}

// annotate sets annotations of an object, or removes those that are empty. With a UID, it must be
// that very object.
func (c *Controller) annotate(ctx context.Context, o *metav1.PartialObjectMetadata, texts map[string]string) error {
	annotations := map[string]any{}
	for key, text := range texts {
		if annotations[key] = text; text == "" {
			annotations[key] = nil
		}
	}
	metadata := map[string]any{"annotations": annotations}
	if o.UID != "" {
		metadata["uid"] = o.UID
	}
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return fmt.Errorf("encoding annotations: %w", err)
	}
	return c.writer.Patch(ctx, o, client.RawPatch(types.MergePatchType, patch), fieldOwner)
}

// namespaceTimes are namespaces, each with a time.
type namespaceTimes map[string]time.Time

// String is the form for an annotation.
func (t namespaceTimes) String() string { return jsonOf(t) }

// jsonOf is the form of notes for an annotation, the same for the same notes, empty for none.
func jsonOf[M ~map[K]V, K ~string, V any](m M) string {
	data, err := json.Marshal(m)
	if err != nil || len(m) == 0 {
		return ""
	}
	return string(data)
}

// parseJSON reads what jsonOf has written. What cannot be read counts for nothing.
func parseJSON[M ~map[K]V, K ~string, V any](text string) M {
	m := M{}
	if err := json.Unmarshal([]byte(text), &m); err != nil || m == nil {
		return M{}
	}
	return m
}

// add takes in a namespace, unless there are too many.
func (t namespaceTimes) add(namespace string, since time.Time, limit int) bool {
	if _, known := t[namespace]; !known && len(t) >= limit {
		return false
	}
	t[namespace] = since
	return true
}

// nextJoined are the namespaces that have joined, after a survey: the joining ones, which have
// workloads to restart for it, and those known before that still inject. When these are too many,
// the last to be left out are those whose workloads may have been restarted already and are still
// outdated, then those that are about to be.
func nextJoined(known, joining namespaceTimes, injects func(namespace string) bool) namespaceTimes {
	next := namespaceTimes{}
	take := func(from namespaceTimes, fits func(namespace string) bool) {
		newest := slices.SortedFunc(maps.Keys(from), func(x, y string) int {
			return cmp.Or(from[y].Compare(from[x]), cmp.Compare(x, y))
		})
		for _, name := range newest {
			if len(next) < maxJoined && fits(name) {
				next[name] = from[name]
			}
		}
	}
	take(joining, func(namespace string) bool { _, found := known[namespace]; return found })
	take(joining, func(string) bool { return true })
	take(known, injects)
	return next
}
