// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/revisions"
)

// store is a cache with packages and revisions.
type store struct {
	client.Reader

	packages  []v1alpha1.Package
	revisions []v1alpha1.Revision
	err       error
}

func (s *store) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	switch l := list.(type) {
	case *v1alpha1.PackageList:
		l.Items = s.packages
	case *v1alpha1.RevisionList:
		l.Items = s.revisions
	}
	return s.err
}

var began = metav1.NewTime(time.Unix(1_000_000, 0))

// later is a time after the beginning.
func at(seconds int) *metav1.Time {
	t := metav1.NewTime(began.Add(time.Duration(seconds) * time.Second))
	return &t
}

func newMetrics(t *testing.T, s *store) (*Metrics, func() map[string]float64) {
	t.Helper()
	m := NewMetrics()
	m.now = func() time.Time { return at(100).Time }
	m.ReadFrom(s)
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(m); err != nil {
		t.Fatal(err)
	}
	return m, func() map[string]float64 {
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		return flat(families)
	}
}

// flat are series by their names and labels; of a histogram its count and sum.
func flat(families []*dto.MetricFamily) map[string]float64 {
	all := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			var labels []string
			for _, label := range metric.GetLabel() {
				labels = append(labels, label.GetName()+"="+label.GetValue())
			}
			name := family.GetName() + "{" + strings.Join(labels, ",") + "}"
			switch {
			case metric.GetHistogram() != nil:
				all[name+" count"] = float64(metric.GetHistogram().GetSampleCount())
				all[name+" sum"] = metric.GetHistogram().GetSampleSum()
			case metric.GetCounter() != nil:
				all[name] = metric.GetCounter().GetValue()
			default:
				all[name] = metric.GetGauge().GetValue()
			}
		}
	}
	return all
}

// without drops the metrics that every manager has.
func without(all map[string]float64) map[string]float64 {
	maps.DeleteFunc(all, func(name string, _ float64) bool {
		return strings.HasPrefix(name, buildInfo.Name) || strings.HasPrefix(name, stalenessWaits.Name)
	})
	return all
}

func TestState(t *testing.T) {
	condition := func(kind, status, reason string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: metav1.ConditionStatus(status), Reason: reason, LastTransitionTime: *at(7)}
	}
	s := &store{
		packages: []v1alpha1.Package{{
			ObjectMeta: metav1.ObjectMeta{Name: "web", DeletionTimestamp: at(9)},
			Status: v1alpha1.PackageStatus{
				CurrentRevision: 1, TargetRevision: 2,
				Conditions: []metav1.Condition{condition(v1alpha1.ConditionProgressing, "False", v1alpha1.ReasonPaused)},
			},
		}},
		revisions: []v1alpha1.Revision{
			{ObjectMeta: metav1.ObjectMeta{UID: "old"}, Spec: v1alpha1.RevisionSpec{Package: "web", Revision: 1}, Status: v1alpha1.RevisionStatus{
				ArchivedAt: at(1), Conditions: []metav1.Condition{condition(v1alpha1.ConditionAvailable, "False", v1alpha1.ReasonArchived)},
			}},
			{ObjectMeta: metav1.ObjectMeta{UID: "new"}, Spec: v1alpha1.RevisionSpec{Package: "web", Revision: 2}, Status: v1alpha1.RevisionStatus{
				Conditions: []metav1.Condition{condition(v1alpha1.ConditionAvailable, "True", v1alpha1.ReasonProbesSucceeded)},
				Objects:    []v1alpha1.ObjectStatus{{Reason: "Deleting"}, {Reason: "ProbeFailed"}},
			}},
		},
	}
	m, gather := newMetrics(t, s)
	m.Count("web", Objects{Retained: 3, Pending: 4})
	m.Size(&v1alpha1.Revision{
		ObjectMeta: metav1.ObjectMeta{UID: "old"},
		Spec: v1alpha1.RevisionSpec{Phases: []v1alpha1.Phase{{Objects: []v1alpha1.Object{
			{Object: &runtime.RawExtension{Raw: make([]byte, 5000)}}, {Slice: &v1alpha1.SliceReference{}},
		}}}},
	})
	want := map[string]float64{
		"strata_package_info{current_revision=1,package=web,target_revision=2}":                               1,
		"strata_package_condition{package=web,reason=Paused,status=False,type=Progressing}":                   1,
		"strata_package_condition_transition_timestamp_seconds{package=web,type=Progressing}":                 1_000_007,
		"strata_package_paused{package=web}":                                                                  1,
		"strata_package_deletion_timestamp_seconds{package=web}":                                              1_000_009,
		"strata_revision_condition{package=web,reason=ProbesSucceeded,revision=2,status=True,type=Available}": 1,
		"strata_revision_condition_transition_timestamp_seconds{package=web,revision=2,type=Available}":       1_000_007,
		"strata_teardown_objects_pending{package=web}":                                                        5,
		"strata_retained_objects{package=web}":                                                                3,
		"strata_history_bytes{package=web}":                                                                   revisionBytes + 2*objectBytes + 5000,
	}
	if diff := cmp.Diff(want, without(gather())); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	s.packages, s.revisions = nil, nil
	if left := without(gather()); len(left) > 0 {
		t.Errorf("series have outlived the package: %v", left)
	}
	s.err = errors.New("the cache is not filled")
	if got := gather(); len(without(got)) > 0 {
		t.Errorf("a scrape without a cache reported packages: %v", got)
	}
}

func TestSizes(t *testing.T) {
	s := &store{}
	m, gather := newMetrics(t, s)
	m.Size(&v1alpha1.Revision{ObjectMeta: metav1.ObjectMeta{UID: "gone"}})
	gather()
	if len(m.sizes) != 1 {
		t.Error("a size was forgotten before its Revision could be listed")
	}
	m.now = func() time.Time { return at(1000).Time }
	gather()
	if len(m.sizes) != 0 {
		t.Errorf("sizes of Revisions that are gone: %v", m.sizes)
	}
}

func TestListener(t *testing.T) {
	denied := apierrors.NewForbidden(schema.GroupResource{}, "x", nil)
	conflict := apierrors.NewConflict(schema.GroupResource{}, "x", nil)
	invalid := apierrors.NewInvalid(schema.GroupKind{}, "x", nil)
	m, gather := newMetrics(t, &store{})
	listener, owner := m.Listener(), revisions.Owner{Name: "web"}
	for _, result := range []revisions.ObjectResult{
		{Action: revisions.ActionCreated},
		{Action: revisions.ActionUnchanged},
		{Action: revisions.ActionCollision},
		{Action: revisions.ActionCollision, TakenOver: true, Backoff: &revisions.DriftBackoff{Manager: "Package other", Cause: revisions.DriftTakenOver}},
		{Action: revisions.ActionUpdated, Repaired: true, Backoff: &revisions.DriftBackoff{Manager: "kubectl-edit", Cause: revisions.DriftChanged}},
		{Action: revisions.ActionUnchanged, Backoff: &revisions.DriftBackoff{Manager: "waited-for", Cause: revisions.DriftChanged}},
		{Err: fmt.Errorf("applying: %w", denied)}, {Err: conflict}, {Err: invalid}, {Err: errors.New("x")},
	} {
		listener.Object(owner, "phase", result)
	}
	listener.Removed(owner, "phase", revisions.RemovedObject{Deleted: true})
	listener.Removed(owner, "phase", revisions.RemovedObject{State: revisions.RemovalGone})
	listener.Removed(owner, "phase", revisions.RemovedObject{Err: denied})
	want := map[string]float64{
		"strata_object_apply_total{operation=create,result=success}":           1,
		"strata_object_apply_total{operation=update,result=success}":           1,
		"strata_object_apply_total{operation=apply,result=denied}":             1,
		"strata_object_apply_total{operation=apply,result=conflict}":           1,
		"strata_object_apply_total{operation=apply,result=invalid}":            1,
		"strata_object_apply_total{operation=apply,result=error}":              1,
		"strata_object_apply_total{operation=delete,result=success}":           1,
		"strata_object_apply_total{operation=delete,result=denied}":            1,
		"strata_object_conflicts_total{cause=Changed,manager=kubectl-edit}":    1,
		"strata_object_conflicts_total{cause=TakenOver,manager=Package other}": 1,
		"strata_drift_corrections_total{package=web}":                          1,
	}
	if diff := cmp.Diff(want, without(gather())); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	m.Forget("web")
	if got := gather(); got["strata_drift_corrections_total{package=web}"] != 0 {
		t.Errorf("a series has outlived its package: %v", got)
	}
}

func TestMoved(t *testing.T) {
	revision := func(reason string, good bool, states ...string) *v1alpha1.Revision {
		r := &v1alpha1.Revision{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: began}, Spec: v1alpha1.RevisionSpec{Package: "web", Revision: 2}}
		r.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionProgressing, Reason: reason}}
		if good {
			r.Status.Conditions = append(r.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionTrue})
		}
		for i, state := range states {
			phase := v1alpha1.PhaseStatus{Name: fmt.Sprintf("p%d", i), State: v1alpha1.PhaseState(state)}
			if state == "Complete" {
				phase.CompletedAt = at(10 * (i + 1))
			}
			r.Status.Phases = append(r.Status.Phases, phase)
		}
		return r
	}
	with := func(r *v1alpha1.Revision, reason string) *v1alpha1.Revision {
		r.Status.Objects = []v1alpha1.ObjectStatus{{ObjectReference: v1alpha1.ObjectReference{Kind: "Deployment", Name: "app"}, Phase: "p0", Reason: reason}}
		return r
	}
	rolling := v1alpha1.ReasonRollingOut
	outcome := func(name string) map[string]float64 {
		series := "strata_revision_rollout_duration_seconds{outcome=" + name + "}"
		return map[string]float64{series + " count": 1, series + " sum": 100}
	}
	cases := map[string]struct {
		reason        string
		back          *v1alpha1.RollbackStatus
		before, after *v1alpha1.Revision
		want          map[string]float64
	}{
		"Nothing":    {reason: "no change, nothing counted", before: revision(rolling, false), after: revision(rolling, false), want: map[string]float64{}},
		"Succeeded":  {reason: "success ends a rollout", before: revision(rolling, false), after: revision(v1alpha1.ReasonRolledOut, true), want: outcome("succeeded")},
		"Again":      {reason: "it succeeds once", before: revision(v1alpha1.ReasonRolledOut, true), after: revision(v1alpha1.ReasonArchiving, true), want: map[string]float64{}},
		"Failed":     {reason: "the deadline", before: revision(rolling, false), after: revision(v1alpha1.ReasonProgressDeadlineExceeded, false), want: outcome("failed")},
		"Superseded": {reason: "another one came", before: revision(rolling, false), after: revision(v1alpha1.ReasonSuperseded, false), want: outcome("superseded")},
		"Ended":      {reason: "an end is counted once", before: revision(v1alpha1.ReasonSuperseded, false), after: revision(v1alpha1.ReasonArchived, false), want: map[string]float64{}},
		"RolledBack": {
			reason: "a rollback away from it", back: &v1alpha1.RollbackStatus{FromRevision: 2, Revision: 3},
			before: revision(rolling, false), after: revision(v1alpha1.ReasonArchived, false), want: outcome("rolledback"),
		},
		"Phases": {
			reason: "each phase counts from the one before",
			before: revision(rolling, false, "Complete", "Progressing", "Pending"), after: revision(rolling, false, "Complete", "Complete", "Progressing"),
			want: map[string]float64{
				"strata_revision_phase_duration_seconds{phase=p1} count": 1, "strata_revision_phase_duration_seconds{phase=p1} sum": 10,
			},
		},
		"ProbeFailure": {
			reason: "a probe that held", before: revision(rolling, true, "Complete"), after: with(revision(rolling, true, "Progressing"), "ProbeFailed"),
			want: map[string]float64{"strata_probe_failures_total{package=web,probe=Deployment}": 1},
		},
		"Collision": {
			reason: "an object of another manager", before: revision(rolling, true), after: with(revision(rolling, true), "Collision"),
			want: map[string]float64{"strata_collisions_total{package=web}": 1},
		},
		"CollisionKnown": {
			reason: "is counted once", before: with(revision(rolling, true), "Collision"), after: with(revision(rolling, true), "Collision"), want: map[string]float64{},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m, gather := newMetrics(t, &store{})
			pkg := &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Status: v1alpha1.PackageStatus{Rollback: tc.back}}
			m.Moved(Change{Package: pkg, Before: tc.before, After: tc.after})
			if diff := cmp.Diff(tc.want, without(gather())); diff != "" {
				t.Errorf("%s: -want +got\n%s", tc.reason, diff)
			}
			m.Forget("web")
			for series := range gather() {
				if strings.Contains(series, "package=web") {
					t.Errorf("%s: %s has outlived its package", tc.reason, series)
				}
			}
		})
	}
}

// TestBounded: a user who may choose field managers must not fill the memory.
func TestBoundedLabel(t *testing.T) {
	var b bounded
	seen := map[string]bool{}
	for i := range 10 * mostValues {
		seen[b.value(fmt.Sprintf("manager-%d", i))] = true
	}
	if len(seen) != mostValues+1 || !seen[other] {
		t.Errorf("%d values, want %d and %q", len(seen), mostValues, other)
	}
	if got := b.value("manager-0"); got != "manager-0" {
		t.Errorf("a known value became %q", got)
	}
	for text, want := range map[string]string{"": unknown, strings.Repeat("x", 1000): other} {
		if got := b.value(text); got != want {
			t.Errorf("value(%.10q) = %q, want %q", text, got, want)
		}
	}
}

// TestCatalog: what is described is what is collected, with the names and labels that
// Prometheus takes.
func TestCatalog(t *testing.T) {
	described := map[string]bool{}
	descs := make(chan *prometheus.Desc, 100)
	NewMetrics().Describe(descs)
	close(descs)
	for desc := range descs {
		described[desc.String()] = true
	}
	want := map[string]bool{}
	for _, d := range Catalog() {
		want[d.Desc().String()] = true
		ours := strings.HasPrefix(d.Name, "strata_") && strings.HasSuffix(d.Name, "_total") == (d.Type == Counter)
		if d.Help == "" || !ours {
			t.Errorf("%s: a %s with help %q", d.Name, d.Type, d.Help)
		}
		if slices.Contains(d.Labels, "name") || slices.Contains(d.Labels, "object") {
			t.Errorf("%s: names of objects are no labels", d.Name)
		}
	}
	if diff := cmp.Diff(want, described); diff != "" {
		t.Errorf("-catalog +described\n%s", diff)
	}
	m, gather := newMetrics(t, &store{revisions: []v1alpha1.Revision{{ObjectMeta: metav1.ObjectMeta{UID: types.UID("x")}}}})
	m.Rendered("gatewayclass", time.Second)
	m.Stale()
	if got := gather(); got["strata_cache_staleness_waits_total{}"] != 1 || got["strata_render_duration_seconds{front=gatewayclass} sum"] != 1 {
		t.Errorf("series: %v", got)
	}
}

// Conditions of a group stand for those of before, and end with its resources.
func TestConditions(t *testing.T) {
	m, gather := newMetrics(t, &store{})
	series := func() (all []string) {
		for name := range gather() {
			if rest, ok := strings.CutPrefix(name, "strata_front_condition"); ok {
				all = append(all, rest)
			}
		}
		slices.Sort(all)
		return all
	}
	m.Conditions("gateway", "edge", []ResourceCondition{{"openshift-ingress", "edge", "", "LoadBalancerReady", "True", "R"}, {"openshift-ingress", "edge", "https", "DNSReady", "Unknown", "R"}})
	m.Conditions("gateway", "edge", []ResourceCondition{{"openshift-ingress", "edge", "https", "DNSReady", "False", "FailedZones"}})
	m.Conditions("gatewayclass", "edge", []ResourceCondition{{"", "c", "", "CRDsReady", "True", "ManagedByCIO"}})
	want := []string{
		"{front=gateway,namespace=openshift-ingress,part=https,reason=FailedZones,resource=edge,status=False,type=DNSReady}",
		"{front=gatewayclass,namespace=,part=,reason=ManagedByCIO,resource=c,status=True,type=CRDsReady}",
	}
	if diff := cmp.Diff(want, series()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	m.Conditions("gateway", "edge", nil)
	if diff := cmp.Diff(want[1:], series()); diff != "" {
		t.Errorf("without resources, -want +got\n%s", diff)
	}
}

// TestMoved_Flaps counts each time that an object ceases to be ready.
func TestMoved_Flaps(t *testing.T) {
	m, gather := newMetrics(t, &store{})
	pkg, before, after := &v1alpha1.Package{}, &v1alpha1.Revision{}, &v1alpha1.Revision{}
	before.Status.Flaps = []v1alpha1.Flap{{Count: 2}, {Count: 1}}
	after.Status.Flaps = []v1alpha1.Flap{{Count: 5}}
	m.Moved(Change{Package: pkg, Before: before, After: after})
	m.Moved(Change{Package: pkg, Before: after, After: after})
	const series = "strata_object_conflicts_total{cause=Flapping,manager=unknown}"
	if got := gather(); got[series] != 2 {
		t.Errorf("%s is %v, want 2 of %v", series, got[series], got)
	}
}
