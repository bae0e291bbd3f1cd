// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/render/kyma"
	"github.com/strata-run/strata/internal/status"
)

// Every front says that an object of its package does not stay as it is wanted.
func TestInterferenceOnFronts(t *testing.T) {
	const text = "ClusterRole agent: other keeps changing .rules of it, and repairs are slowed"
	cases := map[string]struct {
		reason     string
		value, why string
		ofIstio    string
	}{
		"Beside": {
			reason: "it serves all the same", value: "True", why: v1alpha1.ReasonInterference,
			ofIstio: "False/ReconcileFailed",
		},
		"Rights": {
			reason: "what lacks its rights does not work, and no wait mends it", value: "False", why: v1alpha1.ReasonRightsDiffer,
			ofIstio: "False/ReconcileFailed",
		},
	}
	check := func(t *testing.T, reason, want string, conditions []metav1.Condition, kind string) {
		t.Helper()
		c := meta.FindStatusCondition(conditions, kind)
		if c == nil || string(c.Status)+"/"+c.Reason != want || !strings.Contains(c.Message, text) {
			t.Errorf("%s: %s is %+v, want %s with %q", reason, kind, c, want, text)
		}
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			mesh := kymaAt(kyma.PackageIstio, v1alpha1.ReasonRolledOut, tc.value, text)
			mesh.Package.Status.Conditions[1].Reason = tc.why
			istio := kymaIstio(nil)
			status.SetKyma(istio, status.KymaState{Oldest: "default", Packages: []status.FrontPackage{kymaDone(kyma.PackageCRDs), mesh}, Now: kymaNow})
			check(t, tc.reason, tc.ofIstio, *istio.Status.Conditions, v1alpha2.ConditionReady)
			if istio.Status.State != v1alpha2.StateWarning {
				t.Errorf("%s: the state of the mesh is %s", tc.reason, istio.Status.State)
			}
		})
	}
}
