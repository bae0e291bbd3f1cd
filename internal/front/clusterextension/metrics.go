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
