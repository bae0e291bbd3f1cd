// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayclass

import (
	"fmt"
	"slices"
	"strings"

	"github.com/strata-run/strata/internal/istio"
)

// AllResources as the only one of [Input.Resources] stands for every kind of Istio.
const AllResources = "all"

// DefaultResources are the kinds of Istio that istiod takes configuration from besides Gateway
// API: those that OpenShift's layered products need.
func DefaultResources() []string {
	return []string{"destinationrules.networking.istio.io", "envoyfilters.networking.istio.io", "wasmplugins.extensions.istio.io"}
}

// CheckResources says what is wrong with kinds that istiod is to take configuration from.
func CheckResources(resources []string) error {
	if slices.Equal(resources, []string{AllResources}) {
		return nil
	}
	for _, name := range resources {
		if !slices.Contains(istio.CRDNames(), name) {
			return fmt.Errorf("%.100q is not a CustomResourceDefinition of Istio: there are %s, or %s alone for all", name, strings.Join(istio.CRDNames(), ", "), AllResources)
		}
	}
	return nil
}

// filterResources has istiod leave ListenerSets alone, and the kinds of Istio that it is not to
// take configuration from: any user may create these, and the gateways are the platform's.
func filterResources(env map[string]any, in Input, r *istio.Release) {
	if !abilitiesOf(r).ignoresResources {
		return
	}
	const listenerSets = "listenersets.gateway.networking.k8s.io"
	included := in.Resources
	if included == nil {
		included = DefaultResources()
	}
	if slices.Equal(included, []string{AllResources}) {
		env["PILOT_IGNORE_RESOURCES"] = listenerSets
		return
	}
	env["PILOT_IGNORE_RESOURCES"] = "*.istio.io," + listenerSets
	if len(included) > 0 {
		env["PILOT_INCLUDE_RESOURCES"] = strings.Join(slices.Sorted(slices.Values(included)), ",")
	}
}
