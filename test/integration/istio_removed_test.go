// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"testing"

	"github.com/strata-run/strata/internal/front/gatewayclass"
)

// The other remedy: the CRDs of a third party are removed.
func TestIstioCRDs_Removed(t *testing.T) {
	withGatewayKinds(t)
	arrangeIstioCRDs(t, nil)
	const class = "removed"
	newClass(t, class, nil)
	eventuallyCondition(t, class, gatewayclass.ConditionCRDsReady, "False/UnknownManagement")
	deleteIstioCRDs(t)
	patiently(t, "the CRDs to be ours", func() bool {
		return conditionOf(t, class, gatewayclass.ConditionCRDsReady).Reason == gatewayclass.ReasonManagedByCIO
	})
	checkOurs(t, "1.29")
	deleteClass(t, class)
	withoutIstioCRDs(t) // others begin without
}
