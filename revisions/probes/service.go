// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

// serviceReady asks a Service of type LoadBalancer for an address. A Service of any
// other type needs nothing; whether it has endpoints is its pods' business.
func serviceReady(content map[string]any) Result {
	if stringAt(content, "spec", "type") != "LoadBalancer" {
		return Result{Status: True}
	}
	for _, entry := range listAt(content, "status", "loadBalancer", "ingress") {
		ingress, _ := entry.(map[string]any)
		if stringAt(ingress, "ip") != "" || stringAt(ingress, "hostname") != "" {
			return Result{Status: True}
		}
	}
	return Result{Status: False, Message: ".status.loadBalancer.ingress has no address yet"}
}
