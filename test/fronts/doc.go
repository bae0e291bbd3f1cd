// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fronts deletes each front from a copy of the repository, and builds and vets the rest.
package fronts
