// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/internal/controller/loop"
)

const (
	// fieldOwner is the field manager of what is written here.
	fieldOwner = client.FieldOwner("strata-restarts")

	// remainingInterval is the longest time between surveys while something is left that a
	// user has to see to.
	remainingInterval = time.Hour
	// manualInterval is the time until the first survey for what needs a user, who may act
	// at once. It doubles with each one that brings nothing else.
	manualInterval = 2 * time.Minute
	// conflictDelay is how long a workload waits that has changed since it was read.
	conflictDelay = 200 * time.Millisecond
	// countInterval is how often a change of nothing but counts is published.
	countInterval = 10 * time.Second
)

// Controller restarts workloads. It does one thing at a time.
type Controller struct {
	Config
	signals

	// cache reads Istio resources and Packages, live everything else from the API server.
	cache, live client.Reader
	// writer writes to workloads, and notes to the Istio resource and the namespace of Istio.
	writer client.Writer
	// served says whether there can be Istio resources.
	served func() bool
	now    func() time.Time
	// watchNamespaces begins to watch namespaces for changes of their labels; it is called once
	// there is a mesh. Nil for none.
	watchNamespaces func() error

	requests workqueue.TypedInterface[Workload]
	watching bool
	// known is what was read or written and does not have to be read again.
	known     known
	uninstall uninstall
	// mesh is the last observation, nil before the first, and run what follows from it.
	mesh *mesh
	run  run
	// failures counts passes over the mesh that have failed since the last one that has not, and
	// failure is why the last one has.
	failures int
	failure  error

	state       atomic.Pointer[State]
	publishedAt time.Time
}

// run is what was found and done about one mesh.
type run struct {
	queue queue
	// surveyed is what the last survey was made for, empty when there was none, and at when. Seen
	// is the mesh that pods were compared with.
	surveyed   string
	surveyedAt time.Time
	seen       Seen
	// repeats are how many surveys in a row were made without any news.
	repeats int
	// restarted says that a workload was restarted since the last survey, and resumed that the queue
	// has what a process before this one has begun.
	restarted, resumed bool
}

// State is what restarts have come to. It may be called by anyone, and never blocks.
func (c *Controller) State() State {
	if s := c.state.Load(); s != nil {
		return *s
	}
	return State{}
}

// Reconcile reconciles one workload, or with an empty key the mesh.
func (c *Controller) Reconcile(ctx context.Context, w Workload) (reconcile.Result, error) {
	var after time.Duration
	var err error
	if w == (Workload{}) {
		after, err = c.reconcileMesh(ctx)
		c.failures++
		if c.failure = err; err == nil {
			c.failures = 0
		}
	} else {
		after, err = c.reconcileWorkload(ctx, w)
	}
	if wait := c.publish(ctx); wait > 0 && w != (Workload{}) {
		c.requests.Add(Workload{}) // to publish it then
	} else if wait > 0 && (after == 0 || wait < after) {
		after = wait
	}
	if err != nil && loop.IsConflict(err) {
		return reconcile.Result{RequeueAfter: conflictDelay}, nil
	}
	return reconcile.Result{RequeueAfter: after}, err
}

// step does a part of a pass. It returns when to begin the next one, and whether the pass is over.
type step func(context.Context, *mesh) (time.Duration, bool, error)

// reconcileMesh finds out whether the mesh has changed, and what there is to do.
func (c *Controller) reconcileMesh(ctx context.Context) (time.Duration, error) {
	m, err := c.observe(ctx)
	if err != nil {
		return 0, err
	}
	if c.mesh == nil || m.installed() != c.mesh.installed() || m.removed() != c.mesh.removed() {
		c.run = run{} // it is about another mesh, or about one that goes
		c.left.Clear()
	}
	c.mesh = m
	for _, step := range []step{c.reconcileUninstall, c.reconcileRollout, c.survey, c.finishUninstall, c.enqueueNext} {
		if wait, done, err := step(ctx, m); done || err != nil {
			return wait, err
		}
	}
	return 0, nil
}

// reconcileRollout waits until the mesh is rolled out, and new pods can be distinguished from those before.
func (c *Controller) reconcileRollout(ctx context.Context, m *mesh) (time.Duration, bool, error) {
	if !m.installed() {
		return 0, false, nil
	}
	if !m.rolledOut {
		return 0, true, nil
	}
	if !c.watching && c.watchNamespaces != nil { // a cluster without a mesh does not pay for it
		if err := c.watchNamespaces(); err != nil {
			return 0, true, fmt.Errorf("watching namespaces: %w", err)
		}
		c.watching = true
	}
	if err := c.clearUninstall(ctx); err != nil {
		return 0, true, err
	}
	wait := m.delay(c.now())
	return max(wait, 0), wait > 0, nil
}

// survey compares all pods with the mesh when it is time: the mesh has changed, all is done and to
// be checked, or the interval is over.
func (c *Controller) survey(ctx context.Context, m *mesh) (time.Duration, bool, error) {
	var seen Seen
	var key string
	var news bool
	if m.installed() {
		// A user who changes the mesh may have seen to what was left.
		seen, key = m.seen(), m.key()
		news = c.relabelled.Swap(false) || seen != c.run.seen && c.run.queue.idle() && c.run.queue.remaining()
	} else {
		key = "gone " + c.uninstall.note.Since.String()
	}
	news = news || key != c.run.surveyed
	if news || c.run.queue.idle() && (c.run.restarted || c.now().Sub(c.run.surveyedAt) >= c.interval()) {
		if ended, err := c.endReplaced(ctx, m); ended || err != nil {
			return 0, true, err
		}
		if err := c.surveyPods(ctx, m); err != nil {
			c.relabelled.Store(true) // nothing was found out
			return 0, true, err
		}
		c.run.repeats++
		if news || c.run.restarted {
			c.run.repeats = 0
		}
		c.run.surveyed, c.run.surveyedAt, c.run.restarted = key, c.now(), false
	}
	c.run.seen = seen
	return 0, false, nil
}

// interval is the time between surveys.
func (c *Controller) interval() time.Duration {
	switch {
	case c.run.queue.state().ManualCount > 0:
		return min(c.Settings.Interval, remainingInterval, manualInterval<<min(c.run.repeats, 10))
	case c.run.queue.remaining():
		return min(c.Settings.Interval, remainingInterval)
	}
	return c.Settings.Interval
}

// enqueueNext lets as many workloads be reconciled as may roll out.
func (c *Controller) enqueueNext(_ context.Context, m *mesh) (time.Duration, bool, error) {
	wait := c.enqueue()
	if m.removed() && (wait == 0 || c.uninstallLeft() < wait) {
		wait = c.uninstallLeft()
	}
	return wait, true, nil
}

// enqueue enqueues the next workloads, and returns when to reconcile the mesh again, 0 for not by itself.
func (c *Controller) enqueue() time.Duration {
	if g := c.gate(); !g.open() {
		return g.opens // news of the mesh bring us back
	}
	for _, w := range c.run.queue.next() {
		c.requests.Add(w)
	}
	if !c.run.queue.idle() {
		return 0 // the workloads bring us back
	}
	if c.run.restarted {
		c.requests.Add(Workload{}) // for a survey of what was restarted
	}
	return max(time.Second, c.interval()-c.now().Sub(c.run.surveyedAt))
}

// gate says whether workloads may be restarted now.
type gate struct {
	// closed says that the mesh is being rolled out, or that nothing is to be restarted for it.
	closed bool
	// opens is how long it takes until the window for restarts opens, 0 while it is open. The problem
	// is why it is not known.
	opens   time.Duration
	problem error
}

func (g gate) open() bool { return !g.closed && g.opens == 0 && g.problem == nil }

func (c *Controller) gate() gate {
	var g gate
	var window Window
	switch note := c.uninstall.note; {
	case c.mesh == nil:
		g.closed = true
	case c.mesh.installed():
		g.closed = !c.mesh.rolledOut
		window, g.problem = ParseWindow(c.mesh.istio.Annotations[v1alpha2.AnnotationRestartWindow])
	case c.mesh.removed() && note != nil && !note.Done:
		window, g.problem = ParseWindow(note.Window)
	default:
		g.closed = true
	}
	g.opens = window.Opens(c.now())
	return g
}

// publish makes the state of the restarts available to the front. Changes of counts alone are
// published at intervals, as each costs a write of a status. It returns how long until a
// change that was not published now may be published.
func (c *Controller) publish(ctx context.Context) time.Duration {
	next, g := c.run.queue.state(), c.gate()
	next.Known, next.Seen = c.run.surveyed != "" && (c.mesh.removed() || c.mesh.rolledOut), c.run.seen
	next.WindowClosed, next.Problem = g.opens > 0, g.problem
	if next.Uninstalled = c.uninstalled(); c.failures >= maxFailures && next.Problem == nil {
		next.Problem = c.failure
	}
	c.Meter.Restarts(next.Pending, next.FailedCount, next.ManualCount)
	before := c.State()
	if before.equals(&next) {
		return 0
	}
	counted := before
	counted.Pending, counted.InProgress = next.Pending, next.InProgress
	if wait := countInterval - c.now().Sub(c.publishedAt); wait > 0 && counted.equals(&next) && (before.Pending == 0) == (next.Pending == 0) {
		return wait
	}
	c.publishedAt = c.now()
	c.state.Store(&next)
	log.FromContext(ctx).V(1).Info("Restarts have changed", "pending", next.Pending, "failed", next.Failed, "manual", next.Manual)
	c.Changed()
	return 0
}
