// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

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
			got[name] = metric.GetGauge().GetValue()
		}
	}
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
