// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

// customResourceDefinitionReady asks that the API server serves the resource and
// that its names are its own: Established stays True when a second definition takes
// a name away, so both conditions count.
func customResourceDefinitionReady(content map[string]any) Result {
	if conditionOf(content, "Terminating").status == string(True) {
		return Result{Status: False, Message: "the definition is being deleted"}
	}
	if names := conditionTrue(content, "NamesAccepted"); names.Status == False {
		return names
	}
	return conditionTrue(content, "Established")
}

// apiServiceReady asks that the aggregator reaches the server behind the API.
func apiServiceReady(content map[string]any) Result {
	return conditionTrue(content, "Available")
}
