// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Condition types of IstioCSR.
const (
	// ConditionReady is True while the newest spec is rolled out and works: the agent's
	// Deployment and the istiod certificate are ready, and so is the issuer.
	ConditionReady = "Ready"

	// ConditionDegraded is True when something stands in the way that goes on only
	// when the IstioCSR changes, or what it refers to.
	ConditionDegraded = "Degraded"
)

// Reasons of Ready and Degraded.
const (
	// ReasonReady is that of Ready when it is True, and of Degraded when it is False.
	ReasonReady = "Ready"

	// ReasonProgressing (Ready False): something is waited for, such as the issuer or
	// the pods. The message names it.
	ReasonProgressing = "Progressing"

	// ReasonFailed (Ready False, Degraded True): what is asked for cannot be done. The
	// message says why, and what to change. With Ready alone it says that an older
	// IstioCSR runs the agent.
	ReasonFailed = "Failed"
)
