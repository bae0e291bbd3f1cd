// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
)

// checkStored finds what our definition of the kind refuses. Another one, such as that of
// the operator before, may have let it through, and the API server does not look at
// what it has stored.
func checkStored(r *refusals, config string, c operatorv1alpha1.IstioCSRConfig) {
	if c.LogLevel < 0 || c.LogLevel > 5 {
		r.add(config+".logLevel", "%d must be from 1 to 5", c.LogLevel)
	}
	if !slices.Contains([]string{"", "text", "json"}, c.LogFormat) {
		r.add(config+".logFormat", "%.100q must be text or json", c.LogFormat)
	}
	checkReferences(r, config, c)
	checkTLS(r, config+".istiodTLSConfig", c.IstiodTLSConfig)
	if server := c.Server; server != nil {
		if server.Port < 0 || server.Port > 65535 {
			r.add(config+".server.port", "%d must be from 1 to 65535", server.Port)
		}
		if len(server.ClusterID) > 253 {
			r.add(config+".server.clusterID", "has %d characters, and may have 253", len(server.ClusterID))
		}
	}
}

// CanBeFollowed says whether what an IstioCSR refers to has names under which it can be
// looked up at all. What is wrong with them is among the problems of [Check].
func CanBeFollowed(ic *operatorv1alpha1.IstioCSR) bool {
	var r refusals
	checkReferences(&r, "", ic.Spec.IstioCSRConfig)
	checkRuntimeName(&r, "", ic)
	return ic.Spec.Undecodable == "" && len(r) == 0
}

func checkReferences(r *refusals, config string, c operatorv1alpha1.IstioCSRConfig) {
	checkIssuerRef(r, config+".certManager.issuerRef", c.CertManager.IssuerRef)
	if reference := c.CertManager.IstioCACertificate; reference != nil {
		checkReference(r, config+".certManager.istioCACertificate", *reference)
	}
	r.addAll(config+".istio.namespace", c.Istio.Namespace, validation.IsDNS1123Label(c.Istio.Namespace))
}

func checkIssuerRef(r *refusals, path string, reference operatorv1alpha1.IssuerReference) {
	r.addAll(path+".name", reference.Name, validation.IsDNS1123Subdomain(reference.Name))
	if !strings.EqualFold(reference.Kind, KindIssuer) && !strings.EqualFold(reference.Kind, KindClusterIssuer) {
		r.add(path+".kind", "%.100q must be Issuer or ClusterIssuer", reference.Kind)
	}
	if !strings.EqualFold(reference.Group, GroupCertManager) {
		r.add(path+".group", "%.100q must be %s", reference.Group, GroupCertManager)
	}
}

func checkReference(r *refusals, path string, reference operatorv1alpha1.ConfigMapReference) {
	r.addAll(path+".name", reference.Name, validation.IsDNS1123Subdomain(reference.Name))
	if reference.Namespace != "" {
		r.addAll(path+".namespace", reference.Namespace, validation.IsDNS1123Label(reference.Namespace))
	}
	r.addAll(path+".key", reference.Key, validation.IsConfigMapKey(reference.Key))
}

// keySizes are those of each algorithm.
var keySizes = map[string][]int32{"RSA": {2048, 4096, 8192}, "ECDSA": {256, 384}}

func checkTLS(r *refusals, path string, c operatorv1alpha1.IstiodTLSConfig) {
	if len(c.CommonName) > maxCommonName {
		r.add(path+".commonName", "has %d characters, and may have %d", len(c.CommonName), maxCommonName)
	}
	r.addAll(path+".trustDomain", c.TrustDomain, validation.IsDNS1123Subdomain(c.TrustDomain))
	if len(c.TrustDomain) > 63 {
		r.add(path+".trustDomain", "has %d characters, and may have 63", len(c.TrustDomain))
	}
	algorithm, size := keyOf(c)
	switch sizes, ok := keySizes[algorithm]; {
	case !ok:
		r.add(path+".privateKeyAlgorithm", "%.100q must be RSA or ECDSA", algorithm)
	case !slices.Contains(sizes, size):
		r.add(path+".privateKeySize", "%d must be one of %v, as the algorithm is %s", size, sizes, algorithm)
	}
}

// trustedAccount is NAMESPACE/NAME.
var trustedAccount = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?/[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`)

// checkStoredAgent does for spec.agentConfig what checkStored does for the rest.
func checkStoredAgent(r *refusals, path string, agent operatorv1alpha1.AgentConfig) {
	if agent.Replicas != nil && *agent.Replicas < 0 {
		r.add(path+".replicas", "%d must not be negative", *agent.Replicas)
	}
	if budget := agent.PodDisruptionBudget; budget != nil {
		if (budget.MinAvailable == nil) == (budget.MaxUnavailable == nil) {
			r.add(path+".podDisruptionBudget", "exactly one of minAvailable and maxUnavailable must be set")
		}
		checkCount(r, path+".podDisruptionBudget.minAvailable", budget.MinAvailable)
		checkCount(r, path+".podDisruptionBudget.maxUnavailable", budget.MaxUnavailable)
	}
	for i, account := range agent.TrustedNodeAccounts {
		if !trustedAccount.MatchString(account) {
			r.add(fmt.Sprintf("%s.trustedNodeAccounts[%d]", path, i), "%.100q must be NAMESPACE/NAME", account)
		}
	}
	if monitor := agent.ServiceMonitor; monitor != nil && monitor.Interval != "" {
		if interval, err := time.ParseDuration(monitor.Interval); err != nil || interval <= 0 {
			r.add(path+".serviceMonitor.interval", "%.100q must be a duration longer than 0s, such as 30s", monitor.Interval)
		}
	}
	checkExtras(r, path, agent)
	if agent.NetworkPolicy != nil {
		checkNetworkPolicy(r, path+".networkPolicy", *agent.NetworkPolicy)
	}
	if agent.TLS != nil {
		checkAgentTLS(r, path+".tls", *agent.TLS)
	}
}

// checkExtras finds what the API server, or the agent, would not take of what is put on
// objects and into arguments.
func checkExtras(r *refusals, path string, agent operatorv1alpha1.AgentConfig) {
	for i, name := range agent.ServingDNSNames {
		r.addAll(fmt.Sprintf("%s.servingDNSNames[%d]", path, i), name, checkDNSName(name))
	}
	for i, name := range agent.ImagePullSecrets {
		r.addAll(fmt.Sprintf("%s.imagePullSecrets[%d]", path, i), name, validation.IsDNS1123Subdomain(name))
	}
	checkAnnotations(r, path+".podAnnotations", agent.PodAnnotations)
	checkAnnotations(r, path+".deploymentAnnotations", agent.DeploymentAnnotations)
	checkAnnotations(r, path+".certificateRequestAnnotations", agent.CertificateRequestAnnotations)
	for _, key := range slices.Sorted(maps.Keys(agent.CertificateRequestAnnotations)) {
		if value := agent.CertificateRequestAnnotations[key]; strings.ContainsAny(value, ",\"\r\n") {
			r.add(path+".certificateRequestAnnotations["+key+"]", "%.100q must have no comma, quotation mark or line break, on which the agent exits", value)
		}
	}
	if count := agent.MaxConcurrentReconciles; count != nil && *count < 1 {
		r.add(path+".maxConcurrentReconciles", "%d must be 1 or more", *count)
	}
	service := agent.Service
	if service == nil {
		return
	}
	checkAnnotations(r, path+".service.annotations", service.Annotations)
	if !slices.Contains([]string{"", serviceType, "NodePort", "LoadBalancer"}, service.Type) {
		r.add(path+".service.type", "%.100q must be ClusterIP, NodePort or LoadBalancer", service.Type)
	}
	if service.NodePort < 0 || service.NodePort > 65535 || service.NodePort > 0 && cmp.Or(service.Type, serviceType) == serviceType {
		r.add(path+".service.nodePort", "%d must be from 1 to 65535, with type NodePort or LoadBalancer", service.NodePort)
	}
}

func checkAnnotations(r *refusals, path string, set map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(set)) {
		r.addAll(path, key, validation.IsQualifiedName(strings.ToLower(key)))
	}
}

func checkAgentTLS(r *refusals, path string, c operatorv1alpha1.AgentTLS) {
	if !slices.Contains([]string{"", "1.2", "1.3"}, c.MinVersion) {
		r.add(path+".minVersion", "%.100q must be 1.2 or 1.3", c.MinVersion)
	}
	for i, suite := range c.CipherSuites {
		if !isCipherSuite(suite) {
			r.add(fmt.Sprintf("%s.cipherSuites[%d]", path, i), "%.100q is not a cipher suite that istio-csr knows, and istio-csr would exit", suite)
		}
	}
	for i, curve := range c.CurvePreferences {
		if !isCurve(curve) {
			r.add(fmt.Sprintf("%s.curvePreferences[%d]", path, i), "%.100q is not a curve that istio-csr knows, and istio-csr would exit: use X25519, CurveP256, CurveP384, CurveP521, or the number of a curve", curve)
		}
	}
}

// isCipherSuite says whether a name is one of Go's, which are the agent's, or a short form
// that it takes as well.
func isCipherSuite(name string) bool {
	return slices.ContainsFunc(slices.Concat(tls.CipherSuites(), tls.InsecureCipherSuites()), func(suite *tls.CipherSuite) bool {
		return suite.Name == name || strings.HasSuffix(suite.Name, "_CHACHA20_POLY1305_SHA256") && suite.Name == name+"_SHA256"
	})
}

// isCurve says whether the agent takes a name, or a number, for a curve.
func isCurve(name string) bool {
	if slices.Contains([]string{"X25519", "CurveP256", "P256", "CurveP384", "P384", "CurveP521", "P521"}, name) {
		return true
	}
	_, err := strconv.ParseUint(name, 10, 16)
	return err == nil
}

// percentage is from 0% to 100%.
var percentage = regexp.MustCompile(`^(\d{1,2}|100)%$`)

// checkCount finds what a PodDisruptionBudget does not take.
func checkCount(r *refusals, path string, count *intstr.IntOrString) {
	if count != nil && (count.Type == intstr.Int && count.IntVal < 0 || count.Type == intstr.String && !percentage.MatchString(count.StrVal)) {
		r.add(path, "%.100q must be 0 or more, or a percentage up to 100%%", count.String())
	}
}

func checkNetworkPolicy(r *refusals, path string, policy operatorv1alpha1.NetworkPolicy) {
	if !slices.Contains([]string{"", "Restricted", operatorv1alpha1.NetworkPolicyNone}, policy.Mode) {
		r.add(path+".mode", "%.100q must be Restricted or None", policy.Mode)
	}
	for i, port := range policy.APIServerPorts {
		if port < 1 || port > 65535 {
			r.add(fmt.Sprintf("%s.apiServerPorts[%d]", path, i), "%d must be from 1 to 65535", port)
		}
	}
	if policy.MonitoringNamespace != "" {
		r.addAll(path+".monitoringNamespace", policy.MonitoringNamespace, validation.IsDNS1123Label(policy.MonitoringNamespace))
	}
}
