// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	"cmp"
	"slices"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
)

// Running is the IstioCSR that the cluster's agent runs for: the oldest, and of those
// of the same second the first by namespace. Nil when there is none. The others take
// its place, in this order, when it goes.
func Running(all []*operatorv1alpha1.IstioCSR) *operatorv1alpha1.IstioCSR {
	if len(all) == 0 {
		return nil
	}
	return slices.MinFunc(all, func(a, b *operatorv1alpha1.IstioCSR) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Namespace, b.Namespace))
	})
}
