// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package certmanager runs what has to do with certificates on a local Kubernetes
// with the real cert-manager: its controllers, its webhook and its CA injector.
// There is no imitation of an issuer anywhere.
//
//	make test-certmanager
//
// The first run builds cert-manager, see package internal/localplane/certmanager.
package certmanager
