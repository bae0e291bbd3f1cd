// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package localplane runs a real Kubernetes on this machine without containers.
//
// [Build] compiles etcd, kube-apiserver, kube-controller-manager,
// kube-scheduler, kubectl and KWOK from the Go modules that the module in
// tools/kubernetes pins, once, into a cache folder that is keyed by version.
// [Start] runs them as child processes on loopback ports, with a data folder,
// certificates and a kubeconfig of their own, and with one simulated node:
//
//	binaries, err := localplane.Build(ctx, localplane.BuildOptions{Progress: os.Stderr})
//	...
//	plane, err := localplane.Start(ctx, localplane.Options{Binaries: binaries})
//	...
//	defer plane.Stop()
//	client, err := client.New(plane.Config(), client.Options{})
//
// Everything that is not a container is real: storage, admission, RBAC, garbage
// collection, the Deployment, Job and HPA controllers, the scheduler. Only the
// kubelet is simulated, by the KWOK stages in stages/: a scheduled pod is
// Running and Ready at once, unless one of its images cannot exist (a host
// below the reserved domain .invalid, or a tag that contains does-not-exist);
// such a pod stays Pending with the reason ErrImagePull. [Options.Stages] adds
// simulations for further kinds, for example a load balancer.
//
// There is no pod network: nothing reaches a Service, no program runs in a
// pod, and a webhook is only called when its clientConfig has a URL. A test that
// needs the real program behind a pod starts it with [Plane.Run], and lets the API
// server reach it through the package egress.
//
// Several planes can run side by side. The children die with the process that
// started them: on Linux always, elsewhere only when [Plane.Stop] is called.
//
// The package knows nothing of Strata's own types. Tests take their plane from
// the package planetest.
package localplane
