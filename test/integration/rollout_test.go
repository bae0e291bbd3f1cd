// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/localplane/planetest"
)

const (
	goodImage = "registry.example/app:1.0"
	badImage  = "registry.invalid/app:1.0"
)

// TestGate: a phase whose probe does not hold keeps the next one from being
// started, and the revision before goes on serving.
func TestGate(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	pkg := newPackage(t, v1alpha1.PackageSpec{},
		phase("workload", deploymentManifest(t, ns, "app", goodImage)), phase("after", configMapManifest(t, ns, "after", "1")))
	eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
	newRevision(t, pkg, 2,
		phase("workload", deploymentManifest(t, ns, "app", badImage)), phase("after", configMapManifest(t, ns, "after", "2")))
	planetest.Eventually(t, "revision 2 to be held", func() (bool, error) {
		revision := getRevision(t, pkg.Name, 2)
		return len(revision.Status.Objects) == 1, fmt.Errorf("objects: %v", revision.Status.Objects)
	})
	planetest.Stays(t, 2*time.Second, "the second phase stays behind a closed gate", func() (bool, error) {
		got := configMap(t, ns, "after").Data["value"]
		return got == "1", fmt.Errorf("it has %s", got)
	})
	// What the target has not reached is kept as the serving revision says.
	must(t, admin.Delete(t.Context(), configMap(t, ns, "after")))
	planetest.Eventually(t, "the deleted object of revision 1 to come back", func() (bool, error) {
		return exists(t, configMapType(), ns, "after") && configMap(t, ns, "after").Data["value"] == "1", nil
	})
	if c := meta.FindStatusCondition(getPackage(t, pkg.Name).Status.Conditions, v1alpha1.ConditionAvailable); c.Status != metav1.ConditionTrue {
		t.Errorf("Available is %s/%s while revision 1 serves: %s", c.Status, c.Reason, c.Message)
	}
}

// TestHandover: of two revisions that differ in one object, one is changed, one
// removed, and the others are not written.
func TestHandover(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	pkg := newPackage(t, v1alpha1.PackageSpec{},
		phase("one", configMapManifest(t, ns, "same", "1"), configMapManifest(t, ns, "changed", "1")),
		phase("two", configMapManifest(t, ns, "removed", "1"), configMapManifest(t, ns, "moved", "1")))
	eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
	same, moved := configMap(t, ns, "same"), configMap(t, ns, "moved")
	since := time.Now()
	newRevision(t, pkg, 2,
		phase("one", configMapManifest(t, ns, "same", "1"), configMapManifest(t, ns, "changed", "2"), configMapManifest(t, ns, "moved", "1")))
	revision := eventuallyRevision(t, pkg.Name, 2, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
	old := eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionProgressing, v1alpha1.ReasonArchived)
	if old.Status.ArchivedAt == nil {
		t.Error("revision 1 is archived without a time")
	}
	for name, before := range map[string]*corev1.ConfigMap{"same": same, "moved": moved} {
		if after := configMap(t, ns, name); after.ResourceVersion != before.ResourceVersion {
			t.Errorf("ConfigMap %s did not change and was written", name)
		}
	}
	if got := configMap(t, ns, "changed").Data["value"]; got != "2" {
		t.Errorf("ConfigMap changed has %s, want 2", got)
	}
	if exists(t, configMapType(), ns, "removed") {
		t.Error("ConfigMap removed is in no active revision and exists")
	}
	actions := map[string]string{}
	for _, entry := range revision.Status.Inventory {
		actions[entry.Name] = entry.Action
	}
	for name, want := range map[string]string{"same": "Unchanged", "changed": "Updated", "moved": "Unchanged"} {
		if actions[name] != want {
			t.Errorf("the inventory says that %s was %s, want %s", name, actions[name], want)
		}
	}
	counts := map[string]int{}
	for _, e := range requests(t, since) {
		if e.Namespace == ns && e.Code < 300 && e.Verb != "get" {
			counts[e.Verb+" "+e.Name]++
		}
	}
	if len(counts) != 2 || counts["patch changed"] != 1 || counts["delete removed"] != 1 {
		t.Errorf("the upgrade wrote, want one patch of changed and one delete of removed:%s", describe(counts))
	}
}

// TestDrift: a field that another manager changes or removes is put back, with one
// write; a field that another manager adds stays.
func TestDrift(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	pkg := newPackage(t, v1alpha1.PackageSpec{}, phase("one", configMapManifest(t, ns, "a", "1"), configMapManifest(t, ns, "b", "1")))
	eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
	since := time.Now()
	changed := configMap(t, ns, "a")
	changed.Data["value"], changed.Data["foreign"] = "drift", "kept"
	must(t, admin.Update(t.Context(), changed))
	planetest.Eventually(t, "the drift to be repaired", func() (bool, error) {
		return configMap(t, ns, "a").Data["value"] == "1", nil
	})
	if got := configMap(t, ns, "a").Data["foreign"]; got != "kept" {
		t.Errorf("the foreign key is %q, want kept", got)
	}
	removed := configMap(t, ns, "b")
	removed.Labels, removed.OwnerReferences = nil, nil
	must(t, admin.Update(t.Context(), removed))
	planetest.Eventually(t, "label and owner reference to come back", func() (bool, error) {
		b := configMap(t, ns, "b")
		return b.Labels[v1alpha1.LabelPackage] == pkg.Name && metav1.IsControlledBy(b, pkg), nil
	})
	counts := map[string]int{}
	for _, e := range requests(t, since) {
		if e.Namespace == ns && e.Verb == "patch" && e.Code < 300 {
			counts[e.Name]++
		}
	}
	if counts["a"] != 1 || counts["b"] != 1 {
		t.Errorf("repairing two objects took, want one write each:%s", describe(counts))
	}
}

// TestRollback: the request makes a new revision with the old content, is
// answered once, and a request that cannot be met is refused with the reason.
func TestRollback(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	pkg := newPackage(t, v1alpha1.PackageSpec{}, phase("one", configMapManifest(t, ns, "a", "1")))
	eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
	newRevision(t, pkg, 2, phase("one", configMapManifest(t, ns, "a", "2")))
	eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionProgressing, v1alpha1.ReasonArchived)
	requestRollback(t, pkg.Name, v1alpha1.Rollback{ToRevision: 7, RequestedAt: metav1.Now()})
	planetest.Eventually(t, "the rollback to a missing revision to be refused", func() (bool, error) {
		handled := getPackage(t, pkg.Name).Status.Rollback
		return handled != nil && handled.Revision == 0 && handled.Message != "", fmt.Errorf("status.rollback: %v", handled)
	})
	requestRollback(t, pkg.Name, v1alpha1.Rollback{ToRevision: 1, RequestedAt: metav1.NewTime(time.Now().Add(time.Second))})
	revision := eventuallyRevision(t, pkg.Name, 3, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
	if revision.Spec.Origin == nil || revision.Spec.Origin.Kind != v1alpha1.OriginRollback || revision.Spec.Origin.Reference != "Revision/"+v1alpha1.RevisionName(pkg.Name, 1) {
		t.Errorf("the origin of revision 3 is %v, want Rollback of revision 1", revision.Spec.Origin)
	}
	if got := configMap(t, ns, "a").Data["value"]; got != "1" {
		t.Errorf("the object has %s after the rollback, want 1", got)
	}
	planetest.Stays(t, 2*time.Second, "one request makes one revision", func() (bool, error) {
		return !exists(t, &v1alpha1.Revision{}, "", v1alpha1.RevisionName(pkg.Name, 4)), nil
	})
}

func requestRollback(t *testing.T, name string, request v1alpha1.Rollback) {
	t.Helper()
	pkg := getPackage(t, name)
	before := pkg.DeepCopy()
	pkg.Spec.Rollback = &request
	must(t, admin.Patch(t.Context(), pkg, client.MergeFrom(before)))
}

// TestHistory: archived revisions beyond the limit go, and numbers are never used
// again.
func TestHistory(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	limit := int32(1)
	pkg := newPackage(t, v1alpha1.PackageSpec{RevisionHistoryLimit: &limit}, phase("one", configMapManifest(t, ns, "a", "1")))
	for number := int64(2); number <= 4; number++ {
		eventuallyRevision(t, pkg.Name, number-1, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
		newRevision(t, pkg, number, phase("one", configMapManifest(t, ns, "a", fmt.Sprint(number))))
	}
	planetest.Eventually(t, "revisions 1 and 2 to be pruned", func() (bool, error) {
		list := &v1alpha1.RevisionList{}
		if err := admin.List(t.Context(), list, client.MatchingLabels{v1alpha1.LabelPackage: pkg.Name}); err != nil {
			return false, err
		}
		numbers := map[int64]bool{}
		for _, revision := range list.Items {
			numbers[revision.Spec.Revision] = true
		}
		return len(numbers) == 2 && numbers[3] && numbers[4], fmt.Errorf("revisions: %v", numbers)
	})
	planetest.Eventually(t, "the highest number to be on record", func() (bool, error) {
		got := getPackage(t, pkg.Name).Status.HighestRevision
		return got == 4, fmt.Errorf("it is %d", got)
	})
}

// TestTeardown: objects go in reverse phase order, retained ones stay.
func TestTeardown(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	held := configMapManifest(t, ns, "held", "1")
	retained := configMapManifest(t, ns, "retained", "1")
	retained.Deletion = v1alpha1.ObjectRetain
	pkg := newPackage(t, v1alpha1.PackageSpec{}, phase("one", configMapManifest(t, ns, "first", "1"), retained), phase("two", held))
	eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
	patchAs(t, configMap(t, ns, "held"), "tester", fields{"metadata": fields{"finalizers": []string{"example.com/stuck"}}})
	must(t, admin.Delete(t.Context(), pkg))
	planetest.Eventually(t, "the teardown to name the finalizer", func() (bool, error) {
		text := message(getPackage(t, pkg.Name).Status.Conditions, v1alpha1.ConditionProgressing)
		return containsAll(text, "held", "example.com/stuck"), errors.New(text)
	})
	if !exists(t, configMapType(), ns, "first") {
		t.Error("the first phase was torn down while the second still stands")
	}
	patchAs(t, configMap(t, ns, "held"), "tester", fields{"metadata": fields{"finalizers": nil}})
	planetest.Eventually(t, "the package to go", func() (bool, error) {
		return !exists(t, &v1alpha1.Package{}, "", pkg.Name), nil
	})
	if exists(t, configMapType(), ns, "first") {
		t.Error("ConfigMap first has outlived its package")
	}
	if !exists(t, configMapType(), ns, "retained") {
		t.Error("ConfigMap retained was deleted")
	}
}

// TestOrphan: released objects lose label and owner reference, and outlive the
// garbage collector.
func TestOrphan(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason  string
		policy  v1alpha1.DeletionPolicy
		options []client.DeleteOption
	}{
		"ByPolicy": {reason: "the package says so", policy: v1alpha1.DeletionPolicyOrphan},
		"ByDelete": {reason: "kubectl delete --cascade=orphan says so", options: []client.DeleteOption{client.PropagationPolicy(metav1.DeletePropagationOrphan)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			orphan(t, tc.policy, tc.options...)
		})
	}
}

func orphan(t *testing.T, policy v1alpha1.DeletionPolicy, options ...client.DeleteOption) {
	ns := planetest.Namespace(t, plane)
	pkg := newPackage(t, v1alpha1.PackageSpec{DeletionPolicy: policy}, phase("one", configMapManifest(t, ns, "a", "1")))
	eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
	must(t, admin.Delete(t.Context(), pkg, options...))
	planetest.Eventually(t, "the package to go", func() (bool, error) {
		return !exists(t, &v1alpha1.Package{}, "", pkg.Name), nil
	})
	planetest.Stays(t, 2*time.Second, "the garbage collector leaves the orphan", func() (bool, error) { return exists(t, configMapType(), ns, "a"), nil })
	object := configMap(t, ns, "a")
	if len(object.OwnerReferences) != 0 || object.Labels[v1alpha1.LabelPackage] != "" {
		t.Errorf("the orphan still has owner references %v and labels %v", object.OwnerReferences, object.Labels)
	}
}

// TestPause: a paused package is observed and not written to, and goes on where
// it stood.
func TestPause(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	pause := &v1alpha1.Pause{By: "tester", Reason: "maintenance"}
	pkg := newPackage(t, v1alpha1.PackageSpec{Paused: pause}, phase("one", configMapManifest(t, ns, "a", "1")))
	revision := eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionProgressing, v1alpha1.ReasonPaused)
	if text := message(revision.Status.Conditions, v1alpha1.ConditionProgressing); !containsAll(text, "tester", "maintenance") {
		t.Errorf("the message names not who has paused it and why: %s", text)
	}
	if exists(t, configMapType(), ns, "a") {
		t.Error("a paused package has created an object")
	}
	resumed := getPackage(t, pkg.Name)
	before := resumed.DeepCopy()
	resumed.Spec.Paused = nil
	must(t, admin.Patch(t.Context(), resumed, client.MergeFrom(before)))
	eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
}

// TestSoak: all probes have to hold for a while before a revision has succeeded,
// and the one before is archived only then.
func TestSoak(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	soak := 3 * time.Second
	pkg := newPackage(t, v1alpha1.PackageSpec{Soak: &metav1.Duration{Duration: soak}}, phase("one", configMapManifest(t, ns, "a", "1")))
	revision := eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
	held := revision.Status.SucceededAt.Sub(revision.Status.Phases[0].CompletedAt.Time)
	if held < soak {
		t.Errorf("the revision has succeeded %s after its last phase was complete, want at least %s", held, soak)
	}
}

// TestDeadline: a rollout without progress says so, and still recovers.
func TestDeadline(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	gate := deploymentManifest(t, ns, "app", badImage)
	pkg := newPackage(t, v1alpha1.PackageSpec{ProgressDeadline: &metav1.Duration{Duration: 4 * time.Second}}, phase("one", gate))
	revision := eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionProgressing, v1alpha1.ReasonProgressDeadlineExceeded)
	if text := message(revision.Status.Conditions, v1alpha1.ConditionProgressing); !containsAll(text, "4s", "Deployment "+ns+"/app") {
		t.Errorf("the message names not the deadline and the object: %s", text)
	}
	newRevision(t, pkg, 2, phase("one", deploymentManifest(t, ns, "app", goodImage)))
	eventuallyRevision(t, pkg.Name, 2, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
	eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionProgressing, v1alpha1.ReasonArchived)
}
