// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"slices"
	"testing"

	"github.com/spf13/pflag"
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

// TestRunningFronts: a front runs when --fronts names it, and its own settings do not switch it off.
func TestRunningFronts(t *testing.T) {
	byDefault := slices.DeleteFunc(slices.Clone(AllFronts), func(name string) bool { return name == "clusterextension" })
	cases := map[string]struct {
		args, want []string
	}{
		"Default":       {want: byDefault},
		"SwitchedOn":    {args: []string{"--clusterextensions=on"}, want: AllFronts},
		"NamedAndOff":   {args: []string{"--fronts=", "--fronts=kyma,clusterextension", "--clusterextensions", "off"}, want: []string{"kyma"}},
		"Component":     {args: []string{"--fronts=", "--fronts=clusterextension", "--clusterextensions=on"}, want: []string{"clusterextension"}},
		"None":          {args: []string{"--fronts="}},
		"OtherFlags":    {args: []string{"-v=2", "--of-tomorrow=1", "--fronts=kyma"}, want: []string{"kyma"}},
		"NotUnderstood": {args: []string{"--leader-elect=maybe", "--fronts=kyma"}, want: AllFronts},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := RunningFronts(tc.args); !slices.Equal(got, tc.want) {
				t.Errorf("the fronts %v run, want %v", got, tc.want)
			}
		})
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
		"Components": {args: []string{"--fronts=", "--fronts=" + AllFronts[1], "--fronts=" + AllFronts[0]}, want: []string{AllFronts[1], AllFronts[0]}, valid: true},
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
