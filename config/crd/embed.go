// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package crd hands the generated CustomResourceDefinitions to the command line
// and to tests, so that what they install is what the repository ships.
package crd

import "embed"

// Files holds one YAML file per CustomResourceDefinition of the core.
//
//go:embed *_*.yaml
var Files embed.FS

// Fronts holds those of fronts, each in the folder of its front.
//
//go:embed */*_*.yaml
var Fronts embed.FS
