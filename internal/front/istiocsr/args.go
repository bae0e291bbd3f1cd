// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
)

// args are the agent's. Their order is that of the operator before, since pods with
// other arguments are other pods.
func (o objects) args() []any {
	c := o.IstioCSR.Spec.IstioCSRConfig
	d := durationsOf(o.IstioCSR)
	algorithm, bits := keyOf(c.IstiodTLSConfig)
	size := strconv.Itoa(int(bits))
	var args []any
	set := func(flag, value string) { args = append(args, "--"+flag+"="+value) }
	set("log-level", strconv.Itoa(int(cmp.Or(c.LogLevel, 1))))
	set("log-format", cmp.Or(c.LogFormat, "text"))
	set("metrics-port", strconv.Itoa(metricsPort))
	set("readiness-probe-port", strconv.Itoa(readinessPort))
	set("readiness-probe-path", "/readyz")
	set("certificate-namespace", o.mesh)
	set("issuer-enabled", "true")
	set("preserve-certificate-requests", "false")
	set("issuer-name", c.CertManager.IssuerRef.Name)
	set("issuer-kind", IssuerKind(o.IstioCSR))
	set("issuer-group", GroupCertManager)
	set("root-ca-file", caMountPath+"/"+CAKey)
	set("serving-certificate-dns-names", strings.Join(append([]string{serviceHost(o.namespace)}, askedOf(o.IstioCSR).ServingDNSNames...), ","))
	set("serving-certificate-duration", exact(d.certificate))
	set("trust-domain", c.IstiodTLSConfig.TrustDomain)
	set("cluster-id", clusterID(o.IstioCSR))
	set("max-client-certificate-duration", exact(d.longest))
	set("serving-address", fmt.Sprintf("0.0.0.0:%d", servingPort))
	set("serving-certificate-key-size", size)
	set("serving-signature-algorithm", algorithm)
	set("enable-client-cert-authenticator", "false")
	set("leader-election-namespace", o.mesh)
	set("disable-kubernetes-client-rate-limiter", strconv.FormatBool(askedOf(o.IstioCSR).DisableKubernetesClientRateLimiter))
	set(flagIstiodEnabled, strconv.FormatBool(isDynamic(o.IstioCSR)))
	set(flagIstiodNamespace, o.mesh)
	set("istiod-cert-duration", exact(d.certificate))
	set("istiod-cert-renew-before", exact(d.renewBefore))
	set("istiod-cert-key-algorithm", algorithm)
	set("istiod-cert-key-size", size)
	set("istiod-cert-additional-dns-names", strings.Join(c.IstiodTLSConfig.CertificateDNSNames, ","))
	set("istiod-cert-istio-revisions", strings.Join(c.Istio.Revisions, ","))
	if c.IstioDataPlaneNamespaceSelector != "" {
		set("configmap-namespace-selector", c.IstioDataPlaneNamespaceSelector)
	}
	return append(args, o.optionalArgs()...)
}

// option is an optional argument, and the field of spec.agentConfig that asks for it.
type option struct {
	field, flag string
	values      []string
}

// optionalArgs are those of spec.agentConfig that the agent is known to have.
func (o objects) optionalArgs() []any {
	var args []any
	version := imageOf(o.IstioCSR, o.Image).Version
	for _, option := range optionsOf(o.IstioCSR) {
		for _, value := range option.values {
			if hasFlag(version, option.flag) {
				args = append(args, "--"+option.flag+"="+value)
			}
		}
	}
	return args
}

// optionsOf are the optional arguments that are asked for.
func optionsOf(ic *operatorv1alpha1.IstioCSR) []option {
	agent := ic.Spec.AgentConfig
	if agent == nil {
		return nil
	}
	var all []option
	add := func(field, flag string, values ...string) {
		if len(values) > 0 && values[0] != "" {
			all = append(all, option{field, flag, values})
		}
	}
	add("trustedNodeAccounts", flagTrustedAccounts, strings.Join(trustedAccounts(agent), ","))
	if count := agent.MaxConcurrentReconciles; count != nil {
		add("maxConcurrentReconciles", flagReconciles, strconv.Itoa(int(*count)))
	}
	var annotations []string
	for _, key := range slices.Sorted(maps.Keys(agent.CertificateRequestAnnotations)) {
		annotations = append(annotations, key+"="+agent.CertificateRequestAnnotations[key])
	}
	add("certificateRequestAnnotations", flagAnnotations, annotations...)
	if name := agent.RuntimeIssuerConfigMap; name != "" {
		add("runtimeIssuerConfigMap", flagRuntimeName, name)
		add("runtimeIssuerConfigMap", flagRuntimeNamespace, ic.Namespace)
	}
	if isDynamic(ic) {
		// Under the name that it has when we make it, so that it stays one Certificate.
		add("istiodCertificate", flagIstiodName, CertificateName)
	}
	if tls := agent.TLS; tls != nil {
		if tls.MinVersion != "" {
			add("tls.minVersion", flagTLSVersion, "VersionTLS"+strings.ReplaceAll(tls.MinVersion, ".", ""))
		}
		add("tls.cipherSuites", flagTLSSuites, tls.CipherSuites...)
		add("tls.curvePreferences", flagTLSCurves, tls.CurvePreferences...)
	}
	return all
}

// trustedAccounts are those that may ask on behalf of others, in one order.
func trustedAccounts(agent *operatorv1alpha1.AgentConfig) []string {
	if agent == nil {
		return nil
	}
	return slices.Sorted(slices.Values(agent.TrustedNodeAccounts))
}

// exact is a duration in whole minutes where it is one, as the operator before has
// written it, and else to the last digit.
func exact(d time.Duration) string {
	if d%time.Minute == 0 {
		return strconv.FormatInt(int64(d/time.Minute), 10) + "m"
	}
	return d.String()
}
