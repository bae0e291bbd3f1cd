// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/localplane/planetest"
)

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
	since := time.Now()
	patchAs(t, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: ns + "-part"}}, "kubectl-edit", fields{"metadata": fields{"annotations": fields{"note": "x"}}})
	for range 30 {
		if rules := whole(); len(rules) != 1 {
			t.Fatalf("the rules are %v", rules)
		}
		time.Sleep(100 * time.Millisecond)
	}
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
