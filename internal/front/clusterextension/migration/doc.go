// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package migration makes revision 1 of a ClusterExtension from the release that OLM's own
// controller has installed it with, without restarting a pod.
//
// OLM's controller keeps a release in an index Secret and further ones for what does not fit into it.
// choose.go decides which version is the installed one, release.go reads it, and convert.go turns its
// manifest into phases: they are pure. importer.go reads the Secrets, and hands the objects over:
// the fields of OLM's controller become ours and its owner reference goes, so that the engine adopts
// them as any others. The Secrets stay as they are.
package migration
