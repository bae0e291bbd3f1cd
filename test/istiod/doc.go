// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package istiod tests the GatewayClass and Gateway fronts beside a real istiod, and how the
// mesh of Kyma is replaced under one.
//
// The cluster is the local Kubernetes of the integration tests, the manager runs
// with the rights that it is shipped with, and nothing plays istiod's part. Once
// the manager has rolled out istiod's Deployment, the rig starts the real program
// behind its pod, as a kubelet would: arguments, environment, volumes and the
// token of the ServiceAccount come from the pod on the API server, and everything
// else istiod reads from there itself. So what is proven is what the manager has
// rendered: mesh configuration, templates for injection, defaults of the class,
// and RBAC.
//
// What the rig adds to the pod is a kubeconfig (there is no pod network), and
// loopback addresses on free ports. The API server reaches the webhooks through
// the Service, see the package internal/localplane/egress. The pods of Gateways
// are simulated, and tests play the load balancer.
//
// `make test-istiod` builds istiod from the Go module that tools/istiod pins, as
// bin/pilot-discovery, and runs the tests. Without that binary they fail.
package istiod
