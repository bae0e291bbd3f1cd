// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"context"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/catalog"
	"github.com/strata-run/strata/internal/front/clusterextension/resolve"
	"github.com/strata-run/strata/internal/front/clusterextension/sources"
	"github.com/strata-run/strata/internal/telemetry"
)

// The metrics of revisions, under the name that OLM's dashboards are to ask for, hence without our prefix.
var (
	revisionCondition = telemetry.Description{
		Name: "clusterextensionrevision_condition", Type: telemetry.Gauge, Labels: []string{"clusterextension", "revision", "condition", "status", "reason"},
		Help: "Always 1. One series for each of the conditions Available, Progressing and Succeeded of a Revision of a ClusterExtension that is not archived, with its present status and reason.",
	}
	revisionTransition = telemetry.Description{
		Name: "clusterextensionrevision_condition_transition_timestamp_seconds", Type: telemetry.Gauge, Labels: []string{"clusterextension", "revision", "condition"},
		Help: "When the status of such a condition has changed last, in seconds since 1970.",
	}
)

// scrapeLimit bounds how long a scrape waits for a cache that has not been filled yet.
const scrapeLimit = 2 * time.Second

// revisionMetrics are the gauges of what is in the cache.
type revisionMetrics struct{ cache client.Reader }

// Describe implements prometheus.Collector.
func (*revisionMetrics) Describe(descs chan<- *prometheus.Desc) {
	descs <- revisionCondition.Desc()
	descs <- revisionTransition.Desc()
}

// Collect implements prometheus.Collector.
func (m *revisionMetrics) Collect(series chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeLimit)
	defer cancel()
	list := &v1alpha1.RevisionList{}
	if err := m.cache.List(ctx, list, client.MatchingLabels{olmv1.LabelOwnerKind: "ClusterExtension"}, client.UnsafeDisableDeepCopy); err != nil {
		return
	}
	of := []string{v1alpha1.ConditionAvailable, v1alpha1.ConditionProgressing, v1alpha1.ConditionSucceeded}
	for i := range list.Items {
		r := &list.Items[i]
		if r.Spec.LifecycleState == v1alpha1.LifecycleArchived {
			continue
		}
		name := r.Labels[olmv1.LabelOwnerName]
		for _, c := range r.Status.Conditions {
			if slices.Contains(of, c.Type) {
				series <- prometheus.MustNewConstMetric(revisionCondition.Desc(), prometheus.GaugeValue, 1, name, r.Name, c.Type, string(c.Status), c.Reason)
				series <- prometheus.MustNewConstMetric(revisionTransition.Desc(), prometheus.GaugeValue, float64(c.LastTransitionTime.Unix()), name, r.Name, c.Type)
			}
		}
	}
}

// The metrics of what extensions are made from.
var (
	resolutions = telemetry.Description{
		Name: "strata_clusterextension_resolutions_total", Type: telemetry.Counter, Labels: []string{"result"},
		Help: "How often it was decided which bundle a ClusterExtension gets: Resolved; Kept, when what is installed stays; Retrying or Blocked, when there is none.",
	}
	fetchDuration = telemetry.Description{
		Name: "strata_clusterextension_fetch_duration_seconds", Type: telemetry.Histogram, Labels: []string{"what"}, Buckets: []float64{0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300},
		Help: "How long it took to pull the image of a bundle, and to ask for a catalog and read it when it was another one. what is bundle or catalog. Failures count, too.",
	}
	cacheBytes = telemetry.Description{
		Name: "strata_clusterextension_cache_bytes", Type: telemetry.Gauge, Labels: []string{"what"},
		Help: "How many bytes of bundles and catalogs are on disk, in the folder of --cache-dir. what is bundles or catalogs.",
	}
	catalogStates = telemetry.Description{
		Name: "strata_clusterextension_catalogs", Type: telemetry.Gauge, Labels: []string{"state"},
		Help: "How many ClusterCatalogs are current; stale, when the content that was read last is used as it cannot be renewed; empty, when no content was read yet; or unavailable, as their spec says.",
	}
	catalogChecked = telemetry.Description{
		Name: "strata_clusterextension_catalog_checked_timestamp_seconds", Type: telemetry.Gauge, Labels: []string{"clustercatalog"},
		Help: "When the stored content of a ClusterCatalog was last known to be that of its source, in seconds since 1970. The time since then is the age of the content.",
	}
)

// The states of a ClusterCatalog in metrics.
const catalogCurrent, catalogStale, catalogEmpty, catalogUnavailable = "current", "stale", "empty", "unavailable"

// supplyMetrics are those of a supply.
type supplyMetrics struct {
	supply      *supply
	resolutions *prometheus.CounterVec
	fetches     *prometheus.HistogramVec
}

func newSupplyMetrics(of *supply) *supplyMetrics {
	m := &supplyMetrics{supply: of, resolutions: resolutions.NewCounter(), fetches: fetchDuration.NewHistogram()}
	of.resolved = func(is resolve.Outcome) { m.resolutions.WithLabelValues(string(is)).Inc() }
	took := func(what string) sources.Took {
		return func(d time.Duration) { m.fetches.WithLabelValues(what).Observe(d.Seconds()) }
	}
	of.bundles.Took, of.catalogs.Took = took("bundle"), took("catalog")
	return m
}

// Describe implements prometheus.Collector.
func (m *supplyMetrics) Describe(descs chan<- *prometheus.Desc) {
	m.resolutions.Describe(descs)
	m.fetches.Describe(descs)
	for _, d := range []telemetry.Description{cacheBytes, catalogStates, catalogChecked} {
		descs <- d.Desc()
	}
}

// Collect implements prometheus.Collector.
func (m *supplyMetrics) Collect(series chan<- prometheus.Metric) {
	m.resolutions.Collect(series)
	m.fetches.Collect(series)
	gauge := func(d telemetry.Description, value float64, label string) {
		series <- prometheus.MustNewConstMetric(d.Desc(), prometheus.GaugeValue, value, label)
	}
	_, bytes := m.supply.bundles.Store.Size()
	gauge(cacheBytes, float64(bytes), "bundles")
	gauge(cacheBytes, float64(m.supply.catalogs.Store.Stats().Bytes), "catalogs")
	ctx, cancel := context.WithTimeout(context.Background(), scrapeLimit)
	defer cancel()
	list := &olmv1.ClusterCatalogList{}
	if err := m.supply.cache.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return
	}
	in := map[string]int{catalogCurrent: 0, catalogStale: 0, catalogEmpty: 0, catalogUnavailable: 0}
	for i := range list.Items {
		known := m.supply.catalogs.Store.Get(list.Items[i].Name)
		in[catalogState(&list.Items[i], known)]++
		if known.Content != nil {
			gauge(catalogChecked, float64(known.Checked.Unix()), list.Items[i].Name)
		}
	}
	for state, count := range in {
		gauge(catalogStates, float64(count), state)
	}
}

// catalogState is the state of a catalog in metrics.
func catalogState(cc *olmv1.ClusterCatalog, known catalog.Snapshot) string {
	switch {
	case !counts(cc):
		return catalogUnavailable
	case known.Content == nil:
		return catalogEmpty
	case known.Err != nil:
		return catalogStale
	default:
		return catalogCurrent
	}
}
