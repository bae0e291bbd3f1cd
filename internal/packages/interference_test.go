// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/status"
)

// mostWrites is what a minute with a conflicting manager may cost, of objects and of
// statuses.
const mostWrites = 15

// disturb makes passes for a minute, ten a second, each after what is given was done. It
// returns how many objects and statuses the loop has written.
func (l *line) disturb(disturb func(n int)) (objects, statuses int) {
	l.T.Helper()
	l.since()
	for n := range 600 {
		disturb(n)
		if _, err := l.pass(); err != nil {
			l.T.Fatal(err)
		}
		l.advance(100 * time.Millisecond)
	}
	writes, requests := l.since()
	for _, request := range requests {
		if !strings.HasPrefix(request, "get ") && !strings.HasPrefix(request, "list ") && !strings.HasPrefix(request, "try ") {
			objects++
		}
	}
	for _, write := range writes {
		if strings.HasPrefix(write, "status ") {
			statuses++
		}
	}
	return objects, statuses
}

// disturbed is an object as its conflicting manager finds it, by kind and name.
func (l *line) disturbed(kind, name string) *unstructured.Unstructured {
	for _, object := range l.cluster.Objects() {
		if object.GetKind() == kind && object.GetName() == name {
			return object
		}
	}
	return nil
}

func clusterRole(name string) map[string]any {
	return map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": map[string]any{"name": name}, "rules": []any{},
	}
}

// An object that does not stay as it was left is repaired less and less often, whatever
// becomes of it, and the package says so.
func TestWorker_Interference(t *testing.T) {
	other := func(l *line) client.Writer { return l.cluster.Client("gitops") }
	cases := map[string]struct {
		reason  string
		disturb func(l *line, n int) error
		cause   v1alpha1.InterferenceCause
		ready   string
		message string
	}{
		"Field": {
			reason: "a field is set back each time",
			disturb: func(l *line, _ int) error {
				o := l.disturbed("ConfigMap", "a")
				o.Object["data"] = map[string]any{"value": "other"}
				return other(l).Update(l.T.Context(), o)
			},
			cause: v1alpha1.InterferenceChanged, ready: "True/Interference", message: "ConfigMap app/a: gitops keeps changing .data.value of it, and repairs are slowed",
		},
		"Right": {
			reason: "what an account may do differs from what is wanted",
			disturb: func(l *line, _ int) error {
				o := l.disturbed("ClusterRole", "reader")
				o.Object["rules"] = []any{map[string]any{"verbs": []any{"*"}}}
				return other(l).Update(l.T.Context(), o)
			},
			cause: v1alpha1.InterferenceChanged, ready: "False/RightsDiffer", message: "ClusterRole reader: gitops keeps changing .rules of it, and repairs are slowed, so rights differ from what is wanted",
		},
		"Deleted": {
			reason: "the object is deleted each time",
			disturb: func(l *line, _ int) error {
				if o := l.disturbed("ConfigMap", "a"); o != nil {
					return other(l).Delete(l.T.Context(), o)
				}
				return nil
			},
			cause: v1alpha1.InterferenceDeleted, ready: "False/NotReady", message: "ConfigMap app/a: it is deleted again and again: repairs are slowed",
		},
		"TakenOver": {
			reason: "another controller takes the object over each time",
			disturb: func(l *line, _ int) error {
				o := l.disturbed("ConfigMap", "a")
				o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "Other", Name: "o", UID: "other", Controller: new(true)}})
				return other(l).Update(l.T.Context(), o)
			},
			cause: v1alpha1.InterferenceTakenOver, ready: "False/NotReady", message: "has taken it over from this Package",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := newLine(t, v1alpha1.PackageSpec{})
			r := l.written(1, phase(configMap("a", "1"), configMap("b", "1"), clusterRole("reader")))
			r.Spec.Phases[0].CollisionProtection = v1alpha1.CollisionNone
			l.Create(r)
			l.mustSettle(5 * time.Second)
			objects, statuses := l.disturb(func(n int) {
				if err := tc.disturb(l, n); err != nil {
					t.Fatal(err)
				}
			})
			if objects > mostWrites || statuses > mostWrites {
				t.Errorf("%s: %d writes of objects and %d of statuses in a minute, want no more than %d each", tc.reason, objects, statuses, mostWrites)
			}
			if got := l.condition(v1alpha1.ConditionReady); !strings.Contains(got, tc.message) || !strings.Contains(l.conditions(), "Ready="+tc.ready) {
				t.Errorf("the package says %q, and %s, want %s and %q", got, l.conditions(), tc.ready, tc.message)
			}
			found := l.revision(1).Status.Interference
			if len(found) != 1 || found[0].Cause != tc.cause || found[0].NextRepair == nil {
				t.Errorf("the revision tells of %+v, want one object that was %s", found, tc.cause)
			}
			l.restart()
			if again, _ := l.disturb(func(n int) {
				if err := tc.disturb(l, n); err != nil {
					t.Fatal(err)
				}
			}); again > 2 {
				t.Errorf("%d writes of objects in the minute after a restart, which has to know that repairs are slowed", again)
			}
		})
	}
}

// A probe that goes back and forth costs a few statuses, and the last one is true.
func TestWorker_FlappingProbe(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{})
	l.revise(1, phase(deployment("plane", "v1")))
	l.mustSettle(time.Second)
	l.ready("plane", true)
	l.mustSettle(10 * time.Second)
	_, statuses := l.disturb(func(n int) { l.ready("plane", n%2 == 1) })
	if statuses > mostWrites {
		t.Errorf("%d writes of statuses in a minute, want no more than %d", statuses, mostWrites)
	}
	found := l.revision(1).Status.Interference
	if len(found) != 1 || found[0].Cause != v1alpha1.InterferenceFlapping || found[0].Count < 10 {
		t.Errorf("the revision tells of %+v, want the Deployment that flaps", found)
	}
	l.ready("plane", true)
	l.mustSettle(longestSpacing)
	want(t, "the package says that it does not stay so", "Ready",
		"True/Interference: revision 1 (1.1.0) is rolled out and serves; but Deployment app/plane: it ceases to be ready again and again", l.condition(v1alpha1.ConditionReady))
	l.ready("plane", false)
	l.mustSettle(longestSpacing)
	if !strings.Contains(l.conditions(), "Available=False") {
		t.Errorf("the probe does not hold, and the package says %s", l.conditions())
	}
	l.advance(quiet)
	l.ready("plane", true)
	want(t, "after a while it is reported at once again", "writes", []string{"status web-1 RolledOut", "status web RolledOut"}, l.wrote(0))
}

// Many objects that are deleted again and again share what a package may write.
func TestWorker_InterferenceWithMany(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{})
	var all []map[string]any
	for name := range strings.SplitSeq("abcdefghijklmnopqrstuvwxyz", "") {
		all = append(all, configMap(name, "1"))
	}
	l.revise(1, phase(all...))
	l.mustSettle(5 * time.Second)
	destroy := func(int) {
		for _, o := range l.cluster.Objects() {
			if err := l.cluster.Client("gitops").Delete(t.Context(), o); err != nil {
				t.Fatal(err)
			}
		}
	}
	l.disturb(destroy) // three times at once
	l.restart()        // the list of the status has not room for all
	if objects, _ := l.disturb(destroy); objects > 2*mostWrites {
		t.Errorf("%d writes of objects in the second minute, want no more than 15 and a round of 26 that was due", objects)
	}
}

// What one package has taken over from another stays with it.
func TestWorker_TakenOverStays(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{})
	r := l.written(1, phase(configMap("a", "1")))
	r.Spec.Phases[0].CollisionProtection = v1alpha1.CollisionNone
	l.Create(r)
	l.mustSettle(5 * time.Second)
	o := l.disturbed("ConfigMap", "a")
	o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "strata.run/v1alpha1", Kind: "Package", Name: "other", UID: "other", Controller: new(true)}})
	if err := l.cluster.Client("other").Update(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	l.mustSettle(5 * time.Second)
	want(t, "it is reported", "states", []string{"1: Active ObjectCollisions"}, l.states())
	// A new revision says anew that the object is to be taken over.
	next := l.written(2, phase(configMap("a", "1")))
	next.Spec.Phases[0].CollisionProtection = v1alpha1.CollisionNone
	l.Create(next)
	l.mustSettle(5 * time.Second)
	if owners := l.disturbed("ConfigMap", "a").GetOwnerReferences(); !slices.ContainsFunc(owners, func(ref metav1.OwnerReference) bool { return ref.Name == "web" && *ref.Controller }) {
		t.Errorf("the owners are %v, and the new revision was to take it over", owners)
	}
}

// A Job that has completed is done for its content, and so is what is created once.
func TestWorker_Done(t *testing.T) {
	job := func(value string) map[string]any {
		return map[string]any{"apiVersion": "batch/v1", "kind": "Job", "metadata": map[string]any{"name": "migrate", "namespace": "app"}, "spec": map[string]any{"image": value}}
	}
	l := newLine(t, v1alpha1.PackageSpec{})
	r := l.written(1, phase(job("v1"), configMap("once", "1")))
	r.Spec.Phases[0].Objects[1].CreateOnce = true
	l.Create(r)
	l.mustSettle(time.Second)
	migrate := id("Job/migrate")
	migrate.Group = "batch"
	l.cluster.SetStatus(migrate, map[string]any{"conditions": []any{map[string]any{"type": "Complete", "status": "True"}}})
	l.mustSettle(10 * time.Second)
	want(t, "the Job has completed", "states", []string{"1: Active RolledOut"}, l.states())
	for _, o := range l.cluster.Objects() {
		if err := l.cluster.Client("ttl").Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	l.restart()
	l.mustSettle(10 * time.Second)
	want(t, "neither is created again", "objects", nil, l.objects())
	want(t, "and nothing is missing", "conditions", "Ready=True/Ready Progressing=False/RolledOut Available=True/ProbesSucceeded", l.conditions())
	next := l.written(2, phase(job("v2"), configMap("once", "1")))
	next.Spec.Phases[0].Objects[1].CreateOnce = true
	l.Create(next)
	l.mustSettle(10 * time.Second)
	want(t, "new content runs anew, and only that", "objects", []string{"Job/migrate=v2"}, l.objects())
}

// A probe that goes back and forth in a rollout costs as few statuses, and puts off no
// deadline.
func TestWorker_FlappingRollout(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{ProgressDeadline: &metav1.Duration{Duration: 10 * time.Minute}})
	l.revise(1, phase(deployment("plane", "v1")), phase(deployment("gate", "v1")))
	l.mustSettle(time.Second)
	l.ready("plane", true)
	l.mustSettle(10 * time.Second)
	for minute := range 2 {
		if _, statuses := l.disturb(func(n int) { l.ready("plane", n%2 == 1) }); statuses > mostWrites {
			t.Errorf("%d writes of statuses in minute %d, want no more than %d", statuses, minute+1, mostWrites)
		}
	}
	found := l.revision(1).Status.Interference
	if len(found) != 1 || found[0].Cause != v1alpha1.InterferenceFlapping || found[0].Count < 10 {
		t.Errorf("the revision tells of %+v, want the Deployment that flaps", found)
	}
	for n := range 60 {
		l.ready("plane", n%2 == 1)
		l.mustSettle(10 * time.Second)
		l.advance(10 * time.Second)
	}
	want(t, "the deadline passes", "states", []string{"1: Active ProgressDeadlineExceeded"}, l.states())
}

// A controller that takes an object over and leaves it again, in a rollout: the first
// collision is reported at once, and the others cost few statuses.
func TestWorker_TakenOverInRollout(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{})
	r := l.written(1, phase(configMap("a", "1")), phase(deployment("gate", "v1")))
	r.Spec.Phases[0].CollisionProtection = v1alpha1.CollisionNone
	l.Create(r)
	l.mustSettle(10 * time.Second)
	takeOver := func(n int) {
		o := l.disturbed("ConfigMap", "a")
		o.SetOwnerReferences(nil)
		if n%2 == 0 {
			o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "Other", Name: "o", UID: "other", Controller: new(true)}})
		}
		if err := l.cluster.Client("other").Update(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	takeOver(0)
	l.mustSettle(5 * time.Second) // in which it is repaired first
	takeOver(0)
	l.mustSettle(0)
	want(t, "it is reported at once", "states", []string{"1: Active ObjectCollisions"}, l.states())
	if _, statuses := l.disturb(takeOver); statuses > mostWrites {
		t.Errorf("%d writes of statuses in a minute, want no more than %d", statuses, mostWrites)
	}
}

// Repairs are no progress: whatever does not stay as it was left in a rollout, the deadline
// passes.
func TestWorker_RepairsAreNoProgress(t *testing.T) {
	disturbances := map[string]func(l *line, o *unstructured.Unstructured) error{
		"Changed": func(l *line, o *unstructured.Unstructured) error {
			o.Object["data"] = map[string]any{"value": "other"}
			return l.cluster.Client("other").Update(l.T.Context(), o)
		},
		"Deleted": func(l *line, o *unstructured.Unstructured) error {
			return l.cluster.Client("other").Delete(l.T.Context(), o)
		},
		"TakenOver": func(l *line, o *unstructured.Unstructured) error {
			o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "Other", Name: "o", UID: "other", Controller: new(true)}})
			return l.cluster.Client("other").Update(l.T.Context(), o)
		},
		"Left": func(l *line, o *unstructured.Unstructured) error {
			o.SetOwnerReferences(nil)
			o.SetLabels(nil)
			return l.cluster.Client("other").Update(l.T.Context(), o)
		},
	}
	for name, disturb := range disturbances {
		t.Run(name, func(t *testing.T) {
			l := newLine(t, v1alpha1.PackageSpec{ProgressDeadline: &metav1.Duration{Duration: 10 * time.Minute}})
			r := l.written(1, phase(configMap("a", "1")), phase(deployment("gate", "v1")))
			r.Spec.Phases[0].CollisionProtection = v1alpha1.CollisionNone
			l.Create(r)
			l.mustSettle(10 * time.Second)
			for range 12 * 60 {
				if o := l.disturbed("ConfigMap", "a"); o != nil {
					if err := disturb(l, o); err != nil {
						t.Fatal(err)
					}
				}
				if _, err := l.pass(); err != nil {
					t.Fatal(err)
				}
				l.advance(time.Second)
			}
			if !status.IsOverdue(l.revision(1).Status, 10*time.Minute, l.Now) {
				t.Errorf("12 minutes of repairs put off the deadline of 10: the last progress is of %s, now is %s", l.revision(1).Status.LastProgressTime, l.Now)
			}
		})
	}
}

// An object that was repaired once, and is ready for the first time, is progress.
func TestWorker_RepairedGetsReady(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{ProgressDeadline: &metav1.Duration{Duration: 10 * time.Minute}})
	l.revise(1, phase(deployment("a", "v1"), deployment("b", "v1")))
	l.mustSettle(10 * time.Second)
	if err := l.cluster.Client("other").Delete(t.Context(), l.disturbed("Deployment", "a")); err != nil {
		t.Fatal(err)
	}
	l.mustSettle(10 * time.Second)
	l.advance(9 * time.Minute)
	l.ready("a", true)
	l.mustSettle(10 * time.Second)
	l.advance(2 * time.Minute)
	l.mustSettle(10 * time.Second)
	want(t, "the other one still has time", "states", []string{"1: Active RollingOut"}, l.states())
}

// A Job that has completed and is being deleted is as good as gone: nothing ceases to be ready.
func TestWorker_DoneLeaves(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{})
	l.revise(1, phase(map[string]any{
		"apiVersion": "batch/v1", "kind": "Job", "metadata": map[string]any{"name": "migrate", "namespace": "app"}, "spec": map[string]any{"image": "v1"},
	}))
	l.mustSettle(time.Second)
	migrate := id("Job/migrate")
	migrate.Group = "batch"
	l.cluster.SetStatus(migrate, map[string]any{"conditions": []any{map[string]any{"type": "Complete", "status": "True"}}})
	l.mustSettle(10 * time.Second)
	job, ttl := l.disturbed("Job", "migrate"), l.cluster.Client("ttl")
	job.SetFinalizers([]string{"foregroundDeletion"})
	if err := ttl.Update(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	if err := ttl.Delete(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	l.mustSettle(10 * time.Second)
	want(t, "it counts as ready", "conditions", "Ready=True/Ready Progressing=False/RolledOut Available=True/ProbesSucceeded", l.conditions())
	if found := l.revision(1).Status.Flaps; len(found) > 0 {
		t.Errorf("it is reported as flapping: %+v", found)
	}
}
