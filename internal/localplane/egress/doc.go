// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package egress lets the API server of a local Kubernetes reach a process on this
// machine as if it stood behind a Service, so that real webhooks are called.
//
// A local Kubernetes has no pod network: what the API server sends to the cluster
// IP of a Service arrives nowhere. Real clusters have the same case when their
// control plane is in another network, and the API server's answer to it is the
// egress selector: connections into the cluster go through a proxy. [Listen] is
// such a proxy, on a Unix socket that only this user may open, and [Router.Route]
// says which process stands for which address:
//
//	router, err := egress.Listen()
//	...
//	plane, err := localplane.Start(ctx, localplane.Options{Binaries: binaries, APIServerArgs: router.APIServerArgs()})
//	...
//	router.Route("10.96.4.2:443", "127.0.0.1:38211")
//
// The webhook configurations, the Service and the certificates stay as they are:
// the API server resolves the Service, and checks its name in the certificate,
// just as it does elsewhere. An address without a route is refused at once, as one
// of a Service without endpoints is.
package egress
