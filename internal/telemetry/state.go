// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"
	"runtime"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/version"
)

// readLimit bounds how long a scrape waits for a cache that has not been filled yet.
const readLimit = 2 * time.Second

// state are the gauges about what is in the cache.
type state struct{ *Metrics }

// Describe implements prometheus.Collector.
func (s *state) Describe(descs chan<- *prometheus.Desc) {
	for _, d := range Catalog() {
		if d.Type == Gauge {
			descs <- d.Desc()
		}
	}
}

// Collect implements prometheus.Collector. While the cache is not filled there
// are no metrics.
func (s *state) Collect(metrics chan<- prometheus.Metric) {
	out := series{metrics}
	build := version.Get()
	out.gauge(buildInfo, 1, build.Version, build.Commit, runtime.Version())
	ctx, cancel := context.WithTimeout(context.Background(), readLimit)
	defer cancel()
	packages, revisions := &v1alpha1.PackageList{}, &v1alpha1.RevisionList{}
	for _, list := range []client.ObjectList{packages, revisions} {
		if err := s.reader.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return
		}
	}
	pending := map[string]int{}
	for i := range revisions.Items {
		if revision := &revisions.Items[i]; revision.Status.ArchivedAt == nil {
			pending[revision.Spec.Package] += deleting(revision)
			out.revision(revision)
		}
	}
	sizes, objects := s.sizesOf(revisions.Items), s.counted()
	for i := range packages.Items {
		pkg := &packages.Items[i]
		out.pkg(pkg)
		out.gauge(teardownPending, float64(pending[pkg.Name]+objects[pkg.Name].Pending), pkg.Name)
		out.gauge(retainedObjects, float64(objects[pkg.Name].Retained), pkg.Name)
		out.gauge(historyBytes, float64(sizes[pkg.Name]), pkg.Name)
	}
}

func deleting(revision *v1alpha1.Revision) int {
	count := 0
	for _, object := range revision.Status.Objects {
		if object.Reason == objectDeleting {
			count++
		}
	}
	return count
}

// series are sent to the scraper.
type series struct{ metrics chan<- prometheus.Metric }

func (s series) gauge(d Description, value float64, labels ...string) {
	metric, err := prometheus.NewConstMetric(d.Desc(), prometheus.GaugeValue, value, labels...)
	if err != nil {
		metric = prometheus.NewInvalidMetric(d.Desc(), err)
	}
	s.metrics <- metric
}

func (s series) pkg(pkg *v1alpha1.Package) {
	number := func(revision int64) string { return strconv.FormatInt(revision, 10) }
	s.gauge(packageInfo, 1, pkg.Name, number(pkg.Status.CurrentRevision), number(pkg.Status.TargetRevision))
	paused := 0.0
	for _, c := range pkg.Status.Conditions {
		s.gauge(packageCondition, 1, pkg.Name, c.Type, string(c.Status), c.Reason)
		s.gauge(packageTransition, seconds(c.LastTransitionTime), pkg.Name, c.Type)
		if c.Type == v1alpha1.ConditionProgressing && c.Reason == v1alpha1.ReasonPaused {
			paused = 1
		}
	}
	s.gauge(packagePaused, paused, pkg.Name)
	if at := pkg.DeletionTimestamp; at != nil {
		s.gauge(packageDeletion, seconds(*at), pkg.Name)
	}
}

func (s series) revision(revision *v1alpha1.Revision) {
	number := strconv.FormatInt(revision.Spec.Revision, 10)
	for _, c := range revision.Status.Conditions {
		s.gauge(revisionCondition, 1, revision.Spec.Package, number, c.Type, string(c.Status), c.Reason)
		s.gauge(revisionTransition, seconds(c.LastTransitionTime), revision.Spec.Package, number, c.Type)
	}
}

func seconds(at metav1.Time) float64 { return float64(at.Unix()) }
