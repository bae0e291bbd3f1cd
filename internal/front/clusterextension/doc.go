// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clusterextension is the front of ClusterExtensions: it installs bundles from catalogs.
//
// It is off unless the flag --clusterextensions is on.
package clusterextension
