// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Command docsgen writes docs/reference, and checks the links of all Markdown
// files. `make generate` and `make verify` run it from the repository's root:
//
//	docsgen generate   renew docs/reference
//	docsgen links      fail when a link leads nowhere
//
// The reference has five sources, and no text of its own: the schemas of the
// CustomResourceDefinitions in config/crd (api.go), the comments of the constants
// in api/v1alpha1 and internal/telemetry (constants.go), the catalog of metrics there
// (metrics.go), the rows of the fronts below internal/front (fronts.go), and what the
// commands of the command line print with --help (commands.go). Pages hold no dates and
// no paths of a machine, so that the same sources give the same pages.
package main
