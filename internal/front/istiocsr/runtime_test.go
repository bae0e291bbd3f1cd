// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
)

// following is an IstioCSR with a ConfigMap and a Certificate that the agent makes.
func following(config operatorv1alpha1.AgentConfig) *operatorv1alpha1.IstioCSR {
	ic := smallest()
	ic.Spec.AgentConfig = &config
	ic.Spec.IstioCSRConfig.CertManager.IstioCACertificate = &operatorv1alpha1.ConfigMapReference{Name: "roots", Key: "ca.crt"}
	return ic
}

func TestRuntimeIssuerOf(t *testing.T) {
	for name, tc := range map[string]struct {
		data  map[string]any
		found bool
		want  RuntimeIssuer
	}{
		"Gone":    {nil, false, RuntimeIssuer{Problem: "it does not exist, and the agent has issuerRef sign"}},
		"Whole":   {map[string]any{"issuer-name": "a", "issuer-kind": "Issuer", "issuer-group": "cert-manager.io"}, true, RuntimeIssuer{Name: "a", Kind: "Issuer", Group: "cert-manager.io"}},
		"Partial": {map[string]any{"issuer-name": "a", "issuer-kind": ""}, true, RuntimeIssuer{Problem: "it has no issuer-kind, issuer-group, and the agent does not follow it"}},
		"NoText":  {map[string]any{"issuer-name": int64(1), "issuer-kind": "Issuer", "issuer-group": "x"}, true, RuntimeIssuer{Problem: "it has no issuer-name, and the agent does not follow it"}},
		"NoName":  {map[string]any{"issuer-name": "A/B", "issuer-kind": "Issuer", "issuer-group": "x"}, true, RuntimeIssuer{Problem: `issuer-name is "A/B", which is not the name of an issuer`}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := runtimeIssuerOf(&unstructured.Unstructured{Object: map[string]any{"data": tc.data}}, tc.found); got != tc.want {
				t.Errorf("%+v, want %+v", got, tc.want)
			}
		})
	}
}

// TestCheck_Runtime: what an agent cannot do at run time holds a rollout, and is reported by the
// field; what it waits for does not.
func TestCheck_Runtime(t *testing.T) {
	dynamic := operatorv1alpha1.AgentConfig{IstiodCertificate: "Dynamic"}
	made := Issuer{Exists: true, Ready: true}
	for name, tc := range map[string]struct {
		config      operatorv1alpha1.AgentConfig
		change      func(ic *operatorv1alpha1.IstioCSR)
		certificate Issuer
		facts       func(f *Facts)
		want        string
		holds       bool
	}{
		"Works":    {config: operatorv1alpha1.AgentConfig{RuntimeIssuerConfigMap: "issuer", IstiodCertificate: "Dynamic"}, certificate: made},
		"Static":   {config: operatorv1alpha1.AgentConfig{IstiodCertificate: "Static"}},
		"NoRoots":  {config: operatorv1alpha1.AgentConfig{RuntimeIssuerConfigMap: "issuer"}, change: withoutRoots, want: "spec.agentConfig.runtimeIssuerConfigMap: it requires spec.istioCSRConfig.certManager.istioCACertificate", holds: true},
		"BadName":  {config: operatorv1alpha1.AgentConfig{RuntimeIssuerConfigMap: "A_B"}, want: `spec.agentConfig.runtimeIssuerConfigMap: "A_B"`, holds: true},
		"BadMode":  {config: operatorv1alpha1.AgentConfig{IstiodCertificate: "Other"}, want: "must be Static or Dynamic", holds: true},
		"NotYet":   {config: dynamic, want: "Certificate istio-system/istiod, which the agent creates, does not exist yet"},
		"NotReady": {config: dynamic, certificate: Issuer{Exists: true, Message: "issuing"}, want: "Certificate istio-system/istiod, which the agent creates, is not ready: issuing"},
		"Wildcard": {config: dynamic, certificate: made, change: func(ic *operatorv1alpha1.IstioCSR) {
			ic.Spec.IstioCSRConfig.IstiodTLSConfig.CertificateDNSNames = []string{"*.a"}
		}, want: "certificateDNSNames[0]", holds: true},
		"LongMesh": {config: dynamic, certificate: made, change: func(ic *operatorv1alpha1.IstioCSR) { ic.Spec.IstioCSRConfig.Istio.Namespace = strings.Repeat("m", 60) }, want: "more than 64 characters: use Static", holds: true},
		"NoStart":  {config: dynamic, change: withoutRoots, facts: func(f *Facts) { f.Issuer.Type = "vault" }, want: "Issuer istio-system/istio-ca is not of type CA", holds: true},
		"NoIssuer": {config: dynamic, change: withoutRoots, facts: func(f *Facts) { f.Issuer = Issuer{} }, want: "Issuer istio-system/istio-ca does not exist: create it"},
		"TypeCA":   {config: dynamic, change: withoutRoots, certificate: made},
		"ACMEByFile": {config: operatorv1alpha1.AgentConfig{RuntimeIssuerConfigMap: "issuer"}, facts: func(f *Facts) {
			f.RuntimeIssuer, f.Issuer.Type = RuntimeIssuer{Name: "le", Kind: "ClusterIssuer"}, "acme"
		}, want: "ClusterIssuer le is of type ACME", holds: true},
	} {
		t.Run(name, func(t *testing.T) {
			in := Input{IstioCSR: following(tc.config), Image: image, Facts: working()}
			in.Facts.IstiodCertificate = tc.certificate
			if tc.change != nil {
				tc.change(in.IstioCSR)
			}
			if tc.facts != nil {
				tc.facts(&in.Facts)
			}
			problems := Check(in)
			if tc.want == "" {
				if len(problems) > 0 {
					t.Errorf("problems are %+v", problems)
				}
				return
			}
			if len(problems) != 1 || !strings.Contains(problems[0].Message, tc.want) || problems[0].Blocks != tc.holds || problems[0].Waiting == tc.holds {
				t.Errorf("problems are %+v, want one about %q that holds: %v", problems, tc.want, tc.holds)
			}
		})
	}
}

func withoutRoots(ic *operatorv1alpha1.IstioCSR) {
	ic.Spec.IstioCSRConfig.CertManager.IstioCACertificate = nil
}

// TestWarnings_Runtime: a ConfigMap that the agent does not follow, and a field that has no
// effect, are named beside Ready.
func TestWarnings_Runtime(t *testing.T) {
	ic := following(operatorv1alpha1.AgentConfig{RuntimeIssuerConfigMap: "issuer", IstiodCertificate: "Dynamic", DeploymentLabels: map[string]string{"app": "x"}})
	ic.Spec.IstioCSRConfig.IstiodTLSConfig.CommonName = "other"
	in := Input{IstioCSR: ic, Image: image, Facts: working()}
	in.Facts.RuntimeIssuer.Problem = "it does not exist, and the agent has issuerRef sign"
	want := []string{
		"spec.agentConfig.deploymentLabels: the object has app of its own, so these are ignored",
		"spec.agentConfig.runtimeIssuerConfigMap names ConfigMap cert-manager/issuer: it does not exist, and the agent has issuerRef sign",
		"spec.istioCSRConfig.istiodTLSConfig.commonName has no effect: the agent creates the Certificate of istiod with its own common name",
	}
	if got := Warnings(in); !slices.Equal(got, want) {
		t.Errorf("warnings are %q", got)
	}
}

// TestRender_DynamicCertificate: what the agent makes is in no revision, or two would write it.
func TestRender_DynamicCertificate(t *testing.T) {
	p := Render(Input{IstioCSR: following(operatorv1alpha1.AgentConfig{IstiodCertificate: "Dynamic"}), Image: image, Facts: working()})
	for _, phase := range p.Phases {
		for _, object := range phase.Objects {
			if object.Manifest.GetKind() == "Certificate" || phase.Name == PhaseCertificate {
				t.Errorf("phase %s has %s %s", phase.Name, object.Manifest.GetKind(), object.Manifest.GetName())
			}
		}
	}
	manifest(t, p, "Role/"+dynamicName)
}

// TestRender_AgentFirst: an agent that makes the Certificate lets it go before it is made by
// Strata, and the order stays then: another one would be one more revision.
func TestRender_AgentFirst(t *testing.T) {
	in := Input{IstioCSR: following(operatorv1alpha1.AgentConfig{IstiodCertificate: "Dynamic"}), Image: image, Facts: working()}
	for _, step := range []struct {
		mode, want string
	}{{"Static", "access certificate agent"}, {"Static", "access certificate agent"}, {"Dynamic", "access agent"}, {"Static", "access agent certificate"}, {"Static", "access agent certificate"}} {
		in.IstioCSR.Spec.AgentConfig.IstiodCertificate = step.mode
		p := Render(in)
		var names []string
		var manifests []*unstructured.Unstructured
		for _, phase := range p.Phases {
			names = append(names, phase.Name)
			for _, object := range phase.Objects {
				manifests = append(manifests, object.Manifest)
			}
		}
		if got := strings.Join(names, " "); got != step.want {
			t.Errorf("phases are %q, want %q", got, step.want)
		}
		in.Facts.AgentFirst = agentFirstIn(manifests)
	}
}
