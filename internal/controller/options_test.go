// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/strata-run/strata/internal/front/gateway"
)

// TestOptions_Metrics: metrics tell who runs what, and are not for everyone.
func TestOptions_Metrics(t *testing.T) {
	cases := map[string]struct {
		reason, address string
		secure, valid   bool
	}{
		"Default":   {reason: "loopback is for this machine only", address: DefaultOptions().MetricsAddress, valid: true},
		"Loopback6": {reason: "in IPv6, too", address: "[::1]:8080", valid: true},
		"None":      {reason: "no metrics are no risk", address: "0", valid: true},
		"Everyone":  {reason: "no address is every address", address: ":8443"},
		"Other":     {reason: "others can reach it", address: "10.0.0.1:8443"},
		"Nonsense":  {reason: "what is no address is not loopback", address: "loopback"},
		"Secure":    {reason: "who may read is asked", address: ":8443", secure: true, valid: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := DefaultOptions()
			o.MetricsAddress, o.MetricsSecure = tc.address, tc.secure
			if err := o.Validate(); (err == nil) != tc.valid {
				t.Errorf("%s: %v", tc.reason, err)
			}
		})
	}
}

// TestOptions_ClusterResourceNamespace: without one no Secret of a ClusterIssuer would be
// found, and each IstioCSR would be told of a trouble of the API.
func TestOptions_ClusterResourceNamespace(t *testing.T) {
	for namespace, valid := range map[string]bool{"cert-manager": true, "": false, "a/b": false, "A": false} {
		o := DefaultOptions()
		o.ClusterResourceNamespace = namespace
		if err := o.Validate(); (err == nil) != valid {
			t.Errorf("%q: %v", namespace, err)
		}
	}
}

func TestOptions_IstioResources(t *testing.T) {
	for resources, valid := range map[string]bool{"": true, "all": true, "envoyfilters.networking.istio.io": true, "envoyfilters": false, "all,envoyfilters.networking.istio.io": false} {
		o := DefaultOptions()
		o.IstioResources = strings.FieldsFunc(resources, func(r rune) bool { return r == ',' })
		if err := o.Validate(); (err == nil) != valid {
			t.Errorf("--istio-resources=%s: %v, want it valid: %t", resources, err, valid)
		}
	}
}

func TestOptions_DNSRecordFinalizer(t *testing.T) {
	for finalizer, valid := range map[string]bool{"": true, gateway.NoFinalizer: true, gateway.DefaultFinalizer: true, "dns": false, "example.com/": false, "a b/c": false} {
		o := DefaultOptions()
		o.DNSRecordFinalizer = finalizer
		if err := o.Validate(); (err == nil) != valid {
			t.Errorf("finalizer %q: error %v, want valid: %t", finalizer, err, valid)
		}
	}
}

// TestOptions_Fronts: each front has its switch, and a manager may have none.
func TestOptions_Fronts(t *testing.T) {
	cases := map[string]struct {
		args  []string
		want  []string
		valid bool
	}{
		"Default":    {want: AllFronts, valid: true},
		"None":       {args: []string{"--fronts="}, valid: true},
		"Components": {args: []string{"--fronts=", "--fronts=kyma", "--fronts=istiocsr"}, want: []string{"kyma", "istiocsr"}, valid: true},
		"Unknown":    {args: []string{"--fronts=istio"}, want: []string{"istio"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := DefaultOptions()
			flags := pflag.NewFlagSet("manager", pflag.ContinueOnError)
			o.AddFlags(flags)
			if err := flags.Parse(tc.args); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(o.Fronts, tc.want) {
				t.Errorf("the fronts are %v, want %v", o.Fronts, tc.want)
			}
			if err := o.Validate(); (err == nil) != tc.valid {
				t.Errorf("got error %v, want valid: %t", err, tc.valid)
			}
		})
	}
}
