// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package telemetry

// Restarted takes in that a workload was restarted for a cause.
func (m *Metrics) Restarted(cause string) { m.restarted.WithLabelValues(cause).Inc() }

// Restarts takes in how many workloads are still to be restarted, how many of those that were
// do not come up, and how many need a person.
func (m *Metrics) Restarts(pending, failed, manual int) {
	m.outdated.WithLabelValues("pending").Set(float64(pending))
	m.outdated.WithLabelValues("failed").Set(float64(failed))
	m.outdated.WithLabelValues("manual").Set(float64(manual))
}
