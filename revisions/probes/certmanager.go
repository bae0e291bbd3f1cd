// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

// certManagerReady asks for the condition Ready. cert-manager writes the generation
// that it observed into the condition, so a Certificate that was changed is Unknown
// until it is checked again.
func certManagerReady(content map[string]any) Result {
	return conditionTrue(content, "Ready")
}
