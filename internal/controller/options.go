// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/strata-run/strata/internal/front"
)

// Options are the manager's settings. The zero value is not usable: start from
// DefaultOptions.
type Options struct {
	// Fronts are those that run, of [AllFronts].
	Fronts []string

	// Settings are those of each front, by its name.
	Settings map[string]front.Settings

	// Getenv reads the environment, which fronts take settings from that no flag sets. Nil stands
	// for an empty one.
	Getenv func(name string) string

	// Namespace is the manager's own, for leases and Secrets.
	Namespace string

	// LeaderElect lets only one of several managers act.
	LeaderElect bool

	// MetricsAddress is where metrics are served; 0 serves none. Without
	// MetricsSecure it has to be a loopback address.
	MetricsAddress string

	// MetricsSecure serves metrics over HTTPS, and only to those whom the API server
	// knows and lets get the path /metrics.
	MetricsSecure bool

	// MetricsCertificates is a folder with tls.crt and tls.key for MetricsSecure. They
	// are read again when they change. Empty, or a folder without them at the start, stands
	// for a certificate that the manager signs itself.
	MetricsCertificates string

	// HealthAddress is where /healthz and /readyz are served; 0 serves none.
	HealthAddress string
}

// AllFronts are the names of the fronts that there are: each is about one kind of custom
// resource, and waits for its definition.
var AllFronts = namesOf(Fronts)

func namesOf(fronts []front.Registration) []string {
	var names []string
	for _, f := range fronts {
		names = append(names, f.Name)
	}
	return names
}

// DefaultOptions are the settings of a manager without flags.
func DefaultOptions() Options {
	o := Options{
		Fronts:         slices.Clone(AllFronts),
		Settings:       map[string]front.Settings{},
		Namespace:      "strata-system",
		LeaderElect:    true,
		MetricsAddress: "127.0.0.1:8080",
		HealthAddress:  "127.0.0.1:8081",
	}
	for _, f := range Fronts {
		o.Settings[f.Name] = f.Settings()
	}
	return o
}

// RunningFronts are those that a manager with these arguments runs.
func RunningFronts(args []string) []string {
	o := DefaultOptions()
	flags := pflag.NewFlagSet("manager", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true // those of the command, and of other versions
	o.AddFlags(flags)
	if err := flags.Parse(args); err != nil {
		return AllFronts // they may run, for all that is known
	}
	off := func(name string) bool {
		return slices.ContainsFunc(Fronts, func(f front.Registration) bool { return f.Name == name && f.Off != nil && f.Off(o.Settings[name]) })
	}
	return slices.DeleteFunc(o.Fronts, off)
}

// Validate completes the settings of fronts, and says which setting cannot work, and what would.
func (o Options) Validate() error {
	for _, name := range o.Fronts {
		if !slices.Contains(AllFronts, name) {
			return fmt.Errorf("--fronts: unknown front %.50q: use %s", name, strings.Join(AllFronts, ", "))
		}
	}
	if o.MetricsAddress != "0" && !o.MetricsSecure && !isLoopback(o.MetricsAddress) {
		return fmt.Errorf("--metrics-bind-address %s would show metrics to everyone who can reach it: add --metrics-secure, or take a loopback address such as 127.0.0.1:8080", o.MetricsAddress)
	}
	getenv := o.Getenv
	if getenv == nil {
		getenv = func(string) string { return "" }
	}
	for _, f := range Fronts {
		if err := o.Settings[f.Name].Complete(getenv); err != nil {
			return err
		}
	}
	if o.Namespace == "" {
		return fmt.Errorf("--namespace is required: the lease and the Secrets of revisions live there")
	}
	return nil
}

// isLoopback says whether only this machine can reach an address.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
