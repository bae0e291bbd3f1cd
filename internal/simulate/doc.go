// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package simulate plays the part of operands on the local Kubernetes, where no
// program runs in a pod.
//
// It makes KWOK stages for localplane.Options.Stages. What a stage writes is what
// the real program is known to write, and nothing else; a rollout that waits for
// it would otherwise never end. It is used by strata up and by tests, never by
// the manager.
package simulate
