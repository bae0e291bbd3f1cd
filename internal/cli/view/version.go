// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/internal/version"
)

// Version is the document of `strata version`.
type Version struct {
	metav1.TypeMeta `json:",inline"`

	// Client is this build.
	Client version.Info `json:"client"`
	// Server is the cluster, unset when none answers.
	Server *ServerVersion `json:"server,omitempty"`
}

// ServerVersion is what a cluster runs.
type ServerVersion struct {
	// Host is the API server's address.
	Host string `json:"host"`
	// Kubernetes is its version.
	Kubernetes string `json:"kubernetes"`
	// API is the version of Strata's API that it serves, such as
	// strata.run/v1alpha1; empty when it serves none.
	API string `json:"api,omitempty"`
	// Managers are the managers that run there, as far as their Deployments may be listed.
	Managers []ManagerVersion `json:"managers,omitempty"`
}

// ManagerVersion is a manager that a cluster runs.
type ManagerVersion struct {
	// Namespace and Name are those of its Deployment.
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Image is the image that is to run.
	Image string `json:"image"`
	// Ready is how many of its replicas are ready, of how many: "1/1".
	Ready string `json:"ready"`
}
