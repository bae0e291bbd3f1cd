// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	toolsevents "k8s.io/client-go/tools/events"
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

	// leftoverInterval is the longest time between surveys while something is left that a
	// person has to see to.
	leftoverInterval = time.Hour
	// manualInterval is the time until the first survey for what needs a person, who may see to it
	// at once. It doubles with each one that brings nothing else.
	manualInterval = 2 * time.Minute
	// conflictDelay is how long a workload waits that has changed since it was read.
	conflictDelay = 200 * time.Millisecond
	// countInterval is how often a change of nothing but counts is published.
	countInterval = 10 * time.Second
)

// Meter takes in what is done.
type Meter interface {
	// Restarted counts a restart for a cause. Several causes are counted one by one.
	Restarted(cause string)
	// Restarts takes in how many workloads are to be restarted, do not come up, and need a
	// person.
	Restarts(pending, failed, manual int)
}

// Settings are those of the controller.
type Settings struct {
	// Limit is how many workloads may roll out at a time.
	Limit int
	// Deadline is how long the rollout of a restart may take until it counts as failed.
	Deadline time.Duration
	// Interval is the time between surveys without any news.
	Interval time.Duration
}

// Controller restarts workloads. It does one thing at a time.
type Controller struct {
	departure

	// Cache reads Istio resources and Packages.
	Cache client.Reader
	// Live reads everything else from the API server.
	Live client.Reader
	// Writer writes to workloads, and the ledger to the Istio resource.
	Writer   client.Writer
	Recorder toolsevents.EventRecorder
	Meter    Meter
	Settings Settings
	// Served says whether there can be Istio resources.
	Served func() bool
	// Changed is called when State has changed.
	Changed func()
	// Now is the clock.
	Now func() time.Time
	// WatchNamespaces begins to look for namespaces that are labelled; it is called once
	// there is a mesh. Nil for none.
	WatchNamespaces func() error

	queue workqueue.TypedInterface[Workload]
	board Board
	known known
	// relabelled says that a namespace was labelled.
	relabelled atomic.Bool
	// unlabelled are the names of namespaces that have left the mesh since it was observed.
	unlabelled sync.Map
	// stamped says that an EnvoyFilter tells another time of its last change.
	stamped  atomic.Bool
	watching bool

	// hold says that the mesh is being rolled out: nothing is restarted for it meanwhile.
	hold   bool
	window Window
	// seen is the mesh that pods were compared with last.
	seen Seen
	// surveyed is what the last survey was made for, empty when there was none, and at when.
	// dirty says that something was restarted since.
	surveyed   string
	surveyedAt time.Time
	dirty      bool
	// glances are how many surveys in a row were made without any news.
	glances int
	problem error
	// gateways are why gateways cannot be restarted.
	gateways map[Role]error
	// resumed says that the board knows what a process before this one has begun.
	resumed bool

	state  atomic.Pointer[State]
	toldAt time.Time
}

// State is what restarts have come to. It may be called by anyone, and never blocks.
func (c *Controller) State() State {
	if s := c.state.Load(); s != nil {
		return *s
	}
	return State{}
}

// Reconcile looks after one workload, or with an empty key at the mesh.
func (c *Controller) Reconcile(ctx context.Context, w Workload) (reconcile.Result, error) {
	var after time.Duration
	var err error
	if w == (Workload{}) {
		after, err = c.look(ctx)
		c.noteTrouble(err)
	} else {
		after, err = c.tend(ctx, w)
	}
	if wait := c.publish(ctx); wait > 0 && w != (Workload{}) {
		c.queue.Add(Workload{}) // to publish it then
	} else if wait > 0 && (after == 0 || wait < after) {
		after = wait
	}
	if err != nil && loop.IsConflict(err) {
		return reconcile.Result{RequeueAfter: conflictDelay}, nil
	}
	return reconcile.Result{RequeueAfter: after}, err
}

// look finds out whether the mesh has changed, and what there is to do.
func (c *Controller) look(ctx context.Context) (time.Duration, error) {
	m, err := c.observe(ctx)
	if err != nil {
		return 0, err
	}
	if m.istio == nil {
		return c.lookAway(ctx, m)
	}
	if c.away {
		c.forget()
		c.away = false
	}
	c.window, c.problem = ParseWindow(m.istio.Annotations[v1alpha2.AnnotationRestartWindow])
	if c.hold = !m.rolledOut; c.hold {
		return 0, nil
	}
	if err := c.watchNamespaces(); err != nil {
		return 0, err
	}
	if err := c.closeDeparture(ctx); err != nil {
		return 0, err
	}
	if wait := m.settles(c.Now()); wait > 0 {
		return wait, nil
	}
	seen := Seen{Istio: m.istio.UID, Generation: m.istio.Generation, Revision: m.revision}
	// What is left from before may have been seen to since: the mesh is changed by people.
	looksOver := seen != c.seen && c.board.Idle() && c.board.Leftover()
	news := c.relabelled.Swap(false) || looksOver
	if key := m.key(); news || c.due(key) {
		if err := c.survey(ctx, m); err != nil {
			c.relabelled.Store(true) // nothing was found out
			return 0, err
		}
		for role := range c.gateways {
			if !c.board.Has(role) {
				delete(c.gateways, role) // a user has removed the cause
			}
		}
		c.looked(key, news)
	}
	c.seen = seen
	return c.fill(), nil
}

// forget forgets what there is to do, as it is about another mesh, or about one that goes.
func (c *Controller) forget() {
	c.board.Reset()
	c.surveyed, c.hold, c.problem, c.gateways, c.resumed, c.dirty = "", false, nil, nil, false, false
	c.seen = Seen{}
	c.unlabelled.Clear()
}

// watchNamespaces begins to watch namespaces: a cluster without a mesh does not pay for it.
func (c *Controller) watchNamespaces() error {
	if c.watching || c.WatchNamespaces == nil {
		return nil
	}
	if err := c.WatchNamespaces(); err != nil {
		return fmt.Errorf("watching namespaces: %w", err)
	}
	c.watching = true
	return nil
}

// due says whether it is time for a survey: the mesh has changed, all is done and to be
// looked over, or the interval is over.
func (c *Controller) due(key string) bool {
	if key != c.surveyed {
		return true
	}
	return c.board.Idle() && (c.dirty || c.Now().Sub(c.surveyedAt) >= c.interval())
}

// looked notes what a survey was made for.
func (c *Controller) looked(key string, news bool) {
	c.glances++
	if news || c.dirty || key != c.surveyed {
		c.glances = 0
	}
	c.surveyed, c.surveyedAt, c.dirty = key, c.Now(), false
}

func (c *Controller) interval() time.Duration {
	switch {
	case c.board.Manual():
		return min(c.Settings.Interval, leftoverInterval, manualInterval<<min(c.glances, 10))
	case c.board.Leftover():
		return min(c.Settings.Interval, leftoverInterval)
	}
	return c.Settings.Interval
}

// fill lets as many workloads be looked at as may roll out, and says when to look again.
func (c *Controller) fill() time.Duration {
	if c.hold || c.problem != nil {
		return 0 // news of the Istio resource bring us back
	}
	if opens := c.window.Opens(c.Now()); opens > 0 {
		return opens
	}
	for _, w := range c.board.Next() {
		c.queue.Add(w)
	}
	if !c.board.Idle() {
		return 0 // the workloads bring us back
	}
	if c.dirty {
		c.queue.Add(Workload{}) // to look it all over
	}
	return max(time.Second, c.interval()-c.Now().Sub(c.surveyedAt))
}

// publish makes the state of the restarts available to the front. Changes of counts alone are
// published at intervals, as each costs a write of a status. It returns how long until a
// change that was not published now may be published.
func (c *Controller) publish(ctx context.Context) time.Duration {
	next := c.board.State()
	next.Known, next.Seen = c.surveyed != "" && !c.hold, c.seen
	if opens := c.window.Opens(c.Now()); opens > 0 && c.problem == nil {
		next.Opens = c.Now().UTC().Add(opens)
	}
	next.GatewayErr, next.EgressErr, next.Problem = c.gateways[RoleGateway], c.gateways[RoleEgress], c.problem
	if next.Departed = c.departed(); c.failures >= patience && next.Problem == nil {
		next.Problem = c.failure
	}
	c.Meter.Restarts(next.Pending, next.FailedCount, next.ManualCount)
	was := c.State()
	if same(was, next) {
		return 0
	}
	counted := was
	counted.Pending, counted.InProgress = next.Pending, next.InProgress
	if wait := countInterval - c.Now().Sub(c.toldAt); wait > 0 && same(counted, next) && (was.Pending == 0) == (next.Pending == 0) {
		return wait
	}
	c.toldAt = c.Now()
	c.state.Store(&next)
	log.FromContext(ctx).V(1).Info("Restarts have changed", "pending", next.Pending, "failed", next.Failed, "manual", next.Manual)
	c.Changed()
	return 0
}

// same says whether two states are equal for the front.
func same(a, b State) bool {
	text := func(err error) string {
		if err == nil {
			return ""
		}
		return err.Error()
	}
	return a.Known == b.Known && a.Seen == b.Seen && a.Opens.Equal(b.Opens) && a.Pending == b.Pending && a.Excluded == b.Excluded &&
		a.FailedCount == b.FailedCount && a.ManualCount == b.ManualCount &&
		slices.Equal(a.InProgress, b.InProgress) && slices.Equal(a.Failed, b.Failed) && slices.Equal(a.Manual, b.Manual) &&
		a.Stopped == b.Stopped && a.GatewayWaits == b.GatewayWaits && a.EgressWaits == b.EgressWaits && a.GatewayRolling == b.GatewayRolling && a.EgressRolling == b.EgressRolling && a.Departed == b.Departed &&
		text(a.GatewayErr) == text(b.GatewayErr) && text(a.EgressErr) == text(b.EgressErr) && text(a.Problem) == text(b.Problem)
}
