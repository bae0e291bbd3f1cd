// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
)

func TestMarkStuck(t *testing.T) {
	deleted := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	minutes := func(n int) *metav1.Duration { return &metav1.Duration{Duration: time.Duration(n) * time.Minute} }
	cases := map[string]struct {
		reason    string
		deadline  *metav1.Duration
		condition string
		after     time.Duration
		want      string
	}{
		"InTime":     {reason: "a teardown takes its time", deadline: minutes(10), condition: v1alpha1.ReasonTearingDown, after: 10 * time.Minute, want: v1alpha1.ReasonTearingDown},
		"Late":       {reason: "but not for ever", deadline: minutes(10), condition: v1alpha1.ReasonTearingDown, after: 11 * time.Minute, want: v1alpha1.ReasonTeardownStuck},
		"NoDeadline": {reason: "without a deadline nothing is late", condition: v1alpha1.ReasonTearingDown, after: time.Hour, want: v1alpha1.ReasonTearingDown},
		"Denied":     {reason: "a better reason stays", deadline: minutes(10), condition: v1alpha1.ReasonPermissionDenied, after: time.Hour, want: v1alpha1.ReasonPermissionDenied},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pkg := &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &deleted}, Spec: v1alpha1.PackageSpec{ProgressDeadline: tc.deadline}}
			pkg.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionProgressing, Reason: tc.condition, Message: "waits for x"}}
			markStuck(pkg, pkg.Status, metav1.NewTime(deleted.Add(tc.after)))
			if got := pkg.Status.Conditions[0]; got.Reason != tc.want || !strings.HasSuffix(got.Message, "waits for x") {
				t.Errorf("%s: %s: %s, want %s", tc.reason, got.Reason, got.Message, tc.want)
			}
		})
	}
}
