// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Local is the document of `strata up`: a local cluster and where its things are.
// The process that runs it, the supervisor, keeps it in the folder, in state.json.
type Local struct {
	metav1.TypeMeta `json:",inline"`

	// Phase is Starting, Ready, Stopping or Failed.
	Phase LocalPhase `json:"phase"`
	// Message is the step that is under way, or why it failed.
	Message string `json:"message,omitempty"`
	// PID is the supervisor's process.
	PID int `json:"pid"`
	// Server is the API server's address, Kubernetes its version.
	Server     string `json:"server,omitempty"`
	Kubernetes string `json:"kubernetes,omitempty"`
	// Kubeconfig is the path of an administrator's kubeconfig.
	Kubeconfig string `json:"kubeconfig,omitempty"`
	// Kubectl is the path of a kubectl of the same version.
	Kubectl string `json:"kubectl,omitempty"`
	// Log is the path of the log of the supervisor and the manager.
	Log string `json:"log,omitempty"`
	// Manager is true when Strata's manager runs beside the cluster.
	Manager bool `json:"manager"`
	// ReadyAt is since when it is ready.
	ReadyAt *metav1.Time `json:"readyAt,omitempty"`
}

// LocalPhase is where a local cluster stands.
type LocalPhase string

// The phases of a local cluster.
const (
	LocalStarting LocalPhase = "Starting"
	LocalReady    LocalPhase = "Ready"
	LocalStopping LocalPhase = "Stopping"
	LocalFailed   LocalPhase = "Failed"
)
