// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istio

// CRDNames are the names of the CustomResourceDefinitions of all Istio versions in the binary,
// sorted. Those of one version are [Release.CRDNames].
func CRDNames() []string {
	return []string{
		"authorizationpolicies.security.istio.io",
		"destinationrules.networking.istio.io",
		"envoyfilters.networking.istio.io",
		"gateways.networking.istio.io",
		"peerauthentications.security.istio.io",
		"proxyconfigs.networking.istio.io",
		"requestauthentications.security.istio.io",
		"serviceentries.networking.istio.io",
		"sidecars.networking.istio.io",
		"telemetries.telemetry.istio.io",
		"trafficextensions.extensions.istio.io",
		"virtualservices.networking.istio.io",
		"wasmplugins.extensions.istio.io",
		"workloadentries.networking.istio.io",
		"workloadgroups.networking.istio.io",
	}
}
