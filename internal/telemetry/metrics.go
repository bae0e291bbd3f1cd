// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"maps"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Metrics are those of one manager. They are one collector, to be registered once.
type Metrics struct {
	reader client.Reader
	now    func() time.Time

	rollouts, phases, renders                                      *prometheus.HistogramVec
	failures, applies, conflicts, collisions, repaired, staleReads *prometheus.CounterVec
	kinds, managers, phaseNames                                    bounded

	lock sync.Mutex
	// objects are numbers about packages that do not stand in their statuses.
	objects map[string]Objects
	// sizes are those of Revisions, with when they were taken.
	sizes map[types.UID]size
	// added are the metrics of single fronts.
	added []prometheus.Collector
	// frontConditions are those of fronts' resources.
	frontConditions map[frontGroup][]ResourceCondition
}

// Objects are numbers of objects of a package that only a pass over it knows.
type Objects struct {
	// Retained are objects of the target that will stay when the package goes.
	Retained int
	// Pending are objects that the teardown of the package waits for.
	Pending int
}

// NewMetrics is a set of metrics.
func NewMetrics() *Metrics {
	m := &Metrics{
		now:      time.Now,
		rollouts: rolloutDuration.NewHistogram(), phases: phaseDuration.NewHistogram(), renders: renderDuration.NewHistogram(),
		failures: probeFailures.NewCounter(), applies: objectApply.NewCounter(), conflicts: objectConflicts.NewCounter(),
		collisions: collisions.NewCounter(), repaired: driftCorrections.NewCounter(), staleReads: stalenessWaits.NewCounter(),
		objects: map[string]Objects{}, sizes: map[types.UID]size{}, frontConditions: map[frontGroup][]ResourceCondition{},
	}
	m.staleReads.WithLabelValues() // it has one series, which begins at 0
	return m
}

func (m *Metrics) collectors() []prometheus.Collector {
	return append([]prometheus.Collector{
		m.rollouts, m.phases, m.renders, m.failures, m.applies, m.conflicts, m.collisions, m.repaired, m.staleReads, &state{m}, &fronts{m},
	}, m.added...)
}

// ReadFrom sets what lists the packages and revisions that the gauges are about. It
// must be a cache, as it is read at every scrape, and be set before the first of
// them.
func (m *Metrics) ReadFrom(reader client.Reader) { m.reader = reader }

// Add adds the metrics of a front, before this set is registered.
func (m *Metrics) Add(front prometheus.Collector) { m.added = append(m.added, front) }

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(descs chan<- *prometheus.Desc) {
	for _, c := range m.collectors() {
		c.Describe(descs)
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(metrics chan<- prometheus.Metric) {
	for _, c := range m.collectors() {
		c.Collect(metrics)
	}
}

// Count takes in what a pass has found about a package.
func (m *Metrics) Count(pkg string, objects Objects) {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.objects[pkg] = objects
}

// Forget drops every series about a package.
func (m *Metrics) Forget(pkg string) {
	for _, vector := range []*prometheus.CounterVec{m.failures, m.collisions, m.repaired} {
		vector.DeletePartialMatch(prometheus.Labels{"package": pkg})
	}
	m.lock.Lock()
	defer m.lock.Unlock()
	delete(m.objects, pkg)
}

// Rendered takes in how long a front took to render.
func (m *Metrics) Rendered(front string, took time.Duration) {
	m.renders.WithLabelValues(front).Observe(took.Seconds())
}

// Stale takes in that the cache lagged behind our own write.
func (m *Metrics) Stale() { m.staleReads.WithLabelValues().Inc() }

func (m *Metrics) counted() map[string]Objects {
	m.lock.Lock()
	defer m.lock.Unlock()
	return maps.Clone(m.objects)
}
