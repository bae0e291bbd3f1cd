// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package crd hands the generated CustomResourceDefinitions to the command line
// and to tests, so that what they install is what the repository ships.
package crd

import "embed"

// Files holds one YAML file per CustomResourceDefinition.
//
//go:embed *_*.yaml
var Files embed.FS
