// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
)

// RuntimeIssuer is the issuer that the ConfigMap of spec.agentConfig.runtimeIssuerConfigMap
// names. The agent uses issuerRef while it has no name.
type RuntimeIssuer struct {
	Name, Kind, Group string
	// Problem says why the agent does not follow the ConfigMap.
	Problem string
}

// runtimeIssuerConfigMap is the name of the ConfigMap that an agent follows, empty for none.
func runtimeIssuerConfigMap(ic *operatorv1alpha1.IstioCSR) string {
	return askedOf(ic).RuntimeIssuerConfigMap
}

// runtimeIssuerOf reads the ConfigMap, if it was found, as the agent does.
func runtimeIssuerOf(config *unstructured.Unstructured, found bool) RuntimeIssuer {
	if !found {
		return RuntimeIssuer{Problem: "it does not exist, and the agent has issuerRef sign"}
	}
	var missing []string
	value := func(key string) string {
		text, _, _ := unstructured.NestedString(config.Object, "data", key) // what is no text is missing
		if text == "" {
			missing = append(missing, key)
		}
		return text
	}
	issuer := RuntimeIssuer{Name: value(flagIssuerName), Kind: value(flagIssuerKind), Group: value(flagIssuerGroup)}
	if len(missing) > 0 {
		return RuntimeIssuer{Problem: "it has no " + strings.Join(missing, ", ") + ", and the agent does not follow it"}
	}
	if len(validation.IsDNS1123Subdomain(issuer.Name)) > 0 {
		return RuntimeIssuer{Problem: fmt.Sprintf("%s is %.100q, which is not the name of an issuer", flagIssuerName, issuer.Name)}
	}
	return issuer
}

// agentFirstIn says whether the agent comes before the certificate of istiod in a revision
// after one with these manifests: while its pods make the Certificate they would change back
// what is made of it. An order once taken stays, as another one is another revision.
func agentFirstIn(manifests []*unstructured.Unstructured) bool {
	isAgent := func(u *unstructured.Unstructured) bool {
		return u.GetKind() == "Deployment" && u.GetName() == AgentName
	}
	agent := slices.IndexFunc(manifests, isAgent)
	if agent < 0 {
		return false
	}
	certificate := slices.IndexFunc(manifests, func(u *unstructured.Unstructured) bool { return u.GetKind() == "Certificate" })
	return certificate < 0 || certificate > agent
}

// makesCertificate says whether an agent that is about to be taken over makes the Certificate
// of istiod.
func (o objects) makesCertificate() bool {
	d := o.Facts.Deployment
	return d != nil && d.Foreign && givenTo(d.Spec, "template", "spec").certificate().Namespace == o.mesh
}

// signer is the issuer that signs for an agent now.
func signer(ic *operatorv1alpha1.IstioCSR, runtime RuntimeIssuer) RuntimeIssuer {
	if runtime.Name == "" {
		return RuntimeIssuer{Name: ic.Spec.IstioCSRConfig.CertManager.IssuerRef.Name, Kind: IssuerKind(ic), Group: GroupCertManager}
	}
	return runtime
}

// signing are kind and name of the issuer that signs for an agent now. Of one that is not of
// cert-manager nothing can be said: ok is false.
func signing(ic *operatorv1alpha1.IstioCSR, runtime RuntimeIssuer) (kind, name string, ok bool) {
	issuer := signer(ic, runtime)
	isKnown := issuer.Group == GroupCertManager && (issuer.Kind == KindIssuer || issuer.Kind == KindClusterIssuer)
	return issuer.Kind, issuer.Name, isKnown
}

func checkRuntimeName(r *refusals, path string, ic *operatorv1alpha1.IstioCSR) {
	if name := runtimeIssuerConfigMap(ic); name != "" {
		r.addAll(path+".runtimeIssuerConfigMap", name, validation.IsDNS1123Subdomain(name))
	}
}

// checkRuntime finds what an agent cannot do that follows a ConfigMap, or that makes the
// Certificate of istiod itself.
func checkRuntime(r *refusals, path string, ic *operatorv1alpha1.IstioCSR) {
	agent, config := askedOf(ic), ic.Spec.IstioCSRConfig
	checkRuntimeName(r, path, ic)
	if agent.RuntimeIssuerConfigMap != "" && config.CertManager.IstioCACertificate == nil {
		r.add(path+".runtimeIssuerConfigMap", "it requires spec.istioCSRConfig.certManager.istioCACertificate with the CAs of every issuer that it may name: the agent refuses certificates of others")
	}
	switch agent.IstiodCertificate {
	case "", "Static":
		return
	case operatorv1alpha1.IstiodCertificateDynamic:
	default:
		r.add(path+".istiodCertificate", "%.100q must be Static or Dynamic", agent.IstiodCertificate)
		return
	}
	if host := istiodHost(defaultRevision, config.Istio.Namespace); len(host) > maxCommonName {
		r.add(path+".istiodCertificate", "the agent has %s as the common name, which has more than %d characters: use Static", host, maxCommonName)
	}
	for i, name := range config.IstiodTLSConfig.CertificateDNSNames {
		if len(validation.IsDNS1123Subdomain(name)) > 0 {
			r.add(fmt.Sprintf("spec.istioCSRConfig.istiodTLSConfig.certificateDNSNames[%d]", i), "%.100q: an agent that creates the Certificate itself accepts neither wildcards nor capital letters: use istiodCertificate Static", name)
		}
	}
}

// checkIstiodCertificate looks at the Certificate that the agent makes. One that we make is
// judged by the package.
func checkIstiodCertificate(in Input) []Problem {
	certificate, name := in.Facts.IstiodCertificate, in.IstioCSR.Spec.IstioCSRConfig.Istio.Namespace+"/"+CertificateName
	switch {
	case !isDynamic(in.IstioCSR):
		return nil
	case !in.Facts.Issuer.Exists:
		return nil // which is a problem of its own, and goes by itself
	case in.Facts.Issuer.Type != issuerCA && in.IstioCSR.Spec.IstioCSRConfig.CertManager.IstioCACertificate == nil:
		// The CA would be read from the Secret of the Certificate that an agent makes which
		// does not start without the CA.
		return []Problem{{Blocks: true, Message: fmt.Sprintf("spec.agentConfig.istiodCertificate Dynamic requires spec.istioCSRConfig.certManager.istioCACertificate, as %s is not of type CA and the agent does not start without the CA", issuerText(in))}}
	case !certificate.Exists:
		return []Problem{{Waiting: true, Message: "Certificate " + name + ", which the agent creates, does not exist yet"}}
	case !certificate.Ready:
		message := "Certificate " + name + ", which the agent creates, is not ready"
		if certificate.Message != "" {
			message += ": " + certificate.Message
		}
		return []Problem{{Waiting: true, Message: message}}
	}
	return nil
}

// runtimeWarnings say what has no effect of what the agent is given at run time.
func runtimeWarnings(in Input) []string {
	var warnings []string
	if name := runtimeIssuerConfigMap(in.IstioCSR); name != "" && in.Facts.RuntimeIssuer.Problem != "" {
		warnings = append(warnings, fmt.Sprintf("spec.agentConfig.runtimeIssuerConfigMap names ConfigMap %s/%s: %s", in.IstioCSR.Namespace, name, in.Facts.RuntimeIssuer.Problem))
	}
	if name := in.IstioCSR.Spec.IstioCSRConfig.IstiodTLSConfig.CommonName; isDynamic(in.IstioCSR) && name != "" && name != istiodHost(defaultRevision, in.IstioCSR.Spec.IstioCSRConfig.Istio.Namespace) {
		warnings = append(warnings, "spec.istioCSRConfig.istiodTLSConfig.commonName has no effect: the agent creates the Certificate of istiod with its own common name")
	}
	return warnings
}
