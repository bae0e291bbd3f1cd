// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"

// Facts are what an agent depends on besides its IstioCSR.
type Facts struct {
	// Running is the namespace of the IstioCSR that the facts are about.
	Running string
	// CertManager says that the kinds of cert-manager are served.
	CertManager bool
	// Namespace says that the namespace of istiod exists.
	Namespace bool
	// Issuer is the issuer that signs.
	Issuer Issuer
	// RuntimeIssuer is the issuer that a ConfigMap has the agent follow, see
	// [runtimeIssuerOf].
	RuntimeIssuer RuntimeIssuer
	// IstiodCertificate is the Certificate of istiod. It is looked for when the agent makes it.
	IstiodCertificate Issuer
	// Conflict is another Certificate that the Secret of istiod is issued for, nil for none.
	Conflict *Conflict
	// AgentFirst says that the newest revision has the agent before the certificate of istiod,
	// see [agentFirstIn].
	AgentFirst bool
	// CA is the copy of the CA certificates.
	CA CA
	// Deployment is the agent's, nil when there is none.
	Deployment *Deployment
	// Release is the Helm release that counts the agent as its own, as NAMESPACE/NAME.
	// Empty when none does.
	Release string
	// LeftRunning are the namespaces, sorted, of other agents that have rights in the
	// mesh: those that an IstioCSR of before, or another installation, has left running.
	// What they need there stays when this agent is removed.
	LeftRunning []string
	// LeftApart are those of LeftRunning whose agents have their certificates signed by
	// another issuer.
	LeftApart []string
	// Publisher is the namespace of the agent that holds the Lease of the mesh while there
	// are several, and so publishes the CA certificates. Empty when it is not known.
	Publisher string
	// Uninstalling are the packages, sorted, of agents that go and that still have what the
	// agents of one mesh share.
	Uninstalling []string
	// ClusterRole and ClusterRoleBinding are the names of the agent's in the newest revision,
	// empty while there is none.
	ClusterRole        string
	ClusterRoleBinding string
	// ClusterRoles and ClusterRoleBindings are the names, sorted, of those that an agent in
	// the namespace has by their labels. They are looked for while there is no revision.
	ClusterRoles        []string
	ClusterRoleBindings []string
	// APIServerPorts are where the API server can be reached, sorted. They are looked for
	// unless the IstioCSR names them, see [AsksForAPIServerPorts].
	APIServerPorts []int32
	// ServiceMonitors says that the kind ServiceMonitor is there.
	ServiceMonitors bool
	// Clients are the Istio configurations that point at the agent, as KIND NAME,
	// sorted. They are looked for when the agent would be removed with its IstioCSR.
	Clients []string
	// Unread are those of which it could not be found out, as KIND NAME: WHY, sorted.
	Unread []string
}

// Issuer is what is known of an issuer.
type Issuer struct {
	// Exists says that there is one. Without it the rest is empty.
	Exists bool
	// Type is the field of its spec that is set: acme, ca, selfSigned, vault or venafi.
	Type string
	// Ready says that its condition Ready is True, and Message is what it says.
	Ready   bool
	Message string
}

// Conflict is a Certificate beside that of istiod that the Secret of istiod is issued for.
// cert-manager issues nothing into the Secret for another Certificate while it exists.
type Conflict struct {
	Name string
	// ByAgent says that an agent has made it: what a user has made is never deleted.
	ByAgent bool
	// Maker says which agent would make it again, empty when none would.
	Maker string
}

// CA is what is known of the copy of the CA certificates.
type CA struct {
	// Problem says why it is not what it should be, and what to do. Empty when it is.
	Problem string
	// Waiting says that the problem goes by itself.
	Waiting bool
	// Ending are the CA certificates that are about to expire.
	Ending []string
	// Expired are the CA certificates of Source that have expired and are left out.
	Expired []string
	Source  string
	// Undropped says what of the annotation that drops CAs has no effect, and why.
	Undropped []string
	// Certificates are those in the copy.
	Certificates []operatorv1alpha1.CACertificate
}

// The types of issuers that matter: two of them cannot sign for a mesh.
const (
	issuerACME       = "acme"
	issuerCA         = "ca"
	issuerSelfSigned = "selfSigned"
)
