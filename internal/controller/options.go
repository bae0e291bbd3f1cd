// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/strata-run/strata/internal/render/gatewayclass"
)

// Options are the manager's settings. The zero value is not usable: start from
// DefaultOptions.
type Options struct {
	// IstioVersion is what a GatewayClass gets that asks for no other: a version
	// that is in the binary, such as 1.31.
	IstioVersion string

	// Namespace is the manager's own, for leases and Secrets.
	Namespace string

	// LeaderElect lets only one of several managers act.
	LeaderElect bool

	// MetricsAddress is where metrics are served; 0 serves none.
	MetricsAddress string

	// HealthAddress is where /healthz and /readyz are served; 0 serves none.
	HealthAddress string
}

// DefaultOptions are the settings of a manager without flags.
func DefaultOptions() Options {
	return Options{
		IstioVersion:   "1.31",
		Namespace:      "strata-system",
		LeaderElect:    true,
		MetricsAddress: "127.0.0.1:8080",
		HealthAddress:  "127.0.0.1:8081",
	}
}

// AddFlags adds a flag for each setting, with its present value as default.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.IstioVersion, "istio-version", o.IstioVersion, "Istio version for a GatewayClass that asks for no other")
	fs.StringVar(&o.Namespace, "namespace", o.Namespace, "the manager's own namespace, for its lease and Secrets")
	fs.BoolVar(&o.LeaderElect, "leader-elect", o.LeaderElect, "let only one of several managers act")
	fs.StringVar(&o.MetricsAddress, "metrics-bind-address", o.MetricsAddress, "address to serve metrics on; 0 serves none")
	fs.StringVar(&o.HealthAddress, "health-probe-bind-address", o.HealthAddress, "address to serve /healthz and /readyz on; 0 serves none")
}

// Validate says which setting cannot work, and what would.
func (o Options) Validate() error {
	if _, err := gatewayclass.AppVersion(o.IstioVersion); err != nil {
		return fmt.Errorf("--istio-version: %w", err)
	}
	if o.LeaderElect && o.Namespace == "" {
		return fmt.Errorf("--namespace is required with --leader-elect: the lease lives there")
	}
	return nil
}
