// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plain turns any manifests into the phases of a package: those of plain
// files, and of charts that no front knows. It is pure.
//
// [Phases] sorts objects into four phases by their kinds, and takes in what annotations
// and [Settings] say of them ([Probes] finds their probes). [Place] gives those that
// lack a namespace one, and [Images] lists what their pods run.
package plain
