// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
	"github.com/strata-run/strata/internal/content"
)

// others are, for each field of a spec, another value than that of
// testdata/everything.yaml, as it stands in istioCSRConfig.FIELD. What has to change with
// it follows.
var others = map[string]string{
	"istioCSRConfig.logLevel":                               "4",
	"istioCSRConfig.logFormat":                              "text",
	"istioCSRConfig.istioDataPlaneNamespaceSelector":        "a=b",
	"istioCSRConfig.certManager.issuerRef.name":             "other",
	"istioCSRConfig.certManager.issuerRef.kind":             "Issuer",
	"istioCSRConfig.istiodTLSConfig.commonName":             "other",
	"istioCSRConfig.istiodTLSConfig.trustDomain":            "other",
	"istioCSRConfig.istiodTLSConfig.certificateDNSNames":    "[other]",
	"istioCSRConfig.istiodTLSConfig.certificateDuration":    "3h",
	"istioCSRConfig.istiodTLSConfig.certificateRenewBefore": "45m31s",
	"istioCSRConfig.istiodTLSConfig.maxCertificateDuration": "91s",
	"istioCSRConfig.istiodTLSConfig.privateKeySize":         "256",
	"istioCSRConfig.istiodTLSConfig.privateKeyAlgorithm":    "RSA; istioCSRConfig.istiodTLSConfig.privateKeySize=2048",
	"istioCSRConfig.server.clusterID":                       "other",
	"istioCSRConfig.server.port":                            "8444",
	"istioCSRConfig.istio.revisions":                        "[default]",
	"istioCSRConfig.istio.namespace":                        "other",
	"istioCSRConfig.resources":                              "{}",
	"istioCSRConfig.affinity":                               "null",
	"istioCSRConfig.tolerations":                            "[]",
	"istioCSRConfig.nodeSelector":                           "{other: ''}",
	"controllerConfig.labels":                               "{team: other}",
	"agentConfig.image.reference":                           "quay.io/jetstack/cert-manager-istio-csr:v0.16.1",
	"agentConfig.image.version":                             "'v0.17.3'; agentConfig.tls=null",
	"agentConfig.replicas":                                  "3",
	"agentConfig.podDisruptionBudget.minAvailable":          "50%",
	"agentConfig.podDisruptionBudget.maxUnavailable":        "1; agentConfig.podDisruptionBudget.minAvailable=null",
	"agentConfig.topologySpreadConstraints":                 "[]",
	"agentConfig.priorityClassName":                         "other",
	"agentConfig.serviceMonitor.labels":                     "{release: other}",
	"agentConfig.serviceMonitor.interval":                   "31s",
	"agentConfig.networkPolicy.mode":                        "None",
	"agentConfig.networkPolicy.apiServerPorts":              "[443]",
	"agentConfig.networkPolicy.dns":                         "false",
	"agentConfig.networkPolicy.monitoringNamespace":         "other",
	"agentConfig.trustedNodeAccounts":                       "[other/ztunnel]",
	"agentConfig.servingDNSNames":                           "[other]",
	"agentConfig.service.type":                              "LoadBalancer",
	"agentConfig.service.nodePort":                          "30444",
	"agentConfig.service.annotations":                       "{a/b: other}",
	"agentConfig.imagePullSecrets":                          "[other]",
	"agentConfig.podAnnotations":                            "{a/b: other}",
	"agentConfig.deploymentAnnotations":                     "{a/b: other}",
	"agentConfig.deploymentLabels":                          "{a/b: other}",
	"agentConfig.runtimeIssuerConfigMap":                    "other",
	"agentConfig.istiodCertificate":                         "Dynamic",
	"agentConfig.certificateRequestAnnotations":             "{a/b: other}",
	"agentConfig.disableKubernetesClientRateLimiter":        "false",
	"agentConfig.maxConcurrentReconciles":                   "3",
	"agentConfig.tls.minVersion":                            "'1.2'",
	"agentConfig.tls.cipherSuites":                          "[TLS_AES_128_GCM_SHA256]",
	"agentConfig.tls.curvePreferences":                      "[CurveP256, X25519]",
}

// elsewhere are the fields that make no other package, and why.
var elsewhere = map[string]string{
	"istioCSRConfig.certManager.issuerRef.group":              "it has one value, in any spelling",
	"istioCSRConfig.certManager.istioCACertificate.name":      "the CA certificates are in no revision: package cabundle",
	"istioCSRConfig.certManager.istioCACertificate.namespace": "the CA certificates are in no revision: package cabundle",
	"istioCSRConfig.certManager.istioCACertificate.key":       "the CA certificates are in no revision: package cabundle",
}

// fieldsOf are the paths of the fields of a type, as far as the types are our own.
func fieldsOf(t *testing.T, kind reflect.Type, path string) []string {
	t.Helper()
	for kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	if kind.Kind() != reflect.Struct || kind.PkgPath() != reflect.TypeFor[operatorv1alpha1.IstioCSRSpec]().PkgPath() {
		return []string{strings.TrimPrefix(path, ".")}
	}
	var all []string
	for field := range kind.Fields() {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "-" {
			if name == "" {
				t.Fatalf("field %s of %s has no name", field.Name, kind)
			}
			all = append(all, fieldsOf(t, field.Type, path+"."+name)...)
		}
	}
	return all
}

// renderedWith is the content that is rendered of testdata/everything.yaml with other
// values of fields.
func renderedWith(t *testing.T, changes ...string) string {
	t.Helper()
	source, err := os.ReadFile("testdata/everything.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var tree map[string]any
	if err := yaml.Unmarshal(source, &tree); err != nil {
		t.Fatal(err)
	}
	for _, change := range changes {
		path, text, _ := strings.Cut(change, "=")
		var value any
		if err := yaml.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		fields := strings.Split("spec."+path, ".")
		inner, ok := at(tree, fields[:len(fields)-1]).(map[string]any)
		if !ok {
			t.Fatalf("testdata/everything.yaml has nothing at %s", path)
		}
		inner[fields[len(fields)-1]] = value
	}
	document, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	ic := &operatorv1alpha1.IstioCSR{}
	if err := yaml.UnmarshalStrict(document, ic); err != nil || ic.Spec.Undecodable != "" {
		t.Fatal(err, ic.Spec.Undecodable)
	}
	p := Render(Input{IstioCSR: ic, Image: image, Facts: working()})
	if p.Blocked != "" {
		t.Fatalf("it is held: %s", p.Blocked)
	}
	return golden(t, content.Package{Phases: p.Phases})
}

// TestRender_EveryField: each field of the API makes another revision, so that one that
// is new and has no effect does not pass.
func TestRender_EveryField(t *testing.T) {
	fields := fieldsOf(t, reflect.TypeFor[operatorv1alpha1.IstioCSRSpec](), "")
	before := renderedWith(t)
	for _, field := range fields {
		value, ok := others[field]
		if _, away := elsewhere[field]; !ok && !away {
			t.Errorf("nothing is known of field %s: give it an effect, and another value here", field)
		}
		if ok {
			t.Run(field, func(t *testing.T) {
				if renderedWith(t, strings.Split(field+"="+value, "; ")...) == before {
					t.Errorf("%s=%s makes no other revision", field, value)
				}
			})
		}
	}
	for field := range maps.Keys(others) {
		if !slices.Contains(fields, field) {
			t.Errorf("there is no field %s", field)
		}
	}
	for field, why := range elsewhere {
		if !slices.Contains(fields, field) {
			t.Errorf("there is no field %s (%s)", field, why)
		}
	}
}
