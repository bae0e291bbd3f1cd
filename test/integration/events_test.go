// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

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
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/localplane/planetest"
	"github.com/strata-run/strata/internal/telemetry"
)

// eventsOf are the events about a package and its revisions, as they are recorded. A
// phase that took longer than another time has an event more, so the events of phases
// are left out.
func eventsOf(ctx context.Context, pkg string) ([]eventsv1.Event, error) {
	list := &eventsv1.EventList{}
	if err := admin.List(ctx, list, client.InNamespace(metav1.NamespaceDefault)); err != nil {
		return nil, err
	}
	var about []eventsv1.Event
	for _, e := range list.Items {
		name := e.Regarding.Name
		ours := e.Regarding.Kind == "Package" && name == pkg || e.Regarding.Kind == "Revision" && strings.HasPrefix(name, pkg+"-")
		if ours {
			about = append(about, e)
		}
	}
	return about, nil
}

// eventLines are events on one line each, with how often they were recorded. Without phases.
func eventLines(list []eventsv1.Event) map[string]int {
	lines := map[string]int{}
	for _, e := range list {
		if e.Reason == telemetry.ReasonPhaseStarted || e.Reason == telemetry.ReasonPhaseCompleted {
			continue
		}
		times := 1
		if e.Series != nil {
			times = int(e.Series.Count)
		}
		number := e.Regarding.Name[strings.LastIndex(e.Regarding.Name, "-")+1:]
		if e.Regarding.Kind == "Package" {
			number = "package"
		}
		lines[e.Type+" "+e.Reason+" "+number] += times
	}
	return lines
}

// eventuallyTold waits until exactly the events wanted are recorded, each once.
func eventuallyTold(t *testing.T, pkg string, want ...string) {
	t.Helper()
	wanted := map[string]int{}
	for _, line := range want {
		wanted[line]++
	}
	planetest.Eventually(t, "the events of "+pkg, func() (bool, error) {
		list, err := eventsOf(t.Context(), pkg)
		if err != nil {
			return false, err
		}
		diff := cmp.Diff(wanted, eventLines(list))
		return diff == "", errors.New("-want +got\n" + diff)
	})
}

// phaseEvents are how many events of phases there are, of a kind.
func phaseEvents(t *testing.T, pkg, reason string) map[string]int {
	t.Helper()
	list, err := eventsOf(t.Context(), pkg)
	must(t, err)
	counts := map[string]int{}
	for _, e := range list {
		if e.Reason == reason {
			counts[e.Regarding.Name+" "+e.Regarding.FieldPath]++
		}
	}
	return counts
}

// TestEvents: every transition of a package's life is reported once, by an event that the
// API server takes, and at rest there is none.
func TestEvents(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	retained := configMapManifest(t, ns, "retained", "1")
	retained.Deletion = v1alpha1.ObjectRetain
	phases := func(value, image string) []v1alpha1.Phase {
		return []v1alpha1.Phase{phase("one", configMapManifest(t, ns, "a", value), retained), phase("two", deploymentManifest(t, ns, "app", image))}
	}
	pkg := newPackage(t, v1alpha1.PackageSpec{}, phases("1", goodImage)...)
	eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
	want := []string{"Normal RevisionCreated package", "Normal Succeeded 1"}
	eventuallyTold(t, pkg.Name, want...)

	changed := configMap(t, ns, "a")
	changed.Data = map[string]string{"value": "drifted"}
	must(t, admin.Update(t.Context(), changed, client.FieldOwner("other-manager")))
	want = append(want, "Normal DriftCorrected 1")
	eventuallyTold(t, pkg.Name, want...)

	// The deadline is for this revision alone: on a slow machine the others may miss it.
	patchPackage(t, pkg.Name, `{"spec":{"progressDeadline":"4s"}}`)
	newRevision(t, pkg, 2, phases("2", badImage)...)
	want = append(want, "Normal RevisionCreated package", "Warning DeadlineExceeded 2")
	eventuallyTold(t, pkg.Name, want...)
	atRest(t, pkg.Name)

	patchPackage(t, pkg.Name, `{"spec":{"progressDeadline":null,"rollback":{"toRevision":1,"requestedAt":"`+time.Now().UTC().Format(time.RFC3339)+`","reason":"the image is bad"}}}`)
	eventuallyRevision(t, pkg.Name, 3, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
	want = append(want, "Normal RevisionCreated package", "Normal RolledBack package", "Normal Succeeded 3",
		"Normal HandedOver package", "Normal Archived 1", "Normal Archived 2")
	eventuallyTold(t, pkg.Name, want...)
	for _, reason := range []string{telemetry.ReasonPhaseStarted, telemetry.ReasonPhaseCompleted} {
		for phase, times := range phaseEvents(t, pkg.Name, reason) {
			if times > 1 {
				t.Errorf("%s of %s was reported %d times", reason, phase, times)
			}
		}
	}
	token := tokenFor(t, ns, "scraper", "strata-metrics-reader")
	eventuallySeries(t, token, map[string]float64{
		`strata_package_info{current_revision="3",package="` + pkg.Name + `",target_revision="3"}`:                                1,
		`strata_package_condition{package="` + pkg.Name + `",reason="RolledBack",status="True",type="Ready"}`:                     1,
		`strata_package_paused{package="` + pkg.Name + `"}`:                                                                       0,
		`strata_revision_condition{package="` + pkg.Name + `",reason="RolledOut",revision="3",status="False",type="Progressing"}`: 1,
		`strata_revision_rollout_duration_seconds_count{outcome="succeeded"}`:                                                     2,
		`strata_revision_rollout_duration_seconds_count{outcome="failed"}`:                                                        1,
		`strata_revision_rollout_duration_seconds_count{outcome="rolledback"}`:                                                    1,
		`strata_revision_phase_duration_seconds_count{phase="one"}`:                                                               2,
		`strata_object_apply_total{operation="create",result="success"}`:                                                          3,
		`strata_object_conflicts_total{cause="Changed",manager="other-manager"}`:                                                  1,
		`strata_drift_corrections_total{package="` + pkg.Name + `"}`:                                                              1,
		`strata_retained_objects{package="` + pkg.Name + `"}`:                                                                     1,
		`strata_teardown_objects_pending{package="` + pkg.Name + `"}`:                                                             0,
		`strata_history_bytes{package="` + pkg.Name + `"}`:                                                                        3000,
	})

	must(t, admin.Delete(t.Context(), pkg))
	want = append(want, "Normal Retained package")
	eventuallyTold(t, pkg.Name, want...)
	atRest(t, pkg.Name)
	planetest.Eventually(t, "the series of the package to go", func() (bool, error) {
		var left []string
		for series := range scrape(t, token) {
			if strings.Contains(series, `package="`+pkg.Name+`"`) {
				left = append(left, series)
			}
		}
		return len(left) == 0, fmt.Errorf("%v are left", left)
	})
}

// eventuallySeries waits until the manager serves these series with these values at least.
// Some are worked out from what it knows by its watches.
func eventuallySeries(t *testing.T, token string, wanted map[string]float64) {
	t.Helper()
	planetest.Eventually(t, "the metrics", func() (bool, error) {
		seen := scrape(t, token)
		for series, least := range wanted {
			if got, ok := seen[series]; !ok || got < least {
				name, _, _ := strings.Cut(series, "{")
				return false, fmt.Errorf("%s is %v (there: %t), want at least %v; there are %v", series, got, ok, least, of(seen, name))
			}
		}
		return true, nil
	})
}

// of are the series of a metric.
func of(seen map[string]float64, metric string) []string {
	var list []string
	for series := range seen {
		if strings.HasPrefix(series, metric+"{") {
			list = append(list, series)
		}
	}
	return list
}

// atRest waits until no event is written any more, and fails when that is never so although
// nothing happens.
func atRest(t *testing.T, pkg string) {
	t.Helper()
	versions := func() []string {
		list, err := eventsOf(t.Context(), pkg)
		must(t, err)
		all := map[string]bool{}
		for _, e := range list {
			all[e.Reason+" "+e.Name+" "+e.ResourceVersion] = true
		}
		return slices.Sorted(maps.Keys(all))
	}
	before, since := versions(), time.Now()
	planetest.Eventually(t, "the last event of "+pkg, func() (bool, error) {
		now := versions()
		diff := cmp.Diff(before, now)
		if diff != "" {
			before, since = now, time.Now()
		}
		// Longer than what a status may wait for.
		return time.Since(since) > 6*time.Second, errors.New("events are written at rest: -before +after\n" + diff)
	})
}

// TestEventsOfTrouble: what blocks a package is reported with the object that does, and
// those of a package that is held up name what they are about.
func TestEventsOfTrouble(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	theirs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "theirs"}}
	must(t, admin.Create(t.Context(), theirs))
	pkg := newPackage(t, v1alpha1.PackageSpec{}, phase("one", configMapManifest(t, ns, "theirs", "1")))
	want := []string{"Normal RevisionCreated package", "Warning Collision 1"}
	eventuallyTold(t, pkg.Name, want...)
	list, err := eventsOf(t.Context(), pkg.Name)
	must(t, err)
	for _, e := range list {
		if e.Reason == telemetry.ReasonCollision && (e.Related == nil || e.Related.Name != "theirs" || e.Related.Namespace != ns) {
			t.Errorf("the collision is related to %v, want ConfigMap %s/theirs", e.Related, ns)
		}
		if e.Regarding.UID == "" || e.ReportingController != "strata.run/manager" {
			t.Errorf("event %s is about uid %q and reported by %q", e.Reason, e.Regarding.UID, e.ReportingController)
		}
	}
	atRest(t, pkg.Name)

	paused := getPackage(t, pkg.Name)
	before := paused.DeepCopy()
	paused.Spec.Paused = &v1alpha1.Pause{By: "tester", Reason: "maintenance"}
	must(t, admin.Patch(t.Context(), paused, client.MergeFrom(before)))
	want = append(want, "Normal Paused package")
	eventuallyTold(t, pkg.Name, want...)
	must(t, admin.Delete(t.Context(), theirs))
	before = paused.DeepCopy()
	paused.Spec.Paused = nil
	must(t, admin.Patch(t.Context(), paused, client.MergeFrom(before)))
	want = append(want, "Normal Resumed package", "Normal Succeeded 1")
	eventuallyTold(t, pkg.Name, want...)
}
