// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

// podDisruptionBudgetReady asks that the disruption controller has seen the budget.
// Whether a disruption is allowed at present says nothing about the budget itself.
func podDisruptionBudgetReady(content map[string]any) Result {
	return observed(content)
}
