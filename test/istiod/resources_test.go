// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiod

import (
	"testing"

	"github.com/strata-run/strata/test/setup"
)

// filterResources: of Istio's own kinds istiod reads those that it is to take configuration from,
// and no others.
func filterResources(t *testing.T) {
	read := map[string]bool{}
	events := setup.Audit(t, plane)
	for _, e := range events {
		if e.User == istiodUser && (e.Verb == "list" || e.Verb == "watch") {
			read[e.Resource+"."+e.Group] = true
		}
	}
	for resource, want := range map[string]bool{
		"destinationrules.networking.istio.io": true, "envoyfilters.networking.istio.io": true, "wasmplugins.extensions.istio.io": true,
		"virtualservices.networking.istio.io": false, "gateways.networking.istio.io": false, "authorizationpolicies.security.istio.io": false,
		"httproutes.gateway.networking.k8s.io": true, "listenersets.gateway.networking.k8s.io": false,
	} {
		if read[resource] != want {
			t.Errorf("istiod reads %s: %t, want %t", resource, read[resource], want)
		}
	}
}
