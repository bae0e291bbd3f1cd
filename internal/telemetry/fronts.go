// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package telemetry

import "github.com/prometheus/client_golang/prometheus"

// ResourceCondition is a condition of a front's resource: the resource's namespace, name and
// part, and the condition's type, status and reason.
type ResourceCondition [6]string

// frontGroup are resources of a front that are looked at together.
type frontGroup struct{ front, group string }

// Conditions takes in all conditions of the resources of a group of a front. Those that it had
// before are dropped.
func (m *Metrics) Conditions(front, group string, all []ResourceCondition) {
	m.lock.Lock()
	defer m.lock.Unlock()
	if len(all) == 0 {
		delete(m.frontConditions, frontGroup{front, group})
		return
	}
	m.frontConditions[frontGroup{front, group}] = all
}

// fronts are the gauges about resources of fronts.
type fronts struct{ *Metrics }

// Describe implements prometheus.Collector.
func (f *fronts) Describe(chan<- *prometheus.Desc) {} // state describes every gauge

// Collect implements prometheus.Collector.
func (f *fronts) Collect(metrics chan<- prometheus.Metric) {
	f.lock.Lock()
	defer f.lock.Unlock()
	out := series{metrics}
	for of, all := range f.frontConditions {
		for _, c := range all {
			out.gauge(frontCondition, 1, append([]string{of.front}, c[:]...)...)
		}
	}
}
