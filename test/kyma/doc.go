// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kyma tests the front of Kyma's Istio resource on a local Kubernetes: its story in
// docs/guides/kyma.md, whose commands are run as they stand there, and what the story leaves
// out. The tests share one cluster and its one mesh, and run one after the other.
package kyma
