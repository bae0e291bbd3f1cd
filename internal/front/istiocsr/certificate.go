// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
)

const (
	defaultAlgorithm = "RSA"
	defaultKeySize   = 2048
	defaultRevision  = "default"
)

// isDynamic says whether the agent makes the certificate of istiod itself.
func isDynamic(ic *operatorv1alpha1.IstioCSR) bool {
	return askedOf(ic).IstiodCertificate == operatorv1alpha1.IstiodCertificateDynamic
}

// certificate is that of istiod.
func (o objects) certificate() *unstructured.Unstructured {
	c := o.IstioCSR.Spec.IstioCSRConfig
	d := durationsOf(o.IstioCSR)
	algorithm, size := keyOf(c.IstiodTLSConfig)
	spec := map[string]any{
		"uris":        []any{"spiffe://" + c.IstiodTLSConfig.TrustDomain + "/ns/" + o.mesh + "/sa/istiod-service-account"},
		"secretName":  CertificateTarget,
		"isCA":        false,
		"duration":    d.certificate.String(),
		"renewBefore": d.renewBefore.String(),
		"privateKey": map[string]any{
			"rotationPolicy": "Always",
			"algorithm":      algorithm,
			"size":           int64(size),
		},
		"revisionHistoryLimit": int64(1),
		"issuerRef":            map[string]any{"name": c.CertManager.IssuerRef.Name, "kind": IssuerKind(o.IstioCSR), "group": GroupCertManager},
	}
	if name := cmp.Or(c.IstiodTLSConfig.CommonName, istiodHost(defaultRevision, o.mesh)); len(name) <= maxCommonName {
		spec["commonName"] = name
	}
	if names := o.dnsNames(); len(names) > 0 {
		spec["dnsNames"] = names
	}
	return with(o.object("cert-manager.io/v1", "Certificate", o.mesh, CertificateName), "spec", spec)
}

// keyOf are algorithm and size of the private keys.
func keyOf(c operatorv1alpha1.IstiodTLSConfig) (algorithm string, size int32) {
	return cmp.Or(c.PrivateKeyAlgorithm, defaultAlgorithm), cmp.Or(c.PrivateKeySize, defaultKeySize)
}

// dnsNames are the user's, and then those of the revisions of istiod.
func (o objects) dnsNames() []any {
	c := o.IstioCSR.Spec.IstioCSRConfig
	var names []any
	add := func(name string) {
		if !slices.Contains(names, any(name)) {
			names = append(names, name)
		}
	}
	for _, name := range c.IstiodTLSConfig.CertificateDNSNames {
		add(name)
	}
	for _, revision := range c.Istio.Revisions {
		add(istiodHost(revision, o.mesh))
	}
	return names
}

// istiodHost is the DNS name of a revision of istiod.
func istiodHost(revision, namespace string) string {
	if revision == defaultRevision {
		return "istiod." + namespace + ".svc"
	}
	return "istiod-" + revision + "." + namespace + ".svc"
}

func durationsOf(ic *operatorv1alpha1.IstioCSR) durations {
	c := ic.Spec.IstioCSRConfig.IstiodTLSConfig
	return durations{
		certificate: orElse(c.CertificateDuration, time.Hour),
		renewBefore: orElse(c.CertificateRenewBefore, 30*time.Minute),
		longest:     orElse(c.MaxCertificateDuration, time.Hour),
	}
}

func orElse(set *metav1.Duration, fallback time.Duration) time.Duration {
	if set == nil {
		return fallback
	}
	return set.Duration
}

// Overlap is how long certificates that an old root has signed may be in use after the
// roots have changed.
func Overlap(ic *operatorv1alpha1.IstioCSR) time.Duration {
	d := durationsOf(ic)
	return max(d.certificate, d.longest)
}
