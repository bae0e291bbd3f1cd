// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/controller/decoding"
	"github.com/strata-run/strata/internal/controller/loop"
	"github.com/strata-run/strata/internal/history"
	"github.com/strata-run/strata/internal/status"
	"github.com/strata-run/strata/revisions"
)

// Watches are the informers of a package's objects.
type Watches interface {
	// Block watches objects of other owners that are in the way of a user's, and notifies
	// with the given package when one of them changes.
	Block(user, pkg string, blockers []revisions.Blocker) error
	// Labelled are the objects of all watched kinds that carry a package's label, but for
	// those named.
	Labelled(pkg string, except func(revisions.ObjectID) bool) ([]*unstructured.Unstructured, error)
	// Release gives up everything that the user watches.
	Release(user string)
}

// Identities are whom packages act as.
type Identities interface {
	// For is a ServiceAccount. Nil stands for the manager itself.
	For(account *v1alpha1.ServiceAccountReference) (Identity, error)
}

// Identity is whom every write of an object, and every live read that decides about
// one, is made as.
type Identity struct {
	// Engine rolls out and tears down.
	Engine *revisions.Engine
	// Checker looks at content before its first write.
	Checker Checker
}

// Worker rolls out packages. Every field is required but the last three.
type Worker struct {
	// Client reads from the cache and writes.
	Client client.Client
	// Live reads from the API server.
	Live client.Reader
	// Contents are where revisions keep what does not stand in them.
	Contents *content.Store
	// Identities are whom packages act as.
	Identities Identities
	// Watches are released when a package is gone.
	Watches Watches
	// Removal says whether Strata itself is being uninstalled. Without it, it never is.
	Removal Removal
	// Now is the clock.
	Now func() time.Time
	// Recorder and Meter record what has happened. Without them nothing is recorded.
	Recorder Recorder
	Meter    Meter
	// Pods reads the pods of workloads that hang, from the API server. Without it
	// the status does not say why they do not run.
	Pods client.Reader

	memory memories
}

var _ loop.Worker[*v1alpha1.Package] = (*Worker)(nil)

// Work makes one pass over a package.
func (w *Worker) Work(ctx context.Context, pkg *v1alpha1.Package) (loop.Outcome, error) {
	if err := decoding.Problem(pkg); err != nil {
		return w.failed(pkg, reconcile.TerminalError(err))
	}
	w.releaseFormer(pkg.Name, pkg.UID)
	known := w.memory.of(pkg)
	line, err := w.line(ctx, pkg, known)
	if err != nil {
		return w.failed(pkg, err)
	}
	switch going, err := w.removal(ctx, pkg, line); {
	case err != nil:
		return w.failed(pkg, err)
	case going != "":
		return w.release(ctx, pkg, line, going, known)
	case isLeaving(pkg):
		return w.teardown(ctx, pkg, line, orphans(pkg), known)
	}
	if added, err := w.ensureFinalizer(ctx, pkg); err != nil {
		return w.failed(pkg, err)
	} else if added {
		return loop.Outcome{Hold: true}, nil // the change brings us back
	}
	before := statesOf(line)
	line, made, err := w.answer(ctx, pkg, line, known)
	if err != nil {
		return w.failed(pkg, err)
	} else if made {
		return loop.Outcome{}, nil // the new revision brings us back
	}
	pass, err := w.rollOut(ctx, pkg, line, known)
	if err != nil {
		return w.failed(pkg, err)
	}
	w.memory.await(pkg.Name, lacksKind(pass.err))
	if known.isNewConflict(pass.err) {
		return loop.Outcome{Hold: true}, pass.err
	}
	w.explain(ctx, &pass, known)
	outcome, err := w.persist(ctx, &pass, known)
	if err == nil && (!outcome.Hold || pass.hasSucceeded()) {
		err = errors.Join(w.retire(ctx, &pass, known), w.sweep(ctx, &pass, known), w.fallBack(ctx, &pass, known))
	}
	pass.sort()
	w.announce(&pass, before)
	told := pkg.Status
	pkg.Status = status.ForPackage(pkg, pass.line, pass.result.Serves, pass.err, pass.now)
	if wait := w.spacePackage(pkg, told, known); wait > 0 {
		outcome.Hold, outcome.After = true, soonest(outcome.After, wait)
	}
	outcome.After = soonest(soonest(outcome.After, pass.after(known)), known.untilLook(pass.now.Time))
	return outcome, errors.Join(err, pass.retryable())
}

// answer does what a user has requested of the line: it releases revisions that
// were deleted, makes the revision of a rollback, and says whether it did, and sets
// aside what is withheld.
func (w *Worker) answer(ctx context.Context, pkg *v1alpha1.Package, line history.History, known *memory) (answered history.History, made bool, err error) {
	if record := line.MissingRecord(pkg, w.digestOf(ctx, known)); record != nil {
		pkg.Status.AutomaticRollback = record
	}
	if history.PauseOf(pkg, w.now().Time) == nil {
		if line, err = w.dismiss(ctx, pkg, line, known); err != nil {
			return line, false, err
		}
	}
	if !history.IsHandled(pkg) {
		if made, err = w.rollback(ctx, pkg, line, known); err != nil || made {
			return line, made, err
		}
	}
	line, err = w.withhold(ctx, pkg, line, known)
	return line, false, err
}

// failed writes an error into the status that came before the rollout was observed. A
// conflict is no such error: the next pass reads what has changed.
func (w *Worker) failed(pkg *v1alpha1.Package, err error) (loop.Outcome, error) {
	switch {
	case loop.IsConflict(err):
		return loop.Outcome{Hold: true}, err
	case !pkg.DeletionTimestamp.IsZero():
		pkg.Status = status.ForTeardown(pkg, revisions.TeardownResult{}, err, w.now())
	default:
		pkg.Status = status.ForError(pkg, err, w.now())
	}
	return loop.Outcome{}, err
}

// soonest is the shorter of two waits, of which 0 means none.
func soonest(a, b time.Duration) time.Duration {
	switch {
	case a <= 0:
		return max(b, 0)
	case b <= 0:
		return a
	default:
		return min(a, b)
	}
}

func (w *Worker) now() metav1.Time { return metav1.NewTime(w.Now()).Rfc3339Copy() }
