// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/localplane/planetest"
)

// TestJobWithTTL: a Job that Kubernetes' own controller deletes when it has completed runs
// once for its content, and again for the next.
func TestJobWithTTL(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	job := func(value string) v1alpha1.Phase {
		return phase("one", manifests(t, ns, strings.NewReplacer("VALUE", value, "IMAGE", goodImage).Replace(`
apiVersion: batch/v1
kind: Job
metadata: {name: migrate, namespace: NS}
spec:
  ttlSecondsAfterFinished: 1
  template: {spec: {restartPolicy: Never, containers: [{name: main, image: IMAGE, args: ["VALUE"]}]}}
`))...)
	}
	created := func(since time.Time) int {
		count := 0
		for _, e := range requests(t, since) {
			if e.Namespace == ns && e.Resource == "jobs" && e.Code == 201 {
				count++
			}
		}
		return count
	}
	gone := func() (bool, error) {
		err := admin.Get(t.Context(), types.NamespacedName{Namespace: ns, Name: "migrate"}, &batchv1.Job{})
		return apierrors.IsNotFound(err), err
	}
	since := time.Now()
	pkg := newPackage(t, v1alpha1.PackageSpec{}, job("1"))
	eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
	planetest.Eventually(t, "the Job to be deleted", gone)
	planetest.Stays(t, 5*time.Second, "the Job is created once", func() (bool, error) {
		count := created(since)
		return count == 1, fmt.Errorf("it was created %d times", count)
	})
	if found := getRevision(t, pkg.Name, 1).Status.Interference; len(found) > 0 {
		t.Errorf("its deletion is reported as interference: %+v", found)
	}
	newRevision(t, pkg, 2, job("2"))
	eventuallyRevision(t, pkg.Name, 2, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
	if count := created(since); count != 2 {
		t.Errorf("the Job was created %d times for two contents", count)
	}
}

// TestAggregatedClusterRole: the rules of a ClusterRole that Kubernetes' own controller
// aggregates are left to it, also where the manifest has them empty, and nothing is written
// at rest.
func TestAggregatedClusterRole(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	pkg := newPackage(t, v1alpha1.PackageSpec{}, phase("one", manifests(t, ns, `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: NS-part, labels: {NS: part}}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: NS-whole}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {NS: part}}]}
rules: []
`)...))
	eventuallyRevision(t, pkg.Name, 1, v1alpha1.ConditionSucceeded, v1alpha1.ReasonRolloutSuccess)
	whole := func() []rbacv1.PolicyRule {
		role := &rbacv1.ClusterRole{}
		must(t, admin.Get(t.Context(), types.NamespacedName{Name: ns + "-whole"}, role))
		return role.Rules
	}
	planetest.Eventually(t, "the rules to be aggregated", func() (bool, error) { return len(whole()) == 1, nil })
	pastLastWrite(t, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: ns + "-whole"}})
	since := time.Now()
	patchAs(t, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: ns + "-part"}}, "kubectl-edit", fields{"metadata": fields{"annotations": fields{"note": "x"}}})
	planetest.Stays(t, 3*time.Second, "the rules stay", func() (bool, error) {
		rules := whole()
		return len(rules) == 1, fmt.Errorf("the rules are %v", rules)
	})
	writes := 0
	for _, e := range requests(t, since) {
		if e.Resource == "clusterroles" && strings.HasPrefix(e.Name, ns) && e.Verb != "get" {
			writes++
		}
	}
	if found := getRevision(t, pkg.Name, 1).Status.Interference; writes > 0 || len(found) > 0 {
		t.Errorf("%d writes at rest, and %+v", writes, found)
	}
}
