// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
)

// Names that users, the agent and operators before this one rely on.
const (
	// AgentName is the name of the agent's Deployment, Service, ServiceAccount and roles,
	// and the value of their label app.
	AgentName = "cert-manager-istio-csr"

	// CertificateName is the istiod certificate's, and CertificateTarget that of the
	// Secret that it is issued into. Both are in the namespace of istiod.
	CertificateName   = "istiod"
	CertificateTarget = "istiod-tls"

	// CAConfigMap contains the CA certificates that the agent trusts and publishes, under
	// CAKey, in the agent's namespace. The front keeps it; it is in no revision.
	CAConfigMap = "cert-manager-istio-csr-issuer-ca-copy"
	CAKey       = "ca.crt"

	// publishedName is the ConfigMap in which agents publish the CA certificates, in every
	// namespace of a mesh.
	publishedName = "istio-ca-root-cert"

	// LeaseName is that of the Lease in the namespace of istiod that one of the agents of a
	// mesh holds: that one publishes.
	LeaseName = "istio-csr"

	// LabelNamespace stands on what is not in the agent's namespace and names that.
	LabelNamespace = "cert-manager-istio-csr-namespace"
)

// Names of the phases.
const (
	// PhaseAccess contains the ServiceAccount, its rights, and the network policies.
	PhaseAccess = "access"
	// PhaseCertificate contains the certificate of istiod.
	PhaseCertificate = "certificate"
	// PhaseAgent contains the agent.
	PhaseAgent = "agent"
)

const (
	leasesName    = AgentName + "-leases"
	dynamicName   = AgentName + "-dynamic-istiod"
	metricsName   = AgentName + "-metrics"
	defaultPort   = 443
	servingPort   = 6443
	metricsPort   = 9402
	readinessPort = 6060
	caMountPath   = "/var/run/configmaps/istio-csr"

	// maxPackageName is how long the name of a package may be.
	maxPackageName = 52
	// maxCommonName is how long the common name of a certificate may be.
	maxCommonName = 64
)

// PackagePrefix begins the names of the packages of agents.
const PackagePrefix = "istio-csr-"

// PackageName is the name of the package of a namespace's agent: istio-csr-NAMESPACE,
// and for a long namespace its beginning and a digest of it.
func PackageName(namespace string) string {
	name := PackagePrefix + namespace
	if len(name) <= maxPackageName {
		return name
	}
	sum := sha256.Sum256([]byte(namespace))
	digest := hex.EncodeToString(sum[:])[:10]
	return strings.TrimRight(name[:maxPackageName-len(digest)-1], "-") + "-" + digest
}

// Endpoint is host and port of the agent.
func Endpoint(ic *operatorv1alpha1.IstioCSR) string {
	return fmt.Sprintf("%s:%d", serviceHost(ic.Namespace), port(ic))
}

func serviceHost(namespace string) string { return AgentName + "." + namespace + ".svc" }

func port(ic *operatorv1alpha1.IstioCSR) int64 {
	if server := ic.Spec.IstioCSRConfig.Server; server != nil && server.Port != 0 {
		return int64(server.Port)
	}
	return defaultPort
}

// ClusterRoleName is the name of the agent's ClusterRole, and ClusterRoleBindingName
// that of its binding: the one in the newest revision. For an agent that has none yet it is
// one that there is by its labels, as operators before this one have generated the names: the
// one that the status names of several. Otherwise it is made from the namespace. A status is
// not enough, as people write it who may not write ClusterRoles.
func ClusterRoleName(ic *operatorv1alpha1.IstioCSR, facts Facts) string {
	return clusterName(ic.Namespace, facts.ClusterRole, ic.Status.ClusterRole, facts.ClusterRoles)
}

// ClusterRoleBindingName is described at [ClusterRoleName].
func ClusterRoleBindingName(ic *operatorv1alpha1.IstioCSR, facts Facts) string {
	return clusterName(ic.Namespace, facts.ClusterRoleBinding, ic.Status.ClusterRoleBinding, facts.ClusterRoleBindings)
}

func clusterName(namespace, own, stated string, found []string) string {
	switch {
	case own != "":
		return own
	case slices.Contains(found, stated) && isClusterName(stated):
		return stated
	case len(found) == 1 && isClusterName(found[0]):
		return found[0]
	default:
		return fixedClusterName(namespace)
	}
}

func fixedClusterName(namespace string) string { return AgentName + "-" + namespace }

// isClusterName says whether a name could be that of an agent's role, whose labels anyone
// who writes roles can set.
func isClusterName(name string) bool {
	return strings.HasPrefix(name, AgentName+"-") && len(validation.IsDNS1123Subdomain(name)) == 0
}
