// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package kyma

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/strata-run/strata/internal/front/kyma/servicemesh"
	"github.com/strata-run/strata/internal/istio"
)

// Options are the settings of the front. The zero value is not usable: start from
// [DefaultOptions].
type Options struct {
	// IstioVersion is the version that an Istio resource gets: one that is in the binary,
	// such as 1.31. The version gate compares it with what is installed.
	IstioVersion string

	// Experimental lets Istio resources set spec.experimental.
	Experimental bool

	// Interval is how often a mesh is checked without any news.
	Interval time.Duration

	// RestartLimit is how many workloads may roll out at a time when their proxies are
	// outdated, and RestartDeadline how long one may take until restarts stop.
	RestartLimit    int
	RestartDeadline time.Duration

	// rendering are what rendering needs of the options and the environment.
	rendering servicemesh.Settings
}

// DefaultOptions are the settings without flags.
func DefaultOptions() Options {
	return Options{IstioVersion: istio.Newest().Minor(), Interval: 10 * time.Hour, RestartLimit: 5, RestartDeadline: 15 * time.Minute}
}

// AddFlags implements [front.Settings].
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.IstioVersion, "kyma-istio-version", o.IstioVersion, "Istio version for the Istio resource of Kyma")
	fs.BoolVar(&o.Experimental, "kyma-experimental", o.Experimental, "let the Istio resource of Kyma set spec.experimental")
	fs.DurationVar(&o.Interval, "kyma-reconciliation-interval", o.Interval, "how often the mesh of Kyma is reconciled without any event")
	fs.IntVar(&o.RestartLimit, "kyma-restart-limit", o.RestartLimit, "how many workloads with an outdated proxy are restarted at a time")
	fs.DurationVar(&o.RestartDeadline, "kyma-restart-deadline", o.RestartDeadline, "how long a restarted workload may take to become ready before restarts in its namespace stop")
}

// Complete implements [front.Settings]. The environment names images.
func (o *Options) Complete(getenv func(name string) string) error {
	if o.Interval < time.Second {
		return fmt.Errorf("--kyma-reconciliation-interval is %s: it must be a second or longer", o.Interval)
	}
	if o.RestartLimit < 1 {
		return fmt.Errorf("--kyma-restart-limit is %d: it must be 1 or more", o.RestartLimit)
	}
	if o.RestartDeadline < time.Second {
		return fmt.Errorf("--kyma-restart-deadline is %s: it must be a second or longer", o.RestartDeadline)
	}
	release, ok := istio.Resolve(o.IstioVersion)
	if !ok {
		return fmt.Errorf("--kyma-istio-version %q is not in the manager: set it to one of %s", o.IstioVersion, knownVersions())
	}
	settings, err := servicemesh.SettingsFrom(getenv, release)
	if err != nil {
		return fmt.Errorf("reading the images of the mesh of Kyma: %w", err)
	}
	settings.Experimental = o.Experimental
	o.rendering = settings
	return nil
}

// knownVersions are those of Istio in the binary.
func knownVersions() string {
	var all []string
	for _, r := range istio.Releases() {
		all = append(all, r.Minor())
	}
	return strings.Join(all, ", ")
}
