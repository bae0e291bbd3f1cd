// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package certmanager runs the real cert-manager on a local Kubernetes: its
// controllers, its admission webhook and its CA injector, as one process beside the
// API server.
//
//	program, err := certmanager.Build(ctx, os.Stderr)
//	...
//	stop, err := certmanager.Start(ctx, plane, program)
//
// The process is built from the module in tools/certmanager, which puts together
// what cert-manager publishes as libraries; the CustomResourceDefinitions are read
// from cert-manager's module, so nothing of it is copied. From then on an Issuer
// becomes ready, a Certificate is issued into its Secret and renewed, and a
// Certificate that makes no sense is refused, as in any cluster. What differs from a
// release: issuers that need an external server (ACME, Vault, Venafi) never become
// ready, a failed request is repeated after a second instead of an hour, and
// the webhook is registered by URL, because nothing reaches a Service.
//
// It is for tests, which run in a checkout, where tools/certmanager is.
package certmanager
