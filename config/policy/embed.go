// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package policy hands the admission policies to the command line, so that what it installs
// is what the repository ships. Those of a front stand in a folder of its name.
package policy

import "embed"

// Files holds the policies and their bindings.
//
//go:embed actors.yaml protection.yaml
var Files embed.FS

// Fronts holds those of fronts.
//
//go:embed */extensions.yaml
var Fronts embed.FS
