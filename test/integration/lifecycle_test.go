// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/localplane/planetest"
)

// patchPackage changes a package as kubectl patch --type=merge does.
func patchPackage(t *testing.T, name, patch string) {
	t.Helper()
	pkg := &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: name}}
	must(t, admin.Patch(t.Context(), pkg, client.RawPatch(types.MergePatchType, []byte(patch))))
}

// eventuallyPackage waits until a condition of a package has the reason given.
func eventuallyPackage(t *testing.T, name, condition, reason string) *v1alpha1.Package {
	t.Helper()
	var pkg *v1alpha1.Package
	planetest.Eventually(t, name+": "+condition+" "+reason, func() (bool, error) {
		pkg = getPackage(t, name)
		c := meta.FindStatusCondition(pkg.Status.Conditions, condition)
		return c != nil && c.Reason == reason, fmt.Errorf("it is %+v", c)
	})
	return pkg
}

func eventuallyGone(t *testing.T, pkg string, number int64) {
	t.Helper()
	planetest.Eventually(t, fmt.Sprintf("revision %d to be gone", number), func() (bool, error) {
		err := admin.Get(t.Context(), types.NamespacedName{Name: v1alpha1.RevisionName(pkg, number)}, &v1alpha1.Revision{})
		return apierrors.IsNotFound(err), err
	})
}

// TestApproval: new content waits with its plan, until the digest that the plan
// shows is approved.
func TestApproval(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	pkg := newPackage(t, v1alpha1.PackageSpec{}, phase("one", configMapManifest(t, ns, "a", "1"), configMapManifest(t, ns, "old", "1")))
	eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
	patchPackage(t, pkg.Name, `{"spec":{"approval":"Manual","gates":[{"name":"check","reason":"looks at it"}]}}`)
	newRevision(t, pkg, 2, phase("one", configMapManifest(t, ns, "a", "2"), configMapManifest(t, ns, "new", "2")))
	revision := eventuallyRevision(t, pkg.Name, 2, v1alpha1.ConditionProgressing, v1alpha1.ReasonAwaitingApproval)
	if plan := revision.Status.Plan; plan == nil || plan.Summary != "1 create, 1 update, 1 delete, 0 unchanged" {
		t.Fatalf("the plan is %+v", plan)
	}
	digest := revision.Status.Plan.Digest
	patchPackage(t, pkg.Name, `{"spec":{"approvedDigest":"`+digest+`"}}`)
	planetest.Eventually(t, "the gate alone to withhold it", func() (bool, error) {
		said := message(getRevision(t, pkg.Name, 2).Status.Conditions, v1alpha1.ConditionProgressing)
		return strings.HasPrefix(said, "gate check has not let its content") && strings.Contains(said, "looks at it"), fmt.Errorf("it says %s", said)
	})
	must(t, admin.Delete(t.Context(), configMap(t, ns, "old")))
	planetest.Eventually(t, "what was rolled out before to be kept", func() (bool, error) { return exists(t, configMapType(), ns, "old"), nil })
	if got := configMap(t, ns, "a").Data["value"]; got != "1" || exists(t, configMapType(), ns, "new") {
		t.Errorf("what waits has been rolled out: a is %s", got)
	}
	patchPackage(t, pkg.Name, `{"spec":{"gates":[{"name":"check","approvedDigest":"`+digest+`"}]}}`)
	eventuallyRevision(t, pkg.Name, 2, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
	eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionProgressing, v1alpha1.ReasonArchived)
	if got := configMap(t, ns, "a").Data["value"]; got != "2" || exists(t, configMapType(), ns, "old") {
		t.Errorf("what is approved is not rolled out: a is %s", got)
	}
	if plan := getRevision(t, pkg.Name, 2).Status.Plan; plan != nil {
		t.Errorf("the plan outlives the wait: %+v", plan)
	}
}

// TestFallback: a rollout that misses its deadline is rolled back from, once.
func TestFallback(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	pkg := newPackage(t, v1alpha1.PackageSpec{OnFailure: v1alpha1.FailureRollback, ProgressDeadline: &metav1.Duration{Duration: 3 * time.Second}},
		phase("one", configMapManifest(t, ns, "a", "good")))
	eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
	newRevision(t, pkg, 2, phase("one", configMapManifest(t, ns, "a", "bad")), phase("two", deploymentManifest(t, ns, "app", badImage)))
	back := eventuallyRevision(t, pkg.Name, 3, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
	if reason := back.Spec.Origin.Reason; !strings.Contains(reason, "nothing moved for 3s") || !strings.Contains(reason, "Deployment "+ns+"/app") {
		t.Errorf("the history says %q, want the deadline and the object", reason)
	}
	eventuallyRevision(t, pkg.Name, 2, v1alpha1.ConditionProgressing, v1alpha1.ReasonArchived)
	current := eventuallyPackage(t, pkg.Name, v1alpha1.ConditionReady, v1alpha1.ReasonRolledBack)
	if record := current.Status.AutomaticRollback; record == nil || record.FromRevision != 2 || record.ToRevision != 1 || record.Revision != 3 {
		t.Errorf("the record is %+v", record)
	}
	if got := configMap(t, ns, "a").Data["value"]; got != "good" {
		t.Errorf("a is %s, want what had succeeded", got)
	}
	newRevision(t, pkg, 4, phase("one", configMapManifest(t, ns, "a", "bad")), phase("two", deploymentManifest(t, ns, "app", badImage)))
	eventuallyRevision(t, pkg.Name, 4, v1alpha1.ConditionProgressing, v1alpha1.ReasonProgressDeadlineExceeded)
	planetest.Eventually(t, "the package to count revision 4", func() (bool, error) {
		highest := getPackage(t, pkg.Name).Status.HighestRevision
		return highest >= 4, fmt.Errorf("the highest revision is %d", highest)
	})
	planetest.Stays(t, 2*time.Second, "the same content is not rolled back from twice", func() (bool, error) {
		highest := getPackage(t, pkg.Name).Status.HighestRevision
		return highest == 4, fmt.Errorf("the highest revision is %d", highest)
	})
}

// TestPauseUntil: a pause says who and why, stops every write, and ends by itself.
func TestPauseUntil(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	until := metav1.NewTime(time.Now().Add(time.Hour))
	pkg := newPackage(t, v1alpha1.PackageSpec{Paused: &v1alpha1.Pause{By: "ann", Reason: "incident 7", Until: &until}}, phase("one", configMapManifest(t, ns, "a", "1")))
	revision := eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionProgressing, v1alpha1.ReasonPaused)
	if said := message(revision.Status.Conditions, v1alpha1.ConditionProgressing); said != "paused by ann: incident 7" {
		t.Errorf("it says %s", said)
	}
	if revision.Status.Plan == nil || revision.Status.Plan.Summary != "1 create, 0 unchanged" || exists(t, configMapType(), ns, "a") {
		t.Errorf("while paused the plan is %+v", revision.Status.Plan)
	}
	// Its end is near only now: what is above must have been seen before it.
	until = metav1.NewTime(time.Now().Add(4 * time.Second))
	patchPackage(t, pkg.Name, `{"spec":{"paused":{"until":"`+until.UTC().Format(time.RFC3339)+`"}}}`)
	revision = eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
	if revision.Status.SucceededAt.Before(new(until.Rfc3339Copy())) {
		t.Errorf("it was rolled out at %v, before the pause ended at %v", revision.Status.SucceededAt, until)
	}
}

// TestBurst: of ten changes at once the last is rolled out, and those in between are
// archived without it, at little cost.
func TestBurst(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	pkg := newPackage(t, v1alpha1.PackageSpec{RevisionHistoryLimit: new(int32(100))}, phase("one", configMapManifest(t, ns, "a", "1")))
	eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
	eventuallyPackage(t, pkg.Name, v1alpha1.ConditionReady, v1alpha1.ReasonReady)
	since := time.Now()
	patchPackage(t, pkg.Name, `{"spec":{"paused":{"reason":"ten changes at once"}}}`)
	for number := int64(2); number <= 11; number++ {
		newRevision(t, pkg, number, phase("one", configMapManifest(t, ns, "a", fmt.Sprint(number)), configMapManifest(t, ns, fmt.Sprintf("only-%d", number), "x")))
	}
	// Packages and revisions are watched apart: that the pause is over could be known
	// before the last revision is.
	eventuallyRevision(t, pkg.Name, 11, v1alpha1.ConditionProgressing, v1alpha1.ReasonPaused)
	patchPackage(t, pkg.Name, `{"spec":{"paused":null}}`)
	eventuallyRevision(t, pkg.Name, 11, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
	for number := int64(2); number <= 10; number++ {
		eventuallyRevision(t, pkg.Name, number, v1alpha1.ConditionProgressing, v1alpha1.ReasonArchived)
	}
	objects := 0
	for _, e := range requests(t, since) {
		if e.Namespace == ns && e.Code < 300 && e.Verb != "get" {
			objects++
			if e.Name != "a" && e.Name != "only-11" {
				t.Errorf("%s of %s: nothing of what is in between is rolled out", e.Verb, e.Name)
			}
		}
	}
	if objects != 2 {
		t.Errorf("the burst cost %d writes of objects, want 2", objects)
	}
}

// TestDeletedRevision: what is deleted is torn down before it is gone, and what runs
// stays until another revision has taken over.
func TestDeletedRevision(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	pkg := newPackage(t, v1alpha1.PackageSpec{}, phase("one", configMapManifest(t, ns, "a", "1")))
	eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
	newRevision(t, pkg, 2, phase("one", configMapManifest(t, ns, "a", "2"), configMapManifest(t, ns, "only-2", "x")), phase("two", deploymentManifest(t, ns, "app", badImage)))
	planetest.Eventually(t, "revision 2 to begin", func() (bool, error) {
		return exists(t, configMapType(), ns, "only-2") && len(getRevision(t, pkg.Name, 2).Status.Inventory) > 0, nil
	})
	must(t, admin.Delete(t.Context(), getRevision(t, pkg.Name, 2)))
	eventuallyGone(t, pkg.Name, 2)
	planetest.Eventually(t, "revision 1 to be what is wanted", func() (bool, error) {
		value := configMap(t, ns, "a").Data["value"]
		return value == "1" && !exists(t, configMapType(), ns, "only-2"), fmt.Errorf("a is %s", value)
	})

	must(t, admin.Delete(t.Context(), getRevision(t, pkg.Name, 1)))
	planetest.Eventually(t, "revision 1 to say that it is kept", func() (bool, error) {
		said := message(getPackage(t, pkg.Name).Status.Conditions, v1alpha1.ConditionProgressing)
		return strings.Contains(said, "it was deleted, and is kept until another revision has taken over"), fmt.Errorf("it says %s", said)
	})
	before := configMap(t, ns, "a")
	newRevision(t, pkg, 3, phase("one", configMapManifest(t, ns, "a", "1")))
	eventuallyGone(t, pkg.Name, 1)
	if after := configMap(t, ns, "a"); after.UID != before.UID || after.ResourceVersion != before.ResourceVersion {
		t.Errorf("what both contain was touched: %s %s, then %s %s", before.UID, before.ResourceVersion, after.UID, after.ResourceVersion)
	}
	eventuallyPackage(t, pkg.Name, v1alpha1.ConditionReady, v1alpha1.ReasonReady)
}

// TestDeletedInForeground: revisions hold up no deletion of their package, and
// nothing of either is left.
func TestDeletedInForeground(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	pkg := newPackage(t, v1alpha1.PackageSpec{}, phase("one", configMapManifest(t, ns, "a", "1")), phase("two", configMapManifest(t, ns, "b", "1")))
	eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
	newRevision(t, pkg, 2, phase("one", configMapManifest(t, ns, "a", "2")))
	eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionProgressing, v1alpha1.ReasonArchived)
	must(t, admin.Delete(t.Context(), pkg, client.PropagationPolicy(metav1.DeletePropagationForeground)))
	eventuallyGone(t, pkg.Name, 1)
	eventuallyGone(t, pkg.Name, 2)
	planetest.Eventually(t, "the package to be gone", func() (bool, error) {
		err := admin.Get(t.Context(), types.NamespacedName{Name: pkg.Name}, &v1alpha1.Package{})
		return apierrors.IsNotFound(err), err
	})
	if exists(t, configMapType(), ns, "a") || exists(t, configMapType(), ns, "b") {
		t.Error("an object is left")
	}
}

// TestHistoryLimitZero: no archived revision is kept, and no number is given twice.
func TestHistoryLimitZero(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	pkg := newPackage(t, v1alpha1.PackageSpec{RevisionHistoryLimit: new(int32(0))}, phase("one", configMapManifest(t, ns, "a", "1")))
	eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
	newRevision(t, pkg, 2, phase("one", configMapManifest(t, ns, "a", "2")))
	eventuallyGone(t, pkg.Name, 1)
	list := &v1alpha1.RevisionList{}
	must(t, admin.List(t.Context(), list, client.MatchingLabels{v1alpha1.LabelPackage: pkg.Name}))
	names := slices.Collect(func(yield func(string) bool) {
		for _, r := range list.Items {
			if !yield(r.Name) {
				return
			}
		}
	})
	if len(names) != 1 || names[0] != v1alpha1.RevisionName(pkg.Name, 2) {
		t.Errorf("the revisions are %v, want the current one alone", names)
	}
	planetest.Eventually(t, "the package to say so", func() (bool, error) {
		status := getPackage(t, pkg.Name).Status
		return status.HighestRevision == 2 && status.CurrentRevision == 2, fmt.Errorf("the highest revision is %d and the current one %d, want 2", status.HighestRevision, status.CurrentRevision)
	})
}
