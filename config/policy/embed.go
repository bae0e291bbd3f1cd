// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package policy hands the admission policies to the command line, so that what it installs
// is what the repository ships.
package policy

import "embed"

// Files holds the policies and their bindings.
//
//go:embed actors.yaml protection.yaml
var Files embed.FS
