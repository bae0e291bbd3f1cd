// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
	"github.com/strata-run/strata/api/v1alpha1"
)

// The metrics are about revisions of ClusterExtensions that are not archived, and no others.
func TestRevisionMetrics(t *testing.T) {
	l := newLoop(t)
	for number, lifecycle := range map[int64]v1alpha1.LifecycleState{1: v1alpha1.LifecycleArchived, 2: v1alpha1.LifecycleActive, 3: v1alpha1.LifecycleActive} {
		r := revision(number, lifecycle)
		if number != 3 {
			r.Labels = revisionLabels("demo")
		}
		l.Create(&r)
	}
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(&revisionMetrics{l.API}); err != nil {
		t.Fatal(err)
	}
	got := seriesOf(t, registry)
	const transition = "clusterextensionrevision_condition_transition_timestamp_seconds clusterextension=demo "
	want := map[string]float64{
		"clusterextensionrevision_condition clusterextension=demo condition=Progressing reason=RollingOut revision=demo-2 status=True":   1,
		"clusterextensionrevision_condition clusterextension=demo condition=Succeeded reason=RolloutSuccess revision=demo-2 status=True": 1,
		transition + "condition=Progressing revision=demo-2":                                                                             float64(then.Unix()), transition + "condition=Succeeded revision=demo-2": float64(then.Unix()),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
}

// seriesOf are all series with their values; of histograms the number of observations.
func seriesOf(t *testing.T, registry prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			name := family.GetName()
			for _, label := range metric.GetLabel() {
				name += " " + label.GetName() + "=" + label.GetValue()
			}
			got[name] = metric.GetGauge().GetValue() + metric.GetCounter().GetValue() + float64(metric.GetHistogram().GetSampleCount())
		}
	}
	return got
}

// TestSupplyMetrics: what is fetched, decided and stored is counted, and catalogs by what is known of them.
func TestSupplyMetrics(t *testing.T) {
	i := newImages(t)
	l := newSupplied(t, i.settings())
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(newSupplyMetrics(l.supply)); err != nil {
		t.Fatal(err)
	}
	l.createCatalog(i.catalogOf("catalog:v1", "registry.invalid/p:v1"))
	off := &olmv1.ClusterCatalog{ObjectMeta: metav1.ObjectMeta{Name: "off"}, Spec: olmv1.ClusterCatalogSpec{AvailabilityMode: olmv1.AvailabilityModeUnavailable}}
	l.Create(off)
	l.create()
	l.pass()
	const states = "strata_clusterextension_catalogs state="
	got := seriesOf(t, registry)
	for name, want := range map[string]float64{
		"strata_clusterextension_resolutions_total result=Retrying": 1, states + "empty": 1, states + "unavailable": 1, states + "current": 0, states + "stale": 0,
	} {
		if got[name] != want {
			t.Errorf("before the catalog is read: %s is %v, want %v", name, got[name], want)
		}
	}
	l.catalogRead()
	l.pass()
	got = seriesOf(t, registry)
	for name, want := range map[string]float64{
		"strata_clusterextension_resolutions_total result=Resolved": 1, "strata_clusterextension_fetch_duration_seconds what=catalog": 1, states + "empty": 0, states + "current": 1,
	} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
	if age := float64(time.Now().Unix()) - got["strata_clusterextension_catalog_checked_timestamp_seconds clustercatalog=c"]; age < 0 || age > 600 {
		t.Errorf("the content was checked %v seconds ago", age)
	}
	if got["strata_clusterextension_cache_bytes what=catalogs"] == 0 {
		t.Errorf("the stored catalog has no bytes: %v", got)
	}
}
