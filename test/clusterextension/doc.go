// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clusterextension tests the front of ClusterExtensions, and its API, on a local Kubernetes.
//
// What the API server takes and refuses stands in testdata/admission.yaml, a row for each case.
package clusterextension
