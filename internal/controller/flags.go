// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"strings"

	"github.com/spf13/pflag"
)

// AddFlags adds a flag for each setting, with its present value as default.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	fs.StringSliceVar(&o.Fronts, "fronts", o.Fronts, "fronts that run, of "+strings.Join(AllFronts, ", ")+"; empty for none")
	for _, f := range Fronts {
		o.Settings[f.Name].AddFlags(fs)
	}
	fs.StringVar(&o.Namespace, "namespace", o.Namespace, "the manager's own namespace, for its lease and Secrets")
	fs.BoolVar(&o.LeaderElect, "leader-elect", o.LeaderElect, "let only one of several managers act")
	fs.StringVar(&o.MetricsAddress, "metrics-bind-address", o.MetricsAddress, "address to serve metrics on; 0 serves none")
	fs.BoolVar(&o.MetricsSecure, "metrics-secure", o.MetricsSecure, "serve metrics over HTTPS, to those who may get /metrics")
	fs.StringVar(&o.MetricsCertificates, "metrics-cert-dir", o.MetricsCertificates, "folder with tls.crt and tls.key for --metrics-secure; without them the manager makes a certificate of its own")
	fs.StringVar(&o.HealthAddress, "health-probe-bind-address", o.HealthAddress, "address to serve /healthz and /readyz on; 0 serves none")
}
