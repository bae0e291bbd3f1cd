// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
)

// markStuck says in the status of a package that is being deleted that this takes
// longer than the package's progressDeadline. Without a deadline it never does.
func markStuck(pkg *v1alpha1.Package, next v1alpha1.PackageStatus, now metav1.Time) {
	c := meta.FindStatusCondition(next.Conditions, v1alpha1.ConditionProgressing)
	deadline := pkg.Spec.ProgressDeadline
	if c == nil || c.Reason != v1alpha1.ReasonTearingDown || pkg.DeletionTimestamp.IsZero() || deadline == nil || deadline.Duration <= 0 {
		return
	}
	if now.Sub(pkg.DeletionTimestamp.Time) <= deadline.Duration {
		return
	}
	c.Reason = v1alpha1.ReasonTeardownStuck
	c.Message = bound(fmt.Sprintf("not gone after %s: %s", deadline.Duration, c.Message), conditionMessageLimit)
}
