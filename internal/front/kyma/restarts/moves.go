// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"cmp"
	"context"
	"fmt"
	"maps"

	"github.com/strata-run/strata/api/v1alpha1"
)

const (
	// annotationLeft on an Istio resource names the namespaces that have left the mesh and whose
	// pods still have sidecars of it, each with since when that is known.
	annotationLeft = "strata.run/left-namespaces"

	// annotationJoined on an Istio resource names the namespaces that have joined the mesh and
	// whose workloads were restarted for that, each with since when. The namespace itself does
	// say: the time of its label changes with every other field that its field manager sets.
	annotationJoined = "strata.run/joined-namespaces"
)

// moves are the namespaces that have left a mesh or joined it.
type moves struct {
	left   Departures
	joined Arrivals
}

// readMoves takes in those that the resource has, or will have as soon as the cache knows, or
// that the one before it had; and sees to it that the resource has them.
func (c *Controller) readMoves(ctx context.Context, m *mesh, pkg *v1alpha1.Package) error {
	known := c.known.movesOf == m.istio.UID
	handedOn := c.known.movesOf != "" && c.known.pkg == pkg.UID
	// What cannot be read counts for nothing: at worst workloads are restarted once more.
	left := m.istio.Annotations[annotationLeft]
	if m.moves.left = c.known.moves.left; !known && (left != "" || !handedOn) {
		m.moves.left = ParseDepartures(cmp.Or(left, m.inherited(pkg, annotationLeft)))
	}
	joined := m.istio.Annotations[annotationJoined]
	if m.moves.joined = c.known.moves.joined; !known && (joined != "" || !handedOn) {
		m.moves.joined = ParseArrivals(cmp.Or(joined, m.inherited(pkg, annotationJoined)))
	}
	return c.forgetUnlabelled(ctx, m)
}

// forgetUnlabelled forgets that namespaces have joined which have left since, also if they have
// joined again before anybody looked.
func (c *Controller) forgetUnlabelled(ctx context.Context, m *mesh) error {
	next := moves{left: m.moves.left, joined: maps.Clone(m.moves.joined)}
	var names []any
	c.unlabelled.Range(func(name, _ any) bool {
		names = append(names, name)
		return true
	})
	for _, name := range names {
		delete(next.joined, fmt.Sprint(name))
	}
	if err := c.keepMoves(ctx, m, next); err != nil {
		return err
	}
	for _, name := range names {
		c.unlabelled.Delete(name)
	}
	m.moves = next
	return nil
}

// keepMoves keeps on the resource which namespaces have left and joined, before anything is
// restarted for it.
func (c *Controller) keepMoves(ctx context.Context, m *mesh, next moves) error {
	keep := func(key, before, text string) error {
		if text != before || text != m.istio.Annotations[key] {
			return c.annotate(ctx, m.istio, key, text)
		}
		return nil
	}
	err := keep(annotationLeft, m.moves.left.String(), next.left.String())
	if err == nil {
		err = keep(annotationJoined, m.moves.joined.String(), next.joined.String())
	}
	if err != nil {
		return fmt.Errorf("noting on Istio %s/%s which namespaces have left or joined its mesh: %w", m.istio.Namespace, m.istio.Name, err)
	}
	c.known.moves, c.known.movesOf = next, m.istio.UID
	return nil
}
