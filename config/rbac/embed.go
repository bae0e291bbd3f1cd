// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rbac hands the manager's rights to the command line and to tests, so
// that what they install is what the repository ships.
package rbac

import "embed"

// Files holds the roles of the core and their bindings.
//
//go:embed role.yaml role_binding.yaml
var Files embed.FS

// Fronts holds those of fronts, each in the folder of its front.
//
//go:embed */role.yaml */role_binding.yaml
var Fronts embed.FS
