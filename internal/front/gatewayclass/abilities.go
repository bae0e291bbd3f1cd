// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayclass

import "github.com/strata-run/strata/internal/istio"

// abilities are what of istiod differs between its versions.
type abilities struct {
	// ignoresResources says whether it reads PILOT_IGNORE_RESOURCES and
	// PILOT_INCLUDE_RESOURCES.
	ignoresResources bool

	// gatewaysMinimumTLS says whether the minimum version of TLS can be set for gateways.
	// Istio 1.28 takes the number of its own enumeration for Envoy's, and so 1.2 for
	// 1.0.
	gatewaysMinimumTLS bool

	// minimumTLSVersion says whether it knows the argument --tls-min-version.
	minimumTLSVersion bool

	// sideBySide says whether a Gateway may be moved from it to another istiod. Older
	// ones drop the configuration of a Gateway as soon as its label names another
	// revision, before its pods have connected to that (Istio's issue 60158).
	sideBySide bool
}

// abilitiesOf are those of a release. A newer minor is taken to have what the one
// before has.
func abilitiesOf(r *istio.Release) abilities {
	switch r.Minor() {
	case "1.28":
		return abilities{}
	case "1.29":
		return abilities{ignoresResources: true, gatewaysMinimumTLS: true}
	default:
		return abilities{ignoresResources: true, gatewaysMinimumTLS: true, minimumTLSVersion: true, sideBySide: true}
	}
}
