// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
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
	// Release stops every watch of the user.
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
	// Checker checks content before its first write.
	Checker Checker
}

// Worker rolls out packages. Every field is required but Removal, Recorder, Meter and Pods.
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

	states states
	// own are the states of revisions that our own writes have returned.
	own loop.OwnWrites[*v1alpha1.Revision]
}

var _ loop.Worker[*v1alpha1.Package] = (*Worker)(nil)

// pass is one pass over a package. Its values are set from the first to the last: what is
// observed, what is decided about it, what the engine has made of that, and what was done.
type pass struct {
	*Worker

	// pkg is the package, with the rollbacks that the pass has answered on record.
	pkg *v1alpha1.Package
	// state is what is remembered of the package.
	state packageState
	now   metav1.Time
	// observed are the revisions as they were before the pass, history as they are now.
	observed []*v1alpha1.Revision
	history  history.History
	decided  decision
	rolled   rollout
	// proof says whether what the pass goes by is current.
	proof proof
	did   doings
}

// Work makes one pass over a package.
func (w *Worker) Work(ctx context.Context, pkg *v1alpha1.Package) (loop.Outcome, error) {
	w.releaseFormer(pkg.Name, pkg.UID)
	p := &pass{Worker: w, pkg: pkg, state: w.states.read(pkg), now: w.now()}
	next, outcome, err := p.run(ctx)
	pkg.Status = next
	if !p.did.forgotten {
		w.states.replace(pkg.UID, p.state)
	}
	return outcome, err
}

// run makes the pass. It returns the status that the package is to have.
func (p *pass) run(ctx context.Context) (v1alpha1.PackageStatus, loop.Outcome, error) {
	if err := p.observe(ctx); err != nil {
		return p.failed(err)
	}
	switch definition, err := p.definitionRemoved(ctx); {
	case err != nil:
		return p.failed(err)
	case definition != "", isDeleted(p.pkg):
		return p.teardown(ctx, definition)
	}
	if added, err := p.ensureFinalizer(ctx); err != nil {
		return p.failed(err)
	} else if added {
		return p.pkg.Status, loop.Outcome{SkipStatus: true}, nil // the change brings us back
	}
	if made, err := p.decide(ctx); err != nil {
		return p.failed(err)
	} else if made {
		return p.pkg.Status, loop.Outcome{}, nil // the new revision brings us back
	}
	if err := p.rollOut(ctx); err != nil {
		return p.failed(err)
	}
	p.state.awaitsKind = lacksKind(p.rolled.err)
	if p.state.isNewConflict(p.rolled.err) {
		return p.pkg.Status, loop.Outcome{SkipStatus: true}, p.rolled.err
	}
	p.explain(ctx)
	outcome, err := p.writeStatuses(ctx)
	if err == nil && (!outcome.SkipStatus || p.hasSucceeded()) {
		err = errors.Join(p.retire(ctx), p.sweep(ctx), p.rollBackFailed(ctx))
	}
	p.sort()
	p.recordEvents()
	next := status.ForPackage(p.pkg, p.history, p.rolled.result.Serves, p.rolled.err, p.now)
	if wait := p.untilStatus(next); wait > 0 {
		outcome.SkipStatus, outcome.After = true, soonest(outcome.After, wait)
	}
	outcome.After = soonest(soonest(outcome.After, p.after()), p.untilPods())
	return next, outcome, errors.Join(err, p.retryable())
}

// untilStatus is how long the write of the package's status may wait.
func (p *pass) untilStatus(next v1alpha1.PackageStatus) time.Duration {
	if equality.Semantic.DeepEqual(p.pkg.Status, next) || isPackageNews(p.pkg.Status, next) {
		return 0
	}
	return p.state.spacing.wait(p.Now())
}

// failed ends a pass with an error from before the rollout was observed, which the status
// reports. A conflict is no such error: the next pass reads what has changed.
func (p *pass) failed(err error) (v1alpha1.PackageStatus, loop.Outcome, error) {
	switch {
	case loop.IsConflict(err):
		return p.pkg.Status, loop.Outcome{SkipStatus: true}, err
	case isDeleted(p.pkg):
		return status.ForTeardown(p.pkg, revisions.TeardownResult{}, err, p.Worker.now()), loop.Outcome{}, err
	default:
		return status.ForError(p.pkg, err, p.Worker.now()), loop.Outcome{}, err
	}
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
