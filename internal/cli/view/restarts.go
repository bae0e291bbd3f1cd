// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Restarts is the document of `strata restarts`: what was restarted for a mesh.
type Restarts struct {
	metav1.TypeMeta `json:",inline"`

	// Istio is the resource that describes the mesh, such as kyma-system/default.
	Istio string `json:"istio"`
	// State is its state.
	State string `json:"state"`
	// Status, Reason and Message are those of its condition about restarts. Empty while pods
	// were not compared with the mesh yet.
	Status  string `json:"status,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Window is when workloads may be restarted, empty for always.
	Window string `json:"window,omitempty"`
	// Workloads are those that were restarted: first those that are not complete.
	Workloads []RestartedWorkload `json:"workloads"`
}

// RestartedWorkload is a workload that was restarted for its proxies.
type RestartedWorkload struct {
	Namespace string `json:"namespace"`
	Kind      string `json:"kind"`
	Name      string `json:"name"`
	// RestartedAt is when it was restarted last, and Causes what for so far.
	RestartedAt metav1.Time `json:"restartedAt"`
	Causes      []string    `json:"causes"`
	// State is Complete, RollingOut, Failed or Excluded.
	State string `json:"state"`
	// Progress is how far its rollout is, and why it does not go on.
	Progress string `json:"progress,omitempty"`
}
