// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/telemetry"
	"github.com/strata-run/strata/revisions"
)

// Recorder records events. That of client-go does.
type Recorder interface {
	// Eventf records one event. It does not wait, and its errors are logged.
	Eventf(regarding, related runtime.Object, eventtype, reason, action, note string, args ...any)
}

// Meter counts what becomes of packages.
type Meter interface {
	// Moved takes in that the status of a revision was written.
	Moved(change telemetry.Change)
	// Count takes in what a pass has found.
	Count(pkg string, objects telemetry.Objects)
	// Forget drops everything about a package that is gone.
	Forget(pkg string)
}

// doings are what a pass has done that is in no status.
type doings struct {
	// pruned are the numbers of the revisions that were deleted.
	pruned []int64
	// removed are what became of the objects of revisions that are torn down.
	removed map[types.UID][]revisions.RemovedObject
	// forgotten says that the package is gone, and with it what was remembered of it.
	forgotten bool
}

// recordEvents records what a pass has written: an event for each transition, and the
// metrics that count them. What could not be written has not changed, and is
// recorded with the next try.
func (p *pass) recordEvents() {
	before := map[types.UID]*v1alpha1.Revision{}
	for _, revision := range p.observed {
		before[revision.UID] = revision
	}
	for _, after := range p.history.All() {
		was := before[after.UID]
		if was == nil || was.ResourceVersion == after.ResourceVersion {
			continue
		}
		change := telemetry.Change{Package: p.pkg, Before: was, After: after, Others: p.observed, Removed: p.did.removed[after.UID]}
		p.record(change.Events())
		if p.Meter != nil {
			p.Meter.Moved(change)
		}
	}
	p.record(telemetry.Pruned(p.pkg, p.did.pruned))
	if p.Meter != nil {
		p.Meter.Count(p.pkg.Name, telemetry.Objects{Retained: retaining(p.rolled.target)})
	}
}

// statusWritten records events for what the loop has written into the status of a package.
func (w *Worker) statusWritten(before, after *v1alpha1.Package) {
	state := w.states.read(after)
	state.spacing = state.spacing.after(isPackageNews(before.Status, after.Status), progressReason(after.Status.Conditions), w.Now())
	w.states.replace(after.UID, state)
	w.record(telemetry.ForPackage(before, after))
}

func (w *Worker) record(list []telemetry.Event) {
	if w.Recorder == nil {
		return
	}
	for i := range list {
		e := &list[i]
		var related runtime.Object
		if e.Related != nil {
			related = e.Related
		}
		w.Recorder.Eventf(&e.Regarding, related, e.Type, e.Reason, e.Action, "%s", e.Note)
	}
}

// retaining is how many objects of a revision stay when its package goes.
func retaining(revision revisions.Revision) int {
	count := 0
	for _, phase := range revision.Phases {
		for _, object := range phase.Objects {
			if object.Retain {
				count++
			}
		}
	}
	return count
}
