// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

// Events of workloads that are restarted for their proxies.
const (
	// ReasonRestartedForProxy (Normal, on a workload): it was restarted, as its proxies are
	// outdated. The note names the causes.
	ReasonRestartedForProxy = "RestartedForProxy"

	// ReasonRestartFailed (Warning, on a workload): it does not come up after such a restart.
	// No other workload of its namespace is restarted until it does, and none at all if it belongs
	// to the mesh.
	ReasonRestartFailed = "RestartFailed"

	// ReasonRestartByHand (Warning, on a workload): its proxies are outdated, and a person has
	// to look after it. The note says why.
	ReasonRestartByHand = "RestartByHand"
)
