// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package guide runs guides of docs/guides on a cluster, so that what they show is what
// happens.
//
//	guide.Guide{Path: ..., Kubectl: ..., Kubeconfig: ...}.Run(t)
//
// Each block of code is one of
//
//	```yaml            a file, if its first line is a comment with a name that ends with
//	                   .yaml; else it is only shown
//	```console [N]     lines that begin with "$ " are run, and must end with the exit code
//	                   N, 0 without it; the output must be what follows, but for times,
//	                   generated names and digests; "kubectl get" is repeated for a while
//	                   until it is
//
// and other blocks are only shown. A test with Update writes the output into the guide
// anew.
package guide
