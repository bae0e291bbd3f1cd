// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	"fmt"
	"slices"
	"strings"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
)

// Problem is something that keeps an agent from working.
type Problem struct {
	// Waiting says that the problem ends when the object that is waited for is created or
	// repaired. Otherwise the IstioCSR, or what it refers to, has to be changed.
	Waiting bool
	// Blocks says that nothing is rolled out until it is solved.
	Blocks bool
	// Message says what it is, and what to do.
	Message string
}

// Input is all that a rendering depends on.
type Input struct {
	// IstioCSR is the one that the agent runs for.
	IstioCSR *operatorv1alpha1.IstioCSR
	// Image is what the agent runs when the IstioCSR does not ask for another.
	Image Image
	// Facts are those of the cluster.
	Facts Facts
}

// Check finds the problems of an agent, those first that have to be mended by hand.
func Check(in Input) []Problem {
	if why := in.IstioCSR.Spec.Undecodable; why != "" {
		return []Problem{{Blocks: true, Message: "spec cannot be read: " + why}}
	}
	var problems []Problem
	for _, message := range checkSpec(in) {
		problems = append(problems, Problem{Blocks: true, Message: message})
	}
	problems = append(problems, checkFacts(in)...)
	slices.SortStableFunc(problems, func(a, b Problem) int {
		switch {
		case a.Waiting == b.Waiting:
			return 0
		case a.Waiting:
			return 1
		default:
			return -1
		}
	})
	return problems
}

func checkFacts(in Input) []Problem {
	config := in.IstioCSR.Spec.IstioCSRConfig
	switch {
	case !in.Facts.CertManager:
		return []Problem{{Waiting: true, Blocks: true, Message: "cert-manager is not installed: the cluster serves neither Certificate nor Issuer of cert-manager.io/v1"}}
	case !in.Facts.Namespace:
		return []Problem{{Waiting: true, Blocks: true, Message: fmt.Sprintf("namespace %s (spec.istioCSRConfig.istio.namespace) does not exist: create it", config.Istio.Namespace)}}
	case len(in.Facts.Uninstalling) > 0:
		return []Problem{{Waiting: true, Blocks: true, Message: fmt.Sprintf("package %s, of an agent before this one, has not yet released what agents have in namespace %s", strings.Join(in.Facts.Uninstalling, ", "), config.Istio.Namespace)}}
	}
	problems := slices.Concat(checkClusterRoles(in), checkIssuer(in), checkIstiodCertificate(in), checkHolder(in))
	if in.Facts.CA.Problem != "" {
		problems = append(problems, Problem{Waiting: in.Facts.CA.Waiting, Message: in.Facts.CA.Problem})
	}
	return problems
}

// checkClusterRoles looks for several roles that may be the agent's: all but one would keep
// their permissions, and no status would report that.
func checkClusterRoles(in Input) []Problem {
	ic := in.IstioCSR
	var problems []Problem
	for _, of := range []struct {
		kind, own, stated string
		found             []string
	}{
		{"ClusterRoles", in.Facts.ClusterRole, ic.Status.ClusterRole, in.Facts.ClusterRoles},
		{"ClusterRoleBindings", in.Facts.ClusterRoleBinding, ic.Status.ClusterRoleBinding, in.Facts.ClusterRoleBindings},
	} {
		if len(of.found) < 2 || of.own != "" || slices.Contains(of.found, of.stated) || slices.Contains(of.found, fixedClusterName(ic.Namespace)) {
			continue
		}
		problems = append(problems, Problem{Blocks: true, Message: fmt.Sprintf("%s %s are all of an agent in namespace %s by their labels: delete those that it does not use",
			of.kind, strings.Join(of.found, ", "), ic.Namespace)})
	}
	return problems
}

func checkIssuer(in Input) []Problem {
	issuer, name := in.Facts.Issuer, issuerText(in)
	switch {
	case !issuer.Exists:
		return []Problem{{Waiting: true, Message: name + " does not exist: create it"}}
	case issuer.Type == issuerACME:
		return []Problem{{Blocks: true, Message: name + " is of type ACME, which signs for DNS names only and not for the identities of a mesh: refer to an issuer of another type"}}
	case issuer.Type == issuerSelfSigned:
		return []Problem{{Blocks: true, Message: name + " is of type SelfSigned, which signs each certificate with its own key, so that no two trust each other: refer to an issuer of type CA, or of another type that has a root"}}
	case !issuer.Ready:
		message := name + " is not ready"
		if issuer.Message != "" {
			message += ": " + issuer.Message
		}
		return []Problem{{Waiting: true, Message: message}}
	}
	return nil
}

// checkHolder says what keeps the Certificate of istiod from being issued.
func checkHolder(in Input) []Problem {
	holder := in.Facts.Conflict
	if holder == nil {
		return nil
	}
	mesh := in.IstioCSR.Spec.IstioCSRConfig.Istio.Namespace
	message := fmt.Sprintf("Secret %s/%s is issued for Certificate %s, and cert-manager does not issue it for Certificate %s meanwhile", mesh, CertificateTarget, holder.Name, CertificateName)
	if holder.ByAgent {
		return []Problem{{Waiting: true, Message: fmt.Sprintf("%s: it is deleted when %s does not make it any longer", message, holder.Maker)}}
	}
	return []Problem{{Waiting: true, Message: fmt.Sprintf("%s: run `kubectl delete certificates.cert-manager.io %s -n %s --cascade=orphan`, which leaves the Secret, or have it issued into another one", message, holder.Name, mesh)}}
}

// issuerText names the issuer for people.
func issuerText(in Input) string {
	kind, name, _ := signing(in.IstioCSR, in.Facts.RuntimeIssuer)
	if kind == KindClusterIssuer {
		return kind + " " + name
	}
	return kind + " " + in.IstioCSR.Spec.IstioCSRConfig.Istio.Namespace + "/" + name
}

// The kinds of issuers, and their group, as cert-manager spells them.
const (
	KindIssuer        = "Issuer"
	KindClusterIssuer = "ClusterIssuer"
	GroupCertManager  = "cert-manager.io"
)

// IssuerKind is the kind of the issuer: the API takes any spelling, and cert-manager
// only its own.
func IssuerKind(ic *operatorv1alpha1.IstioCSR) string {
	if strings.EqualFold(ic.Spec.IstioCSRConfig.CertManager.IssuerRef.Kind, KindClusterIssuer) {
		return KindClusterIssuer
	}
	return KindIssuer
}

// Warnings are what an admin ought to know of an agent that works.
func Warnings(in Input) []string {
	var warnings []string
	for _, ca := range in.Facts.CA.Ending {
		warnings = append(warnings, "CA "+ca+" expires soon, and with it the certificates of the mesh: replace it; status.caCertificates says when it expires")
	}
	for _, ca := range in.Facts.CA.Expired {
		warnings = append(warnings, fmt.Sprintf("CA %s of %s has expired and is left out: remove it there", ca, in.Facts.CA.Source))
	}
	for _, why := range in.Facts.CA.Undropped {
		warnings = append(warnings, "the annotation "+operatorv1alpha1.AnnotationDropCAs+": "+why)
	}
	if reference := in.IstioCSR.Spec.IstioCSRConfig.CertManager.IstioCACertificate; reference != nil && reference.Name == publishedName {
		warnings = append(warnings, "spec.istioCSRConfig.certManager.istioCACertificate names ConfigMap "+publishedName+", which agents write: a new CA that is added to it is removed again; name a ConfigMap that is yours")
	}
	warnings = append(warnings, takeoverWarnings(in)...)
	if ignored := ignoredLabels(in.IstioCSR); len(ignored) > 0 {
		warnings = append(warnings, "spec.controllerConfig.labels: the objects have "+strings.Join(ignored, ", ")+" of their own, so these are ignored")
	}
	warnings = append(warnings, leftWarnings(in)...)
	if ignored := ignoredOf(askedOf(in.IstioCSR).DeploymentLabels); len(ignored) > 0 {
		warnings = append(warnings, "spec.agentConfig.deploymentLabels: the object has "+strings.Join(ignored, ", ")+" of its own, so these are ignored")
	}
	warnings = append(warnings, runtimeWarnings(in)...)
	if wantsMonitor(in.IstioCSR) {
		if ignored := ignoredOf(in.IstioCSR.Spec.AgentConfig.ServiceMonitor.Labels); len(ignored) > 0 {
			warnings = append(warnings, "spec.agentConfig.serviceMonitor.labels: the object has "+strings.Join(ignored, ", ")+" of its own, so these are ignored")
		}
	}
	if wantsMonitor(in.IstioCSR) && !in.Facts.ServiceMonitors {
		warnings = append(warnings, "spec.agentConfig.serviceMonitor has no effect: the cluster has no kind ServiceMonitor of monitoring.coreos.com")
	}
	return append(warnings, deletionWarnings(in)...)
}

// leftWarnings are about other agents of the mesh: one of the agents publishes the CA
// certificates in all namespaces, and only those of one issuer can share them.
func leftWarnings(in Input) []string {
	mesh := in.IstioCSR.Spec.IstioCSRConfig.Istio.Namespace
	var warnings []string
	for _, namespace := range in.Facts.LeftRunning {
		text := "another agent runs for this mesh in namespace " + namespace + " without an IstioCSR"
		switch in.Facts.Publisher {
		case namespace:
			text += fmt.Sprintf("; it holds Lease %s/%s, and so it is the one that publishes ConfigMap %s", mesh, LeaseName, publishedName)
		case in.IstioCSR.Namespace:
			text += fmt.Sprintf("; the agent of this IstioCSR holds Lease %s/%s, and publishes ConfigMap %s", mesh, LeaseName, publishedName)
		}
		if slices.Contains(in.Facts.LeftApart, namespace) {
			text += "; it uses another issuer, so it does not follow when the CA changes"
		}
		warnings = append(warnings, text+fmt.Sprintf("; when no mesh points at it any more, run `kubectl delete deployment %s -n %s`", AgentName, namespace))
	}
	return warnings
}

// deletionWarnings are about what becomes of the agent when its IstioCSR is deleted.
func deletionWarnings(in Input) []string {
	const key = operatorv1alpha1.AnnotationDeletionPolicy
	switch value := in.IstioCSR.Annotations[key]; value {
	case "", operatorv1alpha1.DeletionPolicyOrphan:
		return nil
	case operatorv1alpha1.DeletionPolicyDelete:
	default:
		return []string{fmt.Sprintf("the annotation %s is %.40q, which is neither %s nor %s: the agent stays when this is deleted",
			key, value, operatorv1alpha1.DeletionPolicyDelete, operatorv1alpha1.DeletionPolicyOrphan)}
	}
	var warnings []string
	if len(in.Facts.Clients) > 0 {
		warnings = append(warnings, fmt.Sprintf("when this is deleted the agent goes with it, as the annotation %s says, and %s still points at it",
			key, strings.Join(in.Facts.Clients, ", ")))
	}
	if len(in.Facts.Unread) > 0 {
		warnings = append(warnings, fmt.Sprintf("when this is deleted the agent goes with it, as the annotation %s says, and what still points at it is not known: %s",
			key, strings.Join(in.Facts.Unread, ", ")))
	}
	return warnings
}

// RemovesOnDeletion says whether the agent goes with its IstioCSR.
func RemovesOnDeletion(ic *operatorv1alpha1.IstioCSR) bool {
	return ic.Annotations[operatorv1alpha1.AnnotationDeletionPolicy] == operatorv1alpha1.DeletionPolicyDelete
}

func wantsMonitor(ic *operatorv1alpha1.IstioCSR) bool {
	return ic.Spec.AgentConfig != nil && ic.Spec.AgentConfig.ServiceMonitor != nil
}
