// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/strata-run/strata/internal/localplane/planetest"
	"github.com/strata-run/strata/revisions/revisionstest"
)

// TestConformance: the API server does what the engine relies on, such as a create
// by an apply with an impossible resourceVersion, which no contract promises.
func TestConformance(t *testing.T) {
	t.Parallel()
	ns := planetest.Namespace(t, plane)
	// managedFields tell time in seconds.
	reported, err := revisionstest.Conform(t.Context(), admin, admin, ns, planetest.NextSecond)
	must(t, err)
	if diff := cmp.Diff(revisionstest.Conformance, reported); diff != "" {
		t.Errorf("the API server does not do what the engine relies on (-want +got):\n%s", diff)
	}
}
