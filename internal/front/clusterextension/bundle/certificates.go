// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Certificates says where webhooks get their certificates from.
type Certificates string

const (
	// NoCertificates refuses bundles with webhooks.
	NoCertificates Certificates = ""
	// CertManager takes them from cert-manager.
	CertManager Certificates = "cert-manager"
	// ServiceCA takes them from the service CA of OpenShift.
	ServiceCA Certificates = "service-ca"
)

// ChooseCertificates is where webhooks get their certificates from: what was chosen before stays, then
// what the manager is set to counts, then cert-manager comes before the service CA of OpenShift.
func ChooseCertificates(before, set Certificates, certManager, openShift bool) Certificates {
	switch {
	case before != NoCertificates:
		return before
	case set != NoCertificates:
		return set
	case certManager:
		return CertManager
	case openShift:
		return ServiceCA
	default:
		return NoCertificates
	}
}

// HasWebhooks says whether the bundle needs certificates.
func (b *Bundle) HasWebhooks() bool {
	return b.registry != nil && len(b.registry.csv.Spec.Webhooks) > 0
}

const (
	annotationInjectFrom    = "cert-manager.io/inject-ca-from"
	annotationServingCert   = "service.beta.openshift.io/serving-cert-secret-name"
	annotationInjectService = "service.beta.openshift.io/inject-cabundle"

	certManagerVersion = "cert-manager.io/v1"

	// maxCommonName is how long the common name of a certificate may be.
	maxCommonName = 64
)

// injection are the annotations with which the CA gets into an object that names a webhook of a
// Deployment.
func (g *rendering) injection(deployment string) map[string]string {
	switch g.target.Certificates {
	case CertManager:
		return map[string]string{annotationInjectFrom: g.target.Namespace + "/" + certificateName(deployment)}
	case ServiceCA:
		return map[string]string{annotationInjectService: "true"}
	default:
		return nil
	}
}

// certificates are what cert-manager makes a certificate from for each Deployment with webhooks. The
// service CA needs no object.
func (g *rendering) certificates() ([]*unstructured.Unstructured, error) {
	if g.target.Certificates != CertManager {
		return nil, nil
	}
	var objects []*unstructured.Unstructured
	for _, deployment := range slices.Sorted(maps.Keys(g.served)) {
		name := certificateName(deployment)
		issuer := newObject(certManagerVersion, "Issuer", g.target.Namespace, suffixed(name, "selfsigned-issuer"))
		issuer.Object["spec"] = map[string]any{"selfSigned": map[string]any{}}
		certificate := newObject(certManagerVersion, "Certificate", g.target.Namespace, name)
		host := serviceName(deployment) + "." + g.target.Namespace
		spec := map[string]any{
			"secretName": name,
			"dnsNames":   []any{host, host + ".svc", host + ".svc.cluster.local"},
			"usages":     []any{"server auth"},
			"isCA":       false,
			"duration":   "17520h0m0s", "renewBefore": "24h0m0s",
			"issuerRef": map[string]any{"name": issuer.GetName()},
		}
		// A longer one is refused; clients look at the DNS names alone.
		if len(host) <= maxCommonName {
			spec["commonName"] = host
		}
		certificate.Object["spec"] = spec
		objects = append(objects, issuer, certificate)
	}
	return objects, nil
}

// mount is where a certificate stands in the pods, under the names that libraries for operators expect.
type mount struct {
	volume, path, certificate, key string
}

var mounts = []mount{
	{volume: "apiservice-cert", path: "/apiserver.local.config/certificates", certificate: "apiserver.crt", key: "apiserver.key"},
	{volume: "webhook-cert", path: "/tmp/k8s-webhook-server/serving-certs", certificate: "tls.crt", key: "tls.key"},
}

// mountCertificate puts the certificate of a Secret into every container. Volumes of the same name are
// replaced, and so is what containers mount in the same place.
func mountCertificate(pod *corev1.PodSpec, secret string) {
	for _, m := range mounts {
		replaced := []string{m.volume}
		for _, container := range pod.Containers {
			for _, other := range container.VolumeMounts {
				if other.MountPath == m.path {
					replaced = append(replaced, other.Name)
				}
			}
		}
		pod.Volumes = slices.DeleteFunc(pod.Volumes, func(v corev1.Volume) bool { return slices.Contains(replaced, v.Name) })
		pod.Volumes = append(pod.Volumes, corev1.Volume{Name: m.volume, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
			SecretName: secret,
			Items:      []corev1.KeyToPath{{Key: "tls.crt", Path: m.certificate}, {Key: "tls.key", Path: m.key}},
		}}})
		for i := range pod.Containers {
			c := &pod.Containers[i]
			c.VolumeMounts = slices.DeleteFunc(c.VolumeMounts, func(v corev1.VolumeMount) bool { return slices.Contains(replaced, v.Name) })
			c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: m.volume, MountPath: m.path})
		}
	}
}
