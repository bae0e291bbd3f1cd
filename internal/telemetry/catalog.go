// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package telemetry

import "github.com/prometheus/client_golang/prometheus"

// Description is what is known of one metric.
type Description struct {
	// Name is the metric's, with its unit; Type is gauge, counter or histogram.
	Name, Type string
	// Labels are those of its series.
	Labels []string
	// Help says what it means, in one or more sentences.
	Help string

	// Buckets are the upper bounds of a histogram, in seconds.
	Buckets []float64
}

// The types of metrics.
const (
	Gauge     = "gauge"
	Counter   = "counter"
	Histogram = "histogram"
)

// A rollout takes from a second to hours, a rendering a fraction of a second.
var (
	rolloutBuckets = []float64{1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 3600, 14400}
	renderBuckets  = []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5}
)

// The metrics, in the order of the reference.
var (
	packageInfo = Description{
		Name: "strata_package_info", Type: Gauge, Labels: []string{"package", "current_revision", "target_revision"},
		Help: "Always 1. current_revision is the newest revision that has succeeded, 0 for none, and target_revision the one that is rolled out.",
	}
	packageCondition = Description{
		Name: "strata_package_condition", Type: Gauge, Labels: []string{"package", "type", "status", "reason"},
		Help: "Always 1. One series for each condition of a Package, with its present status and reason.",
	}
	packageTransition = Description{
		Name: "strata_package_condition_transition_timestamp_seconds", Type: Gauge, Labels: []string{"package", "type"},
		Help: "When the status of a Package's condition has changed last, in seconds since 1970. The time since then is how long it has been in that state.",
	}
	packagePaused = Description{
		Name: "strata_package_paused", Type: Gauge, Labels: []string{"package"},
		Help: "1 while a pause keeps the target from being rolled out, 0 otherwise.",
	}
	packageDeletion = Description{
		Name: "strata_package_deletion_timestamp_seconds", Type: Gauge, Labels: []string{"package"},
		Help: "When the Package was deleted, in seconds since 1970. Only while it is torn down.",
	}
	revisionCondition = Description{
		Name: "strata_revision_condition", Type: Gauge, Labels: []string{"package", "revision", "type", "status", "reason"},
		Help: "Always 1. One series for each condition of a Revision that is not archived, with its present status and reason.",
	}
	revisionTransition = Description{
		Name: "strata_revision_condition_transition_timestamp_seconds", Type: Gauge, Labels: []string{"package", "revision", "type"},
		Help: "When the status of a condition of a Revision that is not archived has changed last, in seconds since 1970.",
	}
	rolloutDuration = Description{
		Name: "strata_revision_rollout_duration_seconds", Type: Histogram, Labels: []string{"outcome"}, Buckets: rolloutBuckets,
		Help: "From the creation of a Revision to the outcome of its rollout, pauses included: succeeded; failed, when it has missed its deadline; " +
			"superseded or rolledback, when another revision took its place. One that has failed is observed once more when it ends.",
	}
	phaseDuration = Description{
		Name: "strata_revision_phase_duration_seconds", Type: Histogram, Labels: []string{"phase"}, Buckets: rolloutBuckets,
		Help: "From the completion of one phase, or the creation of the Revision, to that of the next one, in a rollout. To the second.",
	}
	probeFailures = Description{
		Name: "strata_probe_failures_total", Type: Counter, Labels: []string{"package", "probe"},
		Help: "Objects of complete phases that did not pass their probes any more. probe is the kind of the object.",
	}
	objectApply = Description{
		Name: "strata_object_apply_total", Type: Counter, Labels: []string{"operation", "result"},
		Help: "Writes of managed objects. operation is create, update, adopt or delete, or apply for one that was refused; " +
			"result is success, conflict, denied, invalid or error. An object that is as it should be is not written.",
	}
	objectConflicts = Description{
		Name: "strata_object_conflicts_total", Type: Counter, Labels: []string{"manager", "cause"},
		Help: "Times that an object was not as a package had left it. manager is the field manager that has changed it, or the controller that has taken it over; cause says how: Changed, Deleted, TakenOver or Flapping. What was changed or deleted was repaired.",
	}
	collisions = Description{
		Name: "strata_collisions_total", Type: Counter, Labels: []string{"package"},
		Help: "Objects that a rollout has found under another owner.",
	}
	driftCorrections = Description{
		Name: "strata_drift_corrections_total", Type: Counter, Labels: []string{"package"},
		Help: "Repairs of objects that another manager had changed.",
	}
	teardownPending = Description{
		Name: "strata_teardown_objects_pending", Type: Gauge, Labels: []string{"package"},
		Help: "Objects that a teardown waits for: of a package that is deleted, and of its revisions that are archived, of each of these 16 at most.",
	}
	retainedObjects = Description{
		Name: "strata_retained_objects", Type: Gauge, Labels: []string{"package"},
		Help: "Objects of the target that will stay in place when their package is deleted.",
	}
	historyBytes = Description{
		Name: "strata_history_bytes", Type: Gauge, Labels: []string{"package"},
		Help: "About how many bytes the Revisions of a package take in the API server's storage. What they share in ObjectSlices and Secrets is not counted.",
	}
	renderDuration = Description{
		Name: "strata_render_duration_seconds", Type: Histogram, Labels: []string{"front"}, Buckets: renderBuckets,
		Help: "How long a front took to turn its custom resources into content.",
	}
	stalenessWaits = Description{
		Name: "strata_cache_staleness_waits_total", Type: Counter,
		Help: "How often the cache did not have our own last write to a managed object yet, so that the answer to that write was used instead.",
	}
	frontCondition = Description{
		Name: "strata_front_condition", Type: Gauge, Labels: []string{"front", "namespace", "resource", "part", "type", "status", "reason"},
		Help: "Always 1. One series for each condition that a front has set on one of its resources, such as a GatewayClass, with its present status and reason. " +
			"part is what of the resource it is about, such as a listener, empty for the whole. Only the manager that leads has it.",
	}
	buildInfo = Description{
		Name: "strata_build_info", Type: Gauge, Labels: []string{"version", "commit", "go_version"},
		Help: "Always 1. Which build the manager is.",
	}
)

// Catalog is every metric of the manager's own but those of single fronts.
func Catalog() []Description {
	return []Description{
		packageInfo, packageCondition, packageTransition, packagePaused, packageDeletion,
		revisionCondition, revisionTransition, rolloutDuration, phaseDuration,
		probeFailures, objectApply, objectConflicts, collisions, driftCorrections,
		teardownPending, retainedObjects, historyBytes, renderDuration, stalenessWaits, frontCondition, buildInfo,
	}
}

// Desc describes the metric to Prometheus.
func (d Description) Desc() *prometheus.Desc {
	return prometheus.NewDesc(d.Name, d.Help, d.Labels, nil)
}

// NewCounter is a counter of that description.
func (d Description) NewCounter() *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: d.Name, Help: d.Help}, d.Labels)
}

// NewGauge is a gauge of that description.
func (d Description) NewGauge() *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: d.Name, Help: d.Help}, d.Labels)
}

// NewHistogram is a histogram of that description.
func (d Description) NewHistogram() *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: d.Name, Help: d.Help, Buckets: d.Buckets}, d.Labels)
}
