// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// reconcilePhase applies the objects of a phase, several at once. Namespaces and
// CustomResourceDefinitions go first, as other objects of the phase may need them. One
// object's failure delays no other. The errors name the revision unless it is the target.
func (e *Engine) reconcilePhase(ctx context.Context, ps *pass, revision string, paused bool, phase Phase) ([]ObjectResult, error) {
	results := make([]ObjectResult, len(phase.Objects))
	var first, rest []int
	for i, object := range phase.Objects {
		if isContainer(object.prepared.kind.GroupKind()) {
			first = append(first, i)
		} else {
			rest = append(rest, i)
		}
	}
	for _, wave := range [][]int{first, rest} {
		e.each(len(wave), func(at int) {
			i := wave[at]
			results[i] = e.reconcileObject(ctx, ps, phase.Name, paused, phase.Objects[i])
			e.config.Listener.object(ps.Owner, phase.Name, results[i])
		})
	}
	var errs []error
	for _, result := range results {
		if result.Err != nil {
			errs = append(errs, fmt.Errorf("%sphase %s: %s: %w", revision, phase.Name, result.ID, result.Err))
		}
	}
	return results, errors.Join(errs...)
}

// isContainer says whether objects of other kinds need one of this kind to exist.
func isContainer(gk schema.GroupKind) bool {
	return gk == schema.GroupKind{Kind: "Namespace"} ||
		gk == schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
}

// each calls do for every number below n, at most Concurrency of them at once.
func (e *Engine) each(n int, do func(i int)) {
	var group sync.WaitGroup
	var next atomic.Int64
	for range min(e.config.Concurrency, n) {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	group.Wait()
}
