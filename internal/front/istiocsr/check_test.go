// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
)

func nodeTerm(e corev1.NodeSelectorRequirement) *corev1.Affinity {
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{e}}},
	}}}
}

// badSpecs are those that the API server takes and that cannot work, each with what the
// message has to say.
var badSpecs = map[string]struct {
	set  func(ic *operatorv1alpha1.IstioCSR, c *config)
	want string
}{
	"ShortDuration": {func(_ *operatorv1alpha1.IstioCSR, c *config) {
		c.IstiodTLSConfig.CertificateDuration = duration(30 * time.Minute)
	}, "spec.istioCSRConfig.istiodTLSConfig.certificateDuration: 30m0s is too short"},
	"NegativeDuration": {func(_ *operatorv1alpha1.IstioCSR, c *config) {
		c.IstiodTLSConfig.CertificateDuration = duration(-time.Hour)
	}, "certificateDuration: -1h0m0s is too short"},
	"LateRenewal": {func(_ *operatorv1alpha1.IstioCSR, c *config) {
		c.IstiodTLSConfig.CertificateRenewBefore = duration(time.Minute)
	}, "certificateRenewBefore: 1m0s is too short"},
	"RenewalAtOnce": {func(_ *operatorv1alpha1.IstioCSR, c *config) {
		c.IstiodTLSConfig.CertificateRenewBefore = duration(time.Hour)
	}, "certificateRenewBefore: 1h0m0s must be shorter than certificateDuration, which is 1h0m0s"},
	"MaxDuration": {func(_ *operatorv1alpha1.IstioCSR, c *config) {
		c.IstiodTLSConfig.MaxCertificateDuration = duration(30 * time.Second)
	}, "maxCertificateDuration: 30s is too short"},
	"Selector":         {func(_ *operatorv1alpha1.IstioCSR, c *config) { c.IstioDataPlaneNamespaceSelector = "a==b==c,," }, "istioDataPlaneNamespaceSelector"},
	"Revision":         {func(_ *operatorv1alpha1.IstioCSR, c *config) { c.Istio.Revisions = []string{"default", "1_16"} }, `istio.revisions[1]: "1_16"`},
	"DNSName":          {func(_ *operatorv1alpha1.IstioCSR, c *config) { c.IstiodTLSConfig.CertificateDNSNames = []string{"***"} }, "certificateDNSNames[0]"},
	"DNSNameWithComma": {func(_ *operatorv1alpha1.IstioCSR, c *config) { c.IstiodTLSConfig.CertificateDNSNames = []string{"a,b"} }, "certificateDNSNames[0]"},
	"LabelKey": {func(ic *operatorv1alpha1.IstioCSR, _ *config) {
		ic.Spec.ControllerConfig = &operatorv1alpha1.ControllerConfig{Labels: map[string]string{"a b": "c"}}
	}, "spec.controllerConfig.labels"},
	"LabelValue": {func(ic *operatorv1alpha1.IstioCSR, _ *config) {
		ic.Spec.ControllerConfig = &operatorv1alpha1.ControllerConfig{Labels: map[string]string{"a": "c d"}}
	}, "spec.controllerConfig.labels[a]"},
	"TolerationValue": {func(_ *operatorv1alpha1.IstioCSR, c *config) {
		c.Tolerations = []corev1.Toleration{{Key: "a", Operator: "Exists", Value: "b"}}
	}, "tolerations[0].value"},
	"TolerationWithoutKey": {func(_ *operatorv1alpha1.IstioCSR, c *config) { c.Tolerations = []corev1.Toleration{{Value: "b"}} }, "tolerations[0].operator"},
	"TolerationOperator": {func(_ *operatorv1alpha1.IstioCSR, c *config) {
		c.Tolerations = []corev1.Toleration{{Key: "a", Operator: "Near"}}
	}, "tolerations[0].operator"},
	"TolerationEffect": {func(_ *operatorv1alpha1.IstioCSR, c *config) {
		c.Tolerations = []corev1.Toleration{{Key: "a", Effect: "Sometimes"}}
	}, "tolerations[0].effect"},
	"TolerationSeconds": {func(_ *operatorv1alpha1.IstioCSR, c *config) {
		c.Tolerations = []corev1.Toleration{{Key: "a", Effect: "NoSchedule", TolerationSeconds: new(int64(1))}}
	}, "tolerations[0].effect"},
	"NodeSelectorKey": {func(_ *operatorv1alpha1.IstioCSR, c *config) { c.NodeSelector = map[string]string{"a b": ""} }, "nodeSelector"},
	"UnknownResource": {func(_ *operatorv1alpha1.IstioCSR, c *config) {
		c.Resources.Limits = corev1.ResourceList{"cpus": resource.MustParse("1")}
	}, "resources.limits[cpus]"},
	"NegativeResource": {func(_ *operatorv1alpha1.IstioCSR, c *config) {
		c.Resources.Limits = corev1.ResourceList{"cpu": resource.MustParse("-1")}
	}, "resources.limits[cpu]: -1 must not be negative"},
	"RequestOverLimit": {func(_ *operatorv1alpha1.IstioCSR, c *config) {
		c.Resources.Limits, c.Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("1")}, corev1.ResourceList{"cpu": resource.MustParse("2")}
	}, "resources.requests[cpu]: 2 is more than the limit"},
	"ResourceClaims": {func(_ *operatorv1alpha1.IstioCSR, c *config) {
		c.Resources.Claims = []corev1.ResourceClaim{{Name: "a"}}
	}, "resources.claims"},
	"AffinityWithoutValues": {func(_ *operatorv1alpha1.IstioCSR, c *config) {
		c.Affinity = nodeTerm(corev1.NodeSelectorRequirement{Key: "a", Operator: "In"})
	}, "nodeSelectorTerms[0].matchExpressions[0].values: must have one or more values when operator is In"},
	"AffinityOperator": {func(_ *operatorv1alpha1.IstioCSR, c *config) {
		c.Affinity = nodeTerm(corev1.NodeSelectorRequirement{Key: "a", Operator: "Near"})
	}, "matchExpressions[0].operator"},
	"AffinityWithoutTerms": {func(_ *operatorv1alpha1.IstioCSR, c *config) {
		c.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{}}}
	}, "nodeSelectorTerms: must have one or more"},
	"TopologyKey": {func(_ *operatorv1alpha1.IstioCSR, c *config) {
		c.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{}}}}
	}, "podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: must not be empty"},
	"AffinityWeight": {func(_ *operatorv1alpha1.IstioCSR, c *config) {
		c.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{PodAffinityTerm: corev1.PodAffinityTerm{TopologyKey: "a"}}}}}
	}, "podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: 0 must be from 1 to 100"},
	"AffinitySelector": {func(_ *operatorv1alpha1.IstioCSR, c *config) {
		c.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			TopologyKey: "a", LabelSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "In"}}},
		}}}}
	}, "labelSelector"},
	"Image":           {agent(operatorv1alpha1.AgentConfig{Image: &operatorv1alpha1.AgentImage{Reference: "not an image"}}), "spec.agentConfig.image.reference"},
	"ImageVersion":    {agent(operatorv1alpha1.AgentConfig{Image: &operatorv1alpha1.AgentImage{Reference: "r.io/a/b:v1", Version: "v 1"}}), "the version of image r.io/a/b:v1"},
	"PriorityClass":   {agent(operatorv1alpha1.AgentConfig{PriorityClassName: "A b"}), "spec.agentConfig.priorityClassName"},
	"Spread":          {agent(operatorv1alpha1.AgentConfig{TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{TopologyKey: "a", WhenUnsatisfiable: "Never"}}}), "topologySpreadConstraints[0].maxSkew"},
	"MonitorLabels":   {agent(operatorv1alpha1.AgentConfig{ServiceMonitor: &operatorv1alpha1.ServiceMonitor{Labels: map[string]string{"a": "b c"}}}), "spec.agentConfig.serviceMonitor.labels[a]"},
	"StoredLogLevel":  {func(_ *operatorv1alpha1.IstioCSR, c *config) { c.LogLevel = 9 }, "spec.istioCSRConfig.logLevel: 9 must be from 1 to 5"},
	"StoredLogFormat": {func(_ *operatorv1alpha1.IstioCSR, c *config) { c.LogFormat = "xml" }, "spec.istioCSRConfig.logFormat"},
	"NoIssuerName":    {func(_ *operatorv1alpha1.IstioCSR, c *config) { c.CertManager.IssuerRef.Name = "" }, "spec.istioCSRConfig.certManager.issuerRef.name"},
	"NoIssuerKind":    {func(_ *operatorv1alpha1.IstioCSR, c *config) { c.CertManager.IssuerRef.Kind = "" }, "spec.istioCSRConfig.certManager.issuerRef.kind"},
	"OtherIssuerKind": {func(_ *operatorv1alpha1.IstioCSR, c *config) { c.CertManager.IssuerRef.Kind = "GoogleCASIssuer" }, "certManager.issuerRef.kind"},
	"OtherIssuerGroup": {func(_ *operatorv1alpha1.IstioCSR, c *config) {
		c.CertManager.IssuerRef.Group = "cas-issuer.jetstack.io"
	}, "spec.istioCSRConfig.certManager.issuerRef.group"},
	"NoTrustDomain":    {func(_ *operatorv1alpha1.IstioCSR, c *config) { c.IstiodTLSConfig.TrustDomain = "" }, "spec.istioCSRConfig.istiodTLSConfig.trustDomain"},
	"BadTrustDomain":   {func(_ *operatorv1alpha1.IstioCSR, c *config) { c.IstiodTLSConfig.TrustDomain = "Cluster_Local" }, "istiodTLSConfig.trustDomain"},
	"LongTrustDomain":  {func(_ *operatorv1alpha1.IstioCSR, c *config) { c.IstiodTLSConfig.TrustDomain = strings.Repeat("a", 64) }, "istiodTLSConfig.trustDomain: has 64 characters"},
	"NoMeshNamespace":  {func(_ *operatorv1alpha1.IstioCSR, c *config) { c.Istio.Namespace = "" }, "spec.istioCSRConfig.istio.namespace"},
	"BadMeshNamespace": {func(_ *operatorv1alpha1.IstioCSR, c *config) { c.Istio.Namespace = "a.b" }, "spec.istioCSRConfig.istio.namespace"},
	"LongCommonName":   {func(_ *operatorv1alpha1.IstioCSR, c *config) { c.IstiodTLSConfig.CommonName = strings.Repeat("a", 65) }, "istiodTLSConfig.commonName: has 65 characters"},
	"KeyAlgorithm":     {func(_ *operatorv1alpha1.IstioCSR, c *config) { c.IstiodTLSConfig.PrivateKeyAlgorithm = "DSA" }, "istiodTLSConfig.privateKeyAlgorithm"},
	"KeySize":          {func(_ *operatorv1alpha1.IstioCSR, c *config) { c.IstiodTLSConfig.PrivateKeyAlgorithm = "ECDSA" }, "istiodTLSConfig.privateKeySize: 2048 must be one of [256 384]"},
	"Port":             {func(_ *operatorv1alpha1.IstioCSR, c *config) { c.Server = &operatorv1alpha1.ServerConfig{Port: 70000} }, "spec.istioCSRConfig.server.port"},
	"ClusterID": {func(_ *operatorv1alpha1.IstioCSR, c *config) {
		c.Server = &operatorv1alpha1.ServerConfig{ClusterID: strings.Repeat("a", 254)}
	}, "spec.istioCSRConfig.server.clusterID"},
	"CAName": {func(_ *operatorv1alpha1.IstioCSR, c *config) {
		c.CertManager.IstioCACertificate = &operatorv1alpha1.ConfigMapReference{Key: "a"}
	}, "certManager.istioCACertificate.name"},
	"CANamespace": {func(_ *operatorv1alpha1.IstioCSR, c *config) {
		c.CertManager.IstioCACertificate = &operatorv1alpha1.ConfigMapReference{Name: "a", Key: "a", Namespace: "a_b"}
	}, "certManager.istioCACertificate.namespace"},
	"CAKey": {func(_ *operatorv1alpha1.IstioCSR, c *config) {
		c.CertManager.IstioCACertificate = &operatorv1alpha1.ConfigMapReference{Name: "a", Key: "a/b"}
	}, "certManager.istioCACertificate.key"},
	"NegativeReplicas": {agent(operatorv1alpha1.AgentConfig{Replicas: new(int32(-1))}), "spec.agentConfig.replicas"},
	"CipherSuite":      {agent(operatorv1alpha1.AgentConfig{Image: &operatorv1alpha1.AgentImage{Reference: "quay.io/x/csr:v0.16.0"}, TLS: &operatorv1alpha1.AgentTLS{CipherSuites: []string{"TLS_AES_128_GCM_SHA256", "TLS_NONE"}}}), "spec.agentConfig.tls.cipherSuites[1]"},
	"Curve":            {agent(operatorv1alpha1.AgentConfig{Image: &operatorv1alpha1.AgentImage{Reference: "quay.io/x/csr:v0.16.0"}, TLS: &operatorv1alpha1.AgentTLS{CurvePreferences: []string{"X25519", "P384", "4588", "X25519MLKEM768"}}}), "spec.agentConfig.tls.curvePreferences[3]"},
	"LargeCurve":       {agent(operatorv1alpha1.AgentConfig{Image: &operatorv1alpha1.AgentImage{Reference: "quay.io/x/csr:v0.16.0"}, TLS: &operatorv1alpha1.AgentTLS{CurvePreferences: []string{"65536"}}}), "spec.agentConfig.tls.curvePreferences[0]"},
	"WordBudget":       {agent(operatorv1alpha1.AgentConfig{PodDisruptionBudget: &operatorv1alpha1.PodDisruptionBudget{MinAvailable: new(intstr.FromString("half"))}}), "spec.agentConfig.podDisruptionBudget.minAvailable"},
	"LargeBudget":      {agent(operatorv1alpha1.AgentConfig{PodDisruptionBudget: &operatorv1alpha1.PodDisruptionBudget{MaxUnavailable: new(intstr.FromString("101%"))}}), "spec.agentConfig.podDisruptionBudget.maxUnavailable"},
	"NegativeBudget":   {agent(operatorv1alpha1.AgentConfig{PodDisruptionBudget: &operatorv1alpha1.PodDisruptionBudget{MinAvailable: new(intstr.FromInt32(-1))}}), "spec.agentConfig.podDisruptionBudget.minAvailable"},
	"EmptyBudget":      {agent(operatorv1alpha1.AgentConfig{PodDisruptionBudget: &operatorv1alpha1.PodDisruptionBudget{}}), "spec.agentConfig.podDisruptionBudget"},
	"TrustedAccount":   {agent(operatorv1alpha1.AgentConfig{TrustedNodeAccounts: []string{"ztunnel"}}), "spec.agentConfig.trustedNodeAccounts[0]"},
	"MonitorInterval":  {agent(operatorv1alpha1.AgentConfig{ServiceMonitor: &operatorv1alpha1.ServiceMonitor{Interval: "often"}}), "spec.agentConfig.serviceMonitor.interval"},
	"PolicyMode":       {agent(operatorv1alpha1.AgentConfig{NetworkPolicy: &operatorv1alpha1.NetworkPolicy{Mode: "Open"}}), "spec.agentConfig.networkPolicy.mode"},
	"PolicyPort":       {agent(operatorv1alpha1.AgentConfig{NetworkPolicy: &operatorv1alpha1.NetworkPolicy{APIServerPorts: []int32{0}}}), "spec.agentConfig.networkPolicy.apiServerPorts[0]"},
	"PolicyNamespace":  {agent(operatorv1alpha1.AgentConfig{NetworkPolicy: &operatorv1alpha1.NetworkPolicy{MonitoringNamespace: "a.b"}}), "spec.agentConfig.networkPolicy.monitoringNamespace"},
	"TLSVersion": {agent(operatorv1alpha1.AgentConfig{
		Image: &operatorv1alpha1.AgentImage{Reference: "example.com/csr:v0.16.0"}, TLS: &operatorv1alpha1.AgentTLS{MinVersion: "1.0"},
	}), "spec.agentConfig.tls.minVersion"},
	"Undecodable": {func(ic *operatorv1alpha1.IstioCSR, _ *config) {
		ic.Spec = operatorv1alpha1.IstioCSRSpec{Undecodable: "time: invalid duration"}
	}, "spec cannot be read: time: invalid duration"},
}

// TestCheck_Spec: a spec that cannot work is reported with its path, and holds the package
// back whole, so that nothing of it is applied.
func TestCheck_Spec(t *testing.T) {
	for name, tc := range badSpecs {
		t.Run(name, func(t *testing.T) {
			ic := smallest()
			tc.set(ic, &ic.Spec.IstioCSRConfig)
			in := Input{IstioCSR: ic, Image: image, Facts: working()}
			problems := Check(in)
			if len(problems) == 0 || !strings.Contains(problems[0].Message, tc.want) || problems[0].Waiting || !problems[0].Blocks {
				t.Fatalf("the problems are %+v, want one for the user that holds, about %q", problems, tc.want)
			}
			if p := Render(in); p.Phases != nil || !strings.Contains(p.Blocked, tc.want) {
				t.Errorf("it was rendered: %q", p.Blocked)
			}
		})
	}
}

// TestCheck_Facts: what the cluster lacks.
func TestCheck_Facts(t *testing.T) {
	const (
		user, holding = "user", "holding"
		waiting       = "waiting"
	)
	for name, tc := range map[string]struct {
		reason string
		change func(ic *operatorv1alpha1.IstioCSR, f *Facts)
		want   []string
	}{
		"Works":         {"nothing is wrong", func(*operatorv1alpha1.IstioCSR, *Facts) {}, nil},
		"NoCertManager": {"without its kinds nothing can be looked at", func(_ *operatorv1alpha1.IstioCSR, f *Facts) { *f = Facts{} }, []string{"waiting holding: cert-manager is not installed: the cluster serves neither Certificate nor Issuer of cert-manager.io/v1"}},
		"NoNamespace":   {"it is waited for without trying", func(_ *operatorv1alpha1.IstioCSR, f *Facts) { f.Namespace = false }, []string{"waiting holding: namespace istio-system (spec.istioCSRConfig.istio.namespace) does not exist: create it"}},
		"NoIssuer":      {"an issuer can come later", func(_ *operatorv1alpha1.IstioCSR, f *Facts) { f.Issuer = Issuer{} }, []string{"waiting: Issuer istio-system/istio-ca does not exist: create it"}},
		"NoClusterIssuer": {"a ClusterIssuer has no namespace", func(ic *operatorv1alpha1.IstioCSR, f *Facts) {
			f.Issuer, ic.Spec.IstioCSRConfig.CertManager.IssuerRef.Kind = Issuer{}, "clusterissuer"
		}, []string{"waiting: ClusterIssuer istio-ca does not exist: create it"}},
		"IssuerNotReady": {"it says itself why", func(_ *operatorv1alpha1.IstioCSR, f *Facts) {
			f.Issuer.Ready, f.Issuer.Message = false, "secret missing"
		}, []string{"waiting: Issuer istio-system/istio-ca is not ready: secret missing"}},
		"IssuerIsSilent": {"one that no controller has looked at says nothing", func(_ *operatorv1alpha1.IstioCSR, f *Facts) { f.Issuer.Ready = false }, []string{"waiting: Issuer istio-system/istio-ca is not ready"}},
		"ACME":           {"it never signs for a mesh, ready or not", func(_ *operatorv1alpha1.IstioCSR, f *Facts) { f.Issuer.Type = "acme" }, []string{"user holding: Issuer istio-system/istio-ca is of type ACME"}},
		"SelfSigned":     {"it has no root", func(_ *operatorv1alpha1.IstioCSR, f *Facts) { f.Issuer.Type = "selfSigned" }, []string{"user holding: Issuer istio-system/istio-ca is of type SelfSigned"}},
		"CA":             {"the user's CA is the user's to mend, and the last good copy is in use", func(_ *operatorv1alpha1.IstioCSR, f *Facts) { f.CA = CA{Problem: "ConfigMap a/b: no certificate"} }, []string{"user: ConfigMap a/b: no certificate"}},
		"CAIsWaitedFor": {"what goes by itself is waited for", func(_ *operatorv1alpha1.IstioCSR, f *Facts) {
			f.CA = CA{Problem: "Secret a/b does not exist yet", Waiting: true}
		}, []string{"waiting: Secret a/b does not exist yet"}},
		"ManyRoles": {"one of them would keep its rights unseen", func(_ *operatorv1alpha1.IstioCSR, f *Facts) {
			f.ClusterRoles, f.ClusterRoleBindings = []string{"cert-manager-istio-csr-a", "cert-manager-istio-csr-b"}, []string{"cert-manager-istio-csr-a"}
		}, []string{"user holding: ClusterRoles cert-manager-istio-csr-a, cert-manager-istio-csr-b are all of an agent in namespace cert-manager by their labels: delete those that it does not use"}},
		"ManyRolesNamed": {"the status says which", func(ic *operatorv1alpha1.IstioCSR, f *Facts) {
			ic.Status.ClusterRole, f.ClusterRoles = "cert-manager-istio-csr-a", []string{"cert-manager-istio-csr-a", "cert-manager-istio-csr-b"}
		}, nil},
		"TheUsersComeFirst": {"what has to be mended is reported first", func(_ *operatorv1alpha1.IstioCSR, f *Facts) {
			f.Issuer.Ready, f.CA = false, CA{Problem: "ConfigMap a/b: no certificate"}
		}, []string{"user: ConfigMap a/b: no certificate", "waiting: Issuer istio-system/istio-ca is not ready"}},
	} {
		t.Run(name, func(t *testing.T) {
			ic, facts := smallest(), working()
			tc.change(ic, &facts)
			var got []string
			for _, p := range Check(Input{IstioCSR: ic, Image: image, Facts: facts}) {
				text := user
				if p.Waiting {
					text = waiting
				}
				if p.Blocks {
					text += " " + holding
				}
				message, _, _ := strings.Cut(p.Message, ", which")
				got = append(got, text+": "+message)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestWarnings_Clients(t *testing.T) {
	ic, facts := smallest(), working()
	facts.Clients = []string{"Istio default"}
	in := Input{IstioCSR: ic, Image: image, Facts: facts}
	if warnings := Warnings(in); len(warnings) != 0 {
		t.Errorf("an agent that stays is no danger to those who use it: %q", warnings)
	}
	ic.Annotations = map[string]string{operatorv1alpha1.AnnotationDeletionPolicy: operatorv1alpha1.DeletionPolicyDelete}
	if warnings := Warnings(in); len(warnings) != 1 || !strings.Contains(warnings[0], "Istio default still points at it") {
		t.Errorf("the warnings are %q", warnings)
	}
	in.Facts.Clients, in.Facts.Unread = nil, []string{"ConfigMap mesh/istio-sidecar-injector: forbidden"}
	if warnings := Warnings(in); len(warnings) != 1 || !strings.Contains(warnings[0], "not known: ConfigMap mesh/istio-sidecar-injector: forbidden") {
		t.Errorf("what is not known is taken for unused: %q", warnings)
	}
	if !RemovesOnDeletion(ic) || RemovesOnDeletion(smallest()) {
		t.Error("only the annotation has the agent removed")
	}
}

func TestWarnings_DeletionPolicy(t *testing.T) {
	for value, warns := range map[string]bool{"": false, "Orphan": false, "Delete": false, "delete": true, "true": true} {
		ic := smallest()
		ic.Annotations = map[string]string{operatorv1alpha1.AnnotationDeletionPolicy: value}
		warnings := Warnings(Input{IstioCSR: ic, Image: image, Facts: working()})
		if got := len(warnings) == 1 && strings.Contains(warnings[0], "neither Delete nor Orphan: the agent stays"); got != warns {
			t.Errorf("with the value %q the warnings are %q", value, warnings)
		}
		if removed := RemovesOnDeletion(ic); removed != (value == "Delete") {
			t.Errorf("with the value %q the agent is removed: %t", value, removed)
		}
	}
}

// What will do harm, or has no effect, is reported while the agent works.
func TestWarnings(t *testing.T) {
	ic, facts := smallest(), working()
	facts.CA.Ending = []string{`"root"`}
	ic.Spec.AgentConfig = &operatorv1alpha1.AgentConfig{ServiceMonitor: &operatorv1alpha1.ServiceMonitor{Labels: map[string]string{"app": "mine", "release": "x"}}}
	ic.Spec.IstioCSRConfig.CertManager.IstioCACertificate = &operatorv1alpha1.ConfigMapReference{Name: "istio-ca-root-cert", Namespace: "istio-system", Key: "root-cert.pem"}
	want := []string{
		`CA "root" expires soon, and with it the certificates of the mesh: replace it; status.caCertificates says when it expires`,
		"spec.istioCSRConfig.certManager.istioCACertificate names ConfigMap istio-ca-root-cert, which agents write: a new CA that is added to it is removed again; name a ConfigMap that is yours",
		"spec.agentConfig.serviceMonitor.labels: the object has app of its own, so these are ignored",
	}
	if diff := cmp.Diff(want, Warnings(Input{IstioCSR: ic, Image: image, Facts: facts})); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// What cannot be looked up under its name is not looked for.
func TestCanBeFollowed(t *testing.T) {
	for name, want := range map[string]bool{
		"NoIssuerName": false, "BadMeshNamespace": false, "CAName": false, "CANamespace": false, "OtherIssuerKind": false, "Undecodable": false,
		"BadTrustDomain": true, "ShortDuration": true,
	} {
		ic := smallest()
		badSpecs[name].set(ic, &ic.Spec.IstioCSRConfig)
		if got := CanBeFollowed(ic); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
