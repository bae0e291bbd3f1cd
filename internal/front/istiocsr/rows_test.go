// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/internal/front/istiocsr"
	"github.com/strata-run/strata/internal/status/statustest"
)

// What the reference says is what may be said.
func TestRows(t *testing.T) {
	for _, row := range istiocsr.Rows() {
		c := metav1.Condition{Type: row.Condition, Status: metav1.ConditionStatus(row.Status), Reason: row.Reason, Message: row.Message, ObservedGeneration: 1, LastTransitionTime: at(1)}
		for _, problem := range statustest.Problems(istiocsr.Rows().Statuses(), 1, []metav1.Condition{c}) {
			t.Errorf("%s: %s", row.When, problem)
		}
		if row.When == "" {
			t.Errorf("%s %s does not say when", row.Condition, row.Reason)
		}
	}
	statustest.DeclaredIn(t, istiocsr.Rows().Statuses(), "../../../api/operator.openshift.io/v1alpha1/conditions.go")
}
