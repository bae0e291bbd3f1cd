// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package statustest checks conditions against what the API promises of them.
//
// Every test of a controller, and every test of what a status is made of, hands
// over what was written: [Package] and [Revision] for our own kinds, [Conditions]
// for those of a front's custom resource. contract.go holds the promise for our own
// kinds, and the rows of the reference that for a front's: which condition may have
// which reason with which status. [Server] is the API server in memory that loops are tested on.
package statustest
