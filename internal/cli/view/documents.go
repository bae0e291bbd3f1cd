// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/internal/version"
)

// Documents are an empty one of each document that commands write with -o json and
// -o yaml, by kind. Their JSON Schemas are made from them.
func Documents() map[string]any {
	return map[string]any{
		"Adoption":          Adoption{},
		"Applied":           Applied{},
		"AssertReport":      AssertReport{},
		"CatalogPackages":   CatalogPackages{},
		"CatalogValidation": CatalogValidation{},
		"Catalogs":          Catalogs{},
		"Content":           Content{},
		"Deletion":          Deletion{},
		"Diff":              Diff{},
		"Events":            Events{},
		"Explanation":       Explanation{},
		"ExtensionPlan":     ExtensionPlan{},
		"HandOver":          HandOver{},
		"HelmImport":        HelmImport{},
		"History":           History{},
		"LintReport":        LintReport{},
		"Local":             Local{},
		"Plan":              Plan{},
		"Receipt":           Receipt{},
		"Report":            Report{},
		"Restarts":          Restarts{},
		"RevisionDetails":   RevisionDetails{},
		"Rollback":          Rollback{},
		"Stats":             Stats{},
		"Status":            Status{},
		"Trace":             Trace{},
		"Tree":              Tree{},
		"Uninstallation":    Uninstallation{},
		"Version":           Version{},
	}
}

// DocumentVersion is the apiVersion of the documents that commands write with
// -o json and -o yaml. Within a version that is released, fields are added, never renamed or
// removed. Where it has phases, items are the objects of one and objects is their number.
const DocumentVersion = "cli.strata.run/v1alpha1"

// DocumentType is the head of a document.
func DocumentType(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: DocumentVersion, Kind: kind}
}

// Report is the document of `strata report`, and the file report.json of the bundle.
type Report struct {
	metav1.TypeMeta `json:",inline"`

	// File is the bundle.
	File string `json:"file"`
	// CreatedAt is when it was made.
	CreatedAt metav1.Time `json:"createdAt"`
	// Packages are those that it is about.
	Packages []string `json:"packages"`
	// Entries are the files in it.
	Entries []string `json:"entries"`
	// Unread says what could not be read, and why.
	Unread []string `json:"unread,omitempty"`
}

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
