// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package kyma_test

import (
	"strings"
	"testing"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front"
	"github.com/strata-run/strata/internal/front/kyma"
	"github.com/strata-run/strata/internal/front/kyma/servicemesh"
	"github.com/strata-run/strata/internal/status/statustest"
)

// The status says that an object of the mesh does not stay as it is wanted.
func TestSetStatus_Interference(t *testing.T) {
	const text = "ClusterRole agent: other keeps changing .rules of it, and repairs are slowed"
	for why, value := range map[string]string{v1alpha1.ReasonInterference: "True", v1alpha1.ReasonRightsDiffer: "False"} {
		mesh := kymaAt(servicemesh.PackageIstio, v1alpha1.ReasonRolledOut, value, text)
		mesh.Package.Status.Conditions[1].Reason = why
		istio := kymaIstio(nil)
		kyma.SetStatus(istio, kyma.State{Oldest: "default", Packages: []front.Package{kymaDone(servicemesh.PackageCRDs), mesh}, Now: kymaNow})
		got := statustest.Text(*istio.Status.Conditions, v1alpha2.ConditionReady)
		if !strings.HasPrefix(got, "False/ReconcileFailed: ") || !strings.Contains(got, text) || istio.Status.State != v1alpha2.StateWarning {
			t.Errorf("%s gives %s and the state %s, want a warning with %q", why, got, istio.Status.State, text)
		}
	}
}
