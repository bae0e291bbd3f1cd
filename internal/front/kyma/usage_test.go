// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package kyma

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/internal/telemetry"
)

func TestUsedBy(t *testing.T) {
	yes, no, zero, two := true, false, 0, 2
	usual, other, slash, sanitize := "cluster.local", "example.com", "/", v1alpha2.Sanitize
	second := &metav1.Duration{Duration: time.Second}
	cases := map[string]struct {
		reason string
		spec   *v1alpha2.IstioSpec
		want   *telemetry.Mesh
	}{
		"None":  {reason: "there is no resource"},
		"Empty": {reason: "nothing is set", spec: &v1alpha2.IstioSpec{}, want: &telemetry.Mesh{}},
		"Defaults": {
			reason: "what is set to the default counts as not set", want: &telemetry.Mesh{},
			spec: &v1alpha2.IstioSpec{
				Config:     v1alpha2.Config{NumTrustedProxies: &zero, TrustDomain: &usual, EnableDNSProxying: &no},
				Components: &v1alpha2.Components{EgressGateway: &v1alpha2.EgressGateway{Enabled: &no}},
			},
		},
		"NoSwitch": {reason: "an egress gateway that is only configured", spec: &v1alpha2.IstioSpec{Components: &v1alpha2.Components{EgressGateway: &v1alpha2.EgressGateway{}}}, want: &telemetry.Mesh{}},
		"All": {
			reason: "everything",
			spec: &v1alpha2.IstioSpec{
				Config: v1alpha2.Config{
					NumTrustedProxies: &two, TrustDomain: &other, EnableDNSProxying: &yes, ForwardClientCertDetails: &sanitize,
					Telemetry:   v1alpha2.Telemetry{Metrics: v1alpha2.Metrics{PrometheusMerge: true}},
					Authorizers: []*v1alpha2.Authorizer{{Timeout: second}, {Timeout: second, PathPrefix: &slash}, {}, nil},
				},
				Components:        &v1alpha2.Components{EgressGateway: &v1alpha2.EgressGateway{Enabled: &yes}},
				CompatibilityMode: true, NetworkPoliciesEnabled: true,
			},
			want: &telemetry.Mesh{
				CompatibilityMode: true, DNSProxying: true, EgressGateway: true, NetworkPolicies: true, PrometheusMerge: true, TrustedProxies: true, TrustDomain: true,
				Authorizers: 4, WithTimeout: 2, WithPathPrefix: 1, ForwardClientCert: "SANITIZE",
			},
		},
	}
	for name, tc := range cases {
		var istio *v1alpha2.Istio
		if tc.spec != nil {
			istio = &v1alpha2.Istio{Spec: *tc.spec}
		}
		if diff := cmp.Diff(tc.want, usedBy(istio)); diff != "" {
			t.Errorf("%s: %s\n%s", name, tc.reason, diff)
		}
	}
}
