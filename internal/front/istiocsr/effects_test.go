// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
)

type config = operatorv1alpha1.IstioCSRConfig

// effects are the fields of a spec, each with what it has to do to the package: an
// argument, or KIND/NAME PATH=VALUE.
var effects = map[string]struct {
	set  func(ic *operatorv1alpha1.IstioCSR, c *config)
	want []string
}{
	"LogLevel":  {func(_ *operatorv1alpha1.IstioCSR, c *config) { c.LogLevel = 5 }, []string{"--log-level=5"}},
	"LogFormat": {func(_ *operatorv1alpha1.IstioCSR, c *config) { c.LogFormat = "json" }, []string{"--log-format=json"}},
	"Selector": {func(_ *operatorv1alpha1.IstioCSR, c *config) {
		c.IstioDataPlaneNamespaceSelector = "maistra.io/member-of=istio-system"
	}, []string{"--configmap-namespace-selector=maistra.io/member-of=istio-system"}},
	"IssuerName": {func(_ *operatorv1alpha1.IstioCSR, c *config) { c.CertManager.IssuerRef.Name = "vault" }, []string{"--issuer-name=vault", "Certificate/istiod spec.issuerRef.name=vault"}},
	"IssuerSpelling": {func(_ *operatorv1alpha1.IstioCSR, c *config) {
		c.CertManager.IssuerRef.Kind, c.CertManager.IssuerRef.Group = "clusterissuer", "Cert-Manager.io"
	}, []string{"--issuer-kind=ClusterIssuer", "--issuer-group=cert-manager.io", "Certificate/istiod spec.issuerRef.kind=ClusterIssuer", "Certificate/istiod spec.issuerRef.group=cert-manager.io"}},
	"CommonName":  {func(_ *operatorv1alpha1.IstioCSR, c *config) { c.IstiodTLSConfig.CommonName = "istiod" }, []string{"Certificate/istiod spec.commonName=istiod"}},
	"TrustDomain": {func(_ *operatorv1alpha1.IstioCSR, c *config) { c.IstiodTLSConfig.TrustDomain = "example.com" }, []string{"--trust-domain=example.com", "Certificate/istiod spec.uris=[spiffe://example.com/ns/istio-system/sa/istiod-service-account]"}},
	"DNSNames": {func(_ *operatorv1alpha1.IstioCSR, c *config) {
		c.IstiodTLSConfig.CertificateDNSNames = []string{"b.example.com", "a.example.com"}
	}, []string{"--istiod-cert-additional-dns-names=b.example.com,a.example.com", "Certificate/istiod spec.dnsNames=[b.example.com a.example.com istiod.istio-system.svc]"}},
	"Duration": {func(_ *operatorv1alpha1.IstioCSR, c *config) {
		c.IstiodTLSConfig.CertificateDuration = duration(90*time.Minute + 30*time.Second)
	}, []string{"--serving-certificate-duration=1h30m30s", "--istiod-cert-duration=1h30m30s", "Certificate/istiod spec.duration=1h30m30s"}},
	"RenewBefore": {func(_ *operatorv1alpha1.IstioCSR, c *config) {
		c.IstiodTLSConfig.CertificateRenewBefore = duration(20 * time.Minute)
	}, []string{"--istiod-cert-renew-before=20m", "Certificate/istiod spec.renewBefore=20m0s"}},
	"MaxDuration": {func(_ *operatorv1alpha1.IstioCSR, c *config) {
		c.IstiodTLSConfig.MaxCertificateDuration = duration(90 * time.Second)
	}, []string{"--max-client-certificate-duration=1m30s"}},
	"Key": {func(_ *operatorv1alpha1.IstioCSR, c *config) {
		c.IstiodTLSConfig.PrivateKeyAlgorithm, c.IstiodTLSConfig.PrivateKeySize = "ECDSA", 384
	}, []string{"--serving-signature-algorithm=ECDSA", "--serving-certificate-key-size=384", "--istiod-cert-key-algorithm=ECDSA", "--istiod-cert-key-size=384", "Certificate/istiod spec.privateKey.algorithm=ECDSA", "Certificate/istiod spec.privateKey.size=384"}},
	"ClusterID": {func(_ *operatorv1alpha1.IstioCSR, c *config) {
		c.Server = &operatorv1alpha1.ServerConfig{ClusterID: "west"}
	}, []string{"--cluster-id=west"}},
	"NoClusterID": {func(_ *operatorv1alpha1.IstioCSR, c *config) { c.Server = &operatorv1alpha1.ServerConfig{Port: 443} }, []string{"--cluster-id=Kubernetes"}},
	"Port": {func(_ *operatorv1alpha1.IstioCSR, c *config) {
		c.Server = &operatorv1alpha1.ServerConfig{Port: 8443}
	}, []string{"Service/cert-manager-istio-csr spec.ports=[map[name:web port:8443 protocol:TCP targetPort:6443]]"}},
	"Revisions": {func(_ *operatorv1alpha1.IstioCSR, c *config) {
		c.Istio.Revisions = []string{"default", "canary", "default"}
	}, []string{"--istiod-cert-istio-revisions=default,canary,default", "Certificate/istiod spec.dnsNames=[istiod.istio-system.svc istiod-canary.istio-system.svc]"}},
	"NoRevisions": {func(_ *operatorv1alpha1.IstioCSR, c *config) { c.Istio.Revisions = []string{} }, []string{"--istiod-cert-istio-revisions=", "Certificate/istiod spec.dnsNames=<nil>"}},
	"Namespace": {func(_ *operatorv1alpha1.IstioCSR, c *config) { c.Istio.Namespace = "mesh" }, []string{
		"--certificate-namespace=mesh", "--leader-election-namespace=mesh", "--istiod-cert-namespace=mesh", "Certificate/istiod metadata.namespace=mesh",
		"Certificate/istiod spec.commonName=istiod.mesh.svc", "Role/cert-manager-istio-csr metadata.namespace=mesh", "Role/cert-manager-istio-csr-leases metadata.namespace=mesh",
	}},
	"LongNamespace": {func(_ *operatorv1alpha1.IstioCSR, c *config) { c.Istio.Namespace = strings.Repeat("m", 60) }, []string{"Certificate/istiod spec.commonName=<nil>"}},
	"Resources": {func(_ *operatorv1alpha1.IstioCSR, c *config) {
		c.Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("10m")}
	}, []string{"Deployment/cert-manager-istio-csr requests:map[cpu:10m]"}},
	"Affinity": {func(_ *operatorv1alpha1.IstioCSR, c *config) {
		c.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: "kubernetes.io/hostname"}}}}
	}, []string{"Deployment/cert-manager-istio-csr spec.template.spec.affinity=map[podAntiAffinity:map[requiredDuringSchedulingIgnoredDuringExecution:[map[topologyKey:kubernetes.io/hostname]]]]"}},
	"Tolerations": {func(_ *operatorv1alpha1.IstioCSR, c *config) {
		c.Tolerations = []corev1.Toleration{{Key: "infra", Operator: "Exists"}}
	}, []string{"Deployment/cert-manager-istio-csr spec.template.spec.tolerations=[map[key:infra operator:Exists]]"}},
	"NodeSelector": {func(_ *operatorv1alpha1.IstioCSR, c *config) { c.NodeSelector = map[string]string{"infra": ""} }, []string{"Deployment/cert-manager-istio-csr spec.template.spec.nodeSelector=map[infra:]"}},
	"Labels": {func(ic *operatorv1alpha1.IstioCSR, _ *config) {
		ic.Spec.ControllerConfig = &operatorv1alpha1.ControllerConfig{Labels: map[string]string{"team": "mesh"}}
	}, []string{"ServiceAccount/cert-manager-istio-csr metadata.labels.team=mesh"}},
	"AgentNamespace": {func(ic *operatorv1alpha1.IstioCSR, _ *config) { ic.Namespace = "csr" }, []string{"--serving-certificate-dns-names=cert-manager-istio-csr.csr.svc", "Deployment/cert-manager-istio-csr metadata.namespace=csr"}},

	"Image":            {agent(operatorv1alpha1.AgentConfig{Image: &operatorv1alpha1.AgentImage{Reference: "example.com/csr:v0.16.0"}}), []string{"Deployment/cert-manager-istio-csr image:example.com/csr:v0.16.0", "ServiceAccount/cert-manager-istio-csr metadata.labels.app\\kubernetes\\io/version=v0.16.0"}},
	"Replicas":         {agent(operatorv1alpha1.AgentConfig{Replicas: new(int32(3))}), []string{"Deployment/cert-manager-istio-csr spec.replicas=3"}},
	"NoReplicas":       {agent(operatorv1alpha1.AgentConfig{Replicas: new(int32(0))}), []string{"Deployment/cert-manager-istio-csr spec.replicas=0"}},
	"DisruptionBudget": {agent(operatorv1alpha1.AgentConfig{PodDisruptionBudget: &operatorv1alpha1.PodDisruptionBudget{MaxUnavailable: new(intstr.FromString("50%"))}}), []string{"PodDisruptionBudget/cert-manager-istio-csr spec.maxUnavailable=50%"}},
	"Spread": {agent(operatorv1alpha1.AgentConfig{TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: "ScheduleAnyway"}}}), []string{
		"Deployment/cert-manager-istio-csr spec.template.spec.topologySpreadConstraints=[map[labelSelector:map[matchLabels:map[app:cert-manager-istio-csr]] maxSkew:1 topologyKey:zone whenUnsatisfiable:ScheduleAnyway]]",
	}},
	"Priority": {agent(operatorv1alpha1.AgentConfig{PriorityClassName: "system-cluster-critical"}), []string{"Deployment/cert-manager-istio-csr spec.template.spec.priorityClassName=system-cluster-critical"}},
	"Monitor": {agent(operatorv1alpha1.AgentConfig{ServiceMonitor: &operatorv1alpha1.ServiceMonitor{Labels: map[string]string{"prometheus": "main", "app": "mine"}, Interval: "30s"}}), []string{
		"ServiceMonitor/cert-manager-istio-csr spec.endpoints=[map[interval:30s path:/metrics port:metrics]]", "ServiceMonitor/cert-manager-istio-csr metadata.labels.prometheus=main", "ServiceMonitor/cert-manager-istio-csr metadata.labels.app=cert-manager-istio-csr",
	}},
	"APIServerPorts": {agent(operatorv1alpha1.AgentConfig{NetworkPolicy: &operatorv1alpha1.NetworkPolicy{APIServerPorts: []int32{6443, 443}}}), []string{
		"NetworkPolicy/istio-csr-allow-egress-to-api-server spec.egress=[map[ports:[map[port:443 protocol:TCP] map[port:6443 protocol:TCP]]]]",
	}},
	"DNS": {agent(operatorv1alpha1.AgentConfig{NetworkPolicy: &operatorv1alpha1.NetworkPolicy{DNS: true}}), []string{"NetworkPolicy/istio-csr-allow-egress-to-dns spec.policyTypes=[Egress]"}},
	"MonitoringNamespace": {agent(operatorv1alpha1.AgentConfig{NetworkPolicy: &operatorv1alpha1.NetworkPolicy{MonitoringNamespace: "monitoring"}}), []string{
		"NetworkPolicy/istio-csr-allow-ingress-to-metrics kubernetes.io/metadata.name:monitoring",
	}},
	"TrustedAccounts": {agent(operatorv1alpha1.AgentConfig{TrustedNodeAccounts: []string{"z/ztunnel", "istio-system/ztunnel"}}), []string{
		"--ca-trusted-node-accounts=istio-system/ztunnel,z/ztunnel", "ClusterRole/cert-manager-istio-csr-cert-manager resources:[pods]",
	}},
	"ServingDNSNames": {agent(operatorv1alpha1.AgentConfig{ServingDNSNames: []string{"csr.example.com"}}), []string{"--serving-certificate-dns-names=cert-manager-istio-csr.cert-manager.svc,csr.example.com"}},
	"Service": {agent(operatorv1alpha1.AgentConfig{Service: &operatorv1alpha1.AgentService{Type: "NodePort", NodePort: 30443, Annotations: map[string]string{"a/b": "c"}}}), []string{
		"Service/cert-manager-istio-csr spec.type=NodePort", "Service/cert-manager-istio-csr spec.ports=[map[name:web nodePort:30443 port:443 protocol:TCP targetPort:6443]]",
		"Service/cert-manager-istio-csr metadata.annotations=map[a/b:c]", "Service/cert-manager-istio-csr-metrics spec.type=ClusterIP",
	}},
	"PullSecrets":           {agent(operatorv1alpha1.AgentConfig{ImagePullSecrets: []string{"b", "a"}}), []string{"Deployment/cert-manager-istio-csr spec.template.spec.imagePullSecrets=[map[name:a] map[name:b]]"}},
	"PodAnnotations":        {agent(operatorv1alpha1.AgentConfig{PodAnnotations: map[string]string{"a/b": "c"}}), []string{"Deployment/cert-manager-istio-csr spec.template.metadata.annotations=map[a/b:c]", "Deployment/cert-manager-istio-csr metadata.annotations=<nil>"}},
	"DeploymentAnnotations": {agent(operatorv1alpha1.AgentConfig{DeploymentAnnotations: map[string]string{"a/b": "c"}}), []string{"Deployment/cert-manager-istio-csr metadata.annotations=map[a/b:c]", "Deployment/cert-manager-istio-csr spec.template.metadata.annotations=<nil>"}},
	"DeploymentLabels": {agent(operatorv1alpha1.AgentConfig{DeploymentLabels: map[string]string{"team": "mesh", "app": "mine", "operator.openshift.io/istio-csr-pods": "as-found"}}), []string{
		"Deployment/cert-manager-istio-csr metadata.labels.team=mesh", "Deployment/cert-manager-istio-csr metadata.labels.app=cert-manager-istio-csr",
		`Deployment/cert-manager-istio-csr metadata.labels.operator\openshift\io/istio-csr-pods=<nil>`, "Deployment/cert-manager-istio-csr spec.template.metadata.labels.team=<nil>",
	}},
	"RuntimeIssuer": {func(ic *operatorv1alpha1.IstioCSR, c *operatorv1alpha1.IstioCSRConfig) {
		c.CertManager.IstioCACertificate = &operatorv1alpha1.ConfigMapReference{Name: "roots", Key: "ca.crt"}
		ic.Spec.AgentConfig = &operatorv1alpha1.AgentConfig{RuntimeIssuerConfigMap: "issuer"}
	}, []string{"--runtime-issuance-config-map-name=issuer", "--runtime-issuance-config-map-namespace=cert-manager", "--istiod-cert-enabled=false"}},
	"DynamicCertificate": {agent(operatorv1alpha1.AgentConfig{IstiodCertificate: "Dynamic"}), []string{
		"--istiod-cert-enabled=true", "--istiod-cert-name=istiod", "Role/cert-manager-istio-csr-dynamic-istiod resources:[certificates]",
		"RoleBinding/cert-manager-istio-csr-dynamic-istiod roleRef.name=cert-manager-istio-csr-dynamic-istiod",
	}},
	"RequestAnnotations": {agent(operatorv1alpha1.AgentConfig{CertificateRequestAnnotations: map[string]string{"b": "x=y=z", "a": "1"}}), []string{
		"--certificate-request-additional-annotations=a=1", "--certificate-request-additional-annotations=b=x=y=z",
	}},
	"NoRateLimiter": {agent(operatorv1alpha1.AgentConfig{DisableKubernetesClientRateLimiter: true}), []string{"--disable-kubernetes-client-rate-limiter=true"}},
	"Reconciles": {agent(operatorv1alpha1.AgentConfig{
		Image: &operatorv1alpha1.AgentImage{Reference: "example.com/csr:v0.17.0"}, MaxConcurrentReconciles: new(int32(8)),
	}), []string{"--max-concurrent-reconciles=8"}},
	"TLS": {agent(operatorv1alpha1.AgentConfig{
		Image: &operatorv1alpha1.AgentImage{Reference: "example.com/csr@sha256:" + strings.Repeat("0", 64), Version: "main"},
		TLS:   &operatorv1alpha1.AgentTLS{MinVersion: "1.3", CipherSuites: []string{"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"}, CurvePreferences: []string{"X25519"}},
	}), []string{"--serving-tls-min-version=VersionTLS13", "--serving-tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "--serving-tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "--serving-tls-curve-preferences=X25519"}},
}

func agent(config operatorv1alpha1.AgentConfig) func(ic *operatorv1alpha1.IstioCSR, c *operatorv1alpha1.IstioCSRConfig) {
	return func(ic *operatorv1alpha1.IstioCSR, _ *operatorv1alpha1.IstioCSRConfig) { ic.Spec.AgentConfig = &config }
}

// TestRender_Effects: each field does what it is for, and nothing holds the package
// back.
func TestRender_Effects(t *testing.T) {
	for name, tc := range effects {
		t.Run(name, func(t *testing.T) {
			ic := smallest()
			tc.set(ic, &ic.Spec.IstioCSRConfig)
			p := Render(Input{IstioCSR: ic, Image: image, Facts: working()})
			if p.Blocked != "" {
				t.Fatalf("it is held: %s", p.Blocked)
			}
			for _, want := range tc.want {
				if strings.HasPrefix(want, "--") {
					if !slices.Contains(args(t, p), want) {
						t.Errorf("no argument %s in %q", want, args(t, p))
					}
					continue
				}
				object, rest, _ := strings.Cut(want, " ")
				u := manifest(t, p, object)
				path, value, found := strings.Cut(rest, "=")
				if !found {
					if !strings.Contains(fmt.Sprint(u.Object), rest) {
						t.Errorf("no %s in %v", rest, u.Object)
					}
					continue
				}
				fields := strings.Split(path, ".")
				for i := range fields {
					fields[i] = strings.ReplaceAll(fields[i], `\`, ".")
				}
				if got := fmt.Sprint(at(u.Object, fields)); got != value {
					t.Errorf("%s: %s is %s, want %s", object, path, got, value)
				}
			}
		})
	}
}

func at(content map[string]any, fields []string) any {
	var value any = content
	for _, name := range fields {
		inner, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = inner[name]
	}
	return value
}

// TestRender_Absent: what is optional is not there unless it is asked for, and what an
// agent does not know is never given to it.
func TestRender_Absent(t *testing.T) {
	p := Render(Input{IstioCSR: smallest(), Image: image, Facts: working()})
	text := golden(t, p)
	for _, absent := range []string{"PodDisruptionBudget", "ServiceMonitor", "priorityClassName", "topologySpread", "trusted-node", "serving-tls", "affinity", "tolerations", "configmap-namespace-selector", "- pods", "to-dns", "resources: {}"} {
		if strings.Contains(text, absent) {
			t.Errorf("%s is there and was not asked for", absent)
		}
	}
	ic := smallest()
	ic.Spec.AgentConfig = &operatorv1alpha1.AgentConfig{ServiceMonitor: &operatorv1alpha1.ServiceMonitor{}, NetworkPolicy: &operatorv1alpha1.NetworkPolicy{Mode: operatorv1alpha1.NetworkPolicyNone}}
	facts := working()
	facts.ServiceMonitors = false
	in := Input{IstioCSR: ic, Image: image, Facts: facts}
	text = golden(t, Render(in))
	for _, absent := range []string{"ServiceMonitor", "NetworkPolicy"} {
		if strings.Contains(text, absent) {
			t.Errorf("%s is there", absent)
		}
	}
	if warnings := Warnings(in); len(warnings) != 1 || !strings.Contains(warnings[0], "serviceMonitor has no effect") {
		t.Errorf("warnings are %q", warnings)
	}
	old := smallest()
	old.Spec.AgentConfig = &operatorv1alpha1.AgentConfig{TLS: &operatorv1alpha1.AgentTLS{MinVersion: "1.3"}}
	if held := Render(Input{IstioCSR: old, Image: image, Facts: working()}).Blocked; !strings.Contains(held, "spec.agentConfig.tls.minVersion: istio-csr exits on flags") {
		t.Errorf("TLS settings for an agent that does not know them: %q", held)
	}
}

func TestHasFlag(t *testing.T) {
	for version, want := range map[string]bool{
		"v0.16.0": true, "0.16": true, "v0.17.1": true, "v0.16.0-rc.1": true, "main": true,
		"v0.15.1": false, "v0.14.2": false, "": false, "latest": false, "v0.x": false, "99999999999.0": false, "v0.18.0": false, "v1.0.0": false, "v0.1": false,
	} {
		if got := hasFlag(version, "max-concurrent-reconciles"); got != want {
			t.Errorf("%q: %v, want %v", version, got, want)
		}
	}
}

func TestImageOf(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("0", 64)
	for name, tc := range map[string]struct {
		own            *operatorv1alpha1.AgentImage
		fallback, want Image
	}{
		"Default":          {fallback: image, want: image},
		"VersionFromTag":   {fallback: Image{Reference: "r.io:5000/a/b:v0.15.0"}, want: Image{Reference: "r.io:5000/a/b:v0.15.0", Version: "v0.15.0"}},
		"TagAndDigest":     {fallback: Image{Reference: "r.io/a/b:v0.15.0" + digest}, want: Image{Reference: "r.io/a/b:v0.15.0" + digest, Version: "v0.15.0"}},
		"OwnWins":          {own: &operatorv1alpha1.AgentImage{Reference: "r.io/a/b:v9"}, fallback: image, want: Image{Reference: "r.io/a/b:v9", Version: "v9"}},
		"OwnWithoutTag":    {own: &operatorv1alpha1.AgentImage{Reference: "r.io/a/b" + digest}, fallback: image, want: Image{Reference: "r.io/a/b" + digest}},
		"OwnWithItsNumber": {own: &operatorv1alpha1.AgentImage{Reference: "r.io/a/b" + digest, Version: "v1"}, fallback: image, want: Image{Reference: "r.io/a/b" + digest, Version: "v1"}},
	} {
		t.Run(name, func(t *testing.T) {
			ic := smallest()
			ic.Spec.AgentConfig = &operatorv1alpha1.AgentConfig{Image: tc.own}
			if got := imageOf(ic, tc.fallback); got != tc.want {
				t.Errorf("%v, want %v", got, tc.want)
			}
		})
	}
}

func TestOverlap(t *testing.T) {
	ic := smallest()
	ic.Spec.IstioCSRConfig.IstiodTLSConfig.MaxCertificateDuration = &metav1.Duration{Duration: 5 * time.Hour}
	if got := Overlap(ic); got != 5*time.Hour {
		t.Errorf("%s, want that of the longest certificate", got)
	}
}
