// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

// namespaceReady asks that the namespace is active. The API server writes that when
// it creates it.
func namespaceReady(content map[string]any) Result {
	return phaseReady(content, "Active")
}

// phaseReady asks for one value of .status.phase.
func phaseReady(content map[string]any, want string) Result {
	switch phase := stringAt(content, "status", "phase"); phase {
	case want:
		return Result{Status: True}
	case "":
		return Result{Status: Unknown, Message: ".status.phase is missing"}
	default:
		return NewResult(False, ".status.phase is "+describe(phase)+", expected "+describe(want))
	}
}
