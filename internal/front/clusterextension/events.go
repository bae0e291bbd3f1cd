// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

// Events of the front.
const (
	// ReasonLeftToOLM (Warning, on a Lease): OLM's own controller leads, so that
	// ClusterExtensions are left to it.
	ReasonLeftToOLM = "LeftToOLM"

	// ReasonTakenOver (Normal, on a Lease): OLM's own controller does not lead any more,
	// and ClusterExtensions are reconciled.
	ReasonTakenOver = "TakenOver"
)
