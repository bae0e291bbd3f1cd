// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package servicemesh

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
)

// The resource owns all that stands beside it and is not Istio's, and nothing that is not there.
func TestDependents(t *testing.T) {
	cases := map[string]string{
		"Everything": "networkPoliciesEnabled: true\ncomponents: {egressGateway: {enabled: true}}\nexperimental: {enableAmbient: true}",
		"Nothing":    "",
	}
	for name, spec := range cases {
		in := input(t, spec)
		in.Settings.Experimental = true
		in.Cluster.VPA, in.Cluster.Features.EnableControlPlaneVPA, in.Cluster.Provider = true, true, ProviderOpenStack
		var want, got []Dependent
		for _, pkg := range mustRender(t, in) {
			for _, phase := range pkg.Phases {
				for _, o := range phase.Objects {
					kind := o.Manifest.GroupVersionKind()
					if o.Manifest.GetNamespace() == v1alpha2.Namespace && !strings.HasSuffix(kind.Group, ".istio.io") {
						d := Dependent{GroupVersionKind: kind}
						d.Key.Namespace, d.Key.Name = o.Manifest.GetNamespace(), o.Manifest.GetName()
						want = append(want, d)
					}
				}
			}
		}
		if got = Dependents(in.Istio); !slices.Equal(want, got) {
			t.Errorf("%s\n%s", name, cmp.Diff(want, got))
		}
	}
	if len(Dependents(mesh(t, "networkPoliciesEnabled: true"))) == 0 {
		t.Error("nothing is owned by the resource")
	}
}
