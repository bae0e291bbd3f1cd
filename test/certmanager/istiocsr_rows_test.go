// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package certmanager

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
	"github.com/strata-run/strata/internal/localplane/planetest"
)

// TestIstioCSR_RefusedByUs walks through what the API server takes and what cannot work:
// it is reported with its path, nothing is written for it, and what runs stays as it is.
func TestIstioCSR_RefusedByUs(t *testing.T) {
	a := working(t, nil)
	before, revision := a.running(), a.revision()
	good := a.ic.Spec.DeepCopy()
	affinity := func(e corev1.NodeSelectorRequirement) *corev1.Affinity {
		return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{e}}},
		}}}
	}
	for _, row := range []struct {
		change func(c *operatorv1alpha1.IstioCSRConfig)
		want   string
	}{
		{func(c *operatorv1alpha1.IstioCSRConfig) { c.IstiodTLSConfig.CertificateDuration.Duration = 30 * 60e9 }, "istiodTLSConfig.certificateDuration: 30m0s is too short"},
		{func(c *operatorv1alpha1.IstioCSRConfig) { c.IstiodTLSConfig.CertificateRenewBefore.Duration = 3600e9 }, "istiodTLSConfig.certificateRenewBefore: 1h0m0s must be shorter"},
		{func(c *operatorv1alpha1.IstioCSRConfig) { c.IstiodTLSConfig.CertificateRenewBefore.Duration = 60e9 }, "istiodTLSConfig.certificateRenewBefore: 1m0s is too short"},
		{func(c *operatorv1alpha1.IstioCSRConfig) { c.IstioDataPlaneNamespaceSelector = "a==b==c,," }, "istioDataPlaneNamespaceSelector"},
		{func(c *operatorv1alpha1.IstioCSRConfig) { c.Istio.Revisions = []string{"1_16"} }, `istio.revisions[0]: "1_16"`},
		{func(c *operatorv1alpha1.IstioCSRConfig) { c.IstiodTLSConfig.CertificateDNSNames = []string{"***"} }, "istiodTLSConfig.certificateDNSNames[0]"},
		{func(c *operatorv1alpha1.IstioCSRConfig) {
			c.Tolerations = []corev1.Toleration{{Key: "a", Operator: corev1.TolerationOpExists, Value: "b"}}
		}, "tolerations[0].value"},
		{func(c *operatorv1alpha1.IstioCSRConfig) { c.NodeSelector = map[string]string{"a b": ""} }, "nodeSelector"},
		{func(c *operatorv1alpha1.IstioCSRConfig) {
			c.Resources.Limits = corev1.ResourceList{"cpus": resource.MustParse("1")}
		}, "resources.limits[cpus]"},
		{func(c *operatorv1alpha1.IstioCSRConfig) {
			c.Affinity = affinity(corev1.NodeSelectorRequirement{Key: "a", Operator: corev1.NodeSelectorOpIn})
		}, "matchExpressions[0].values: must have one or more"},
		{func(c *operatorv1alpha1.IstioCSRConfig) {
			c.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{}}}}
		}, "topologyKey: must not be empty"},
	} {
		a.update(func(ic *operatorv1alpha1.IstioCSR) {
			good.DeepCopyInto(&ic.Spec)
			row.change(&ic.Spec.IstioCSRConfig)
		})
		a.condition("Degraded", "True/Failed: spec.istioCSRConfig.", row.want)
		a.condition("Ready", "False/Failed", row.want, "answers meanwhile")
	}
	a.as(before, "after what cannot work")
	if got := a.revision(); got != revision {
		t.Errorf("it is at revision %d, and was at %d", got, revision)
	}
	a.update(func(ic *operatorv1alpha1.IstioCSR) { good.DeepCopyInto(&ic.Spec) })
	a.ready()
	a.as(before, "after it was mended")
}

// TestIstioCSR_Spelling: what the seed takes in any spelling works in any, in a mesh whose
// name leaves no room for a common name, and with labels that are the agent's own.
func TestIstioCSR_Spelling(t *testing.T) {
	m := mesh{t: t, namespace: planetest.Namespace(t, plane)}
	m.namespace += "-" + strings.Repeat("m", 62-len(m.namespace))
	m.create(`{apiVersion: v1, kind: Namespace, metadata: {name: NS}}`)
	m.root("root")
	m.issuer("istio-ca", "root")
	a := newInstall(m, func(ic *operatorv1alpha1.IstioCSR) {
		ic.Spec.IstioCSRConfig.CertManager.IssuerRef = operatorv1alpha1.IssuerReference{Name: "istio-ca", Kind: "issuer", Group: "Cert-Manager.io"}
		ic.Spec.IstioCSRConfig.Istio.Revisions = []string{"default", "1-29-0"}
		ic.Spec.ControllerConfig = &operatorv1alpha1.ControllerConfig{Labels: map[string]string{"team": "mesh", "app": "mine", "cert-manager-istio-csr-namespace": "other"}}
	})
	a.condition("Ready", "True/Ready", "the objects have app, cert-manager-istio-csr-namespace of their own")
	certificate := a.object(`{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: istiod, namespace: NS}}`)
	a.get(certificate)
	spec, _, err := unstructured.NestedMap(certificate.Object, "spec")
	must(t, err)
	if spec["commonName"] != nil || len(spec["dnsNames"].([]any)) != 2 {
		t.Errorf("the certificate is asked for as %v", spec)
	}
	labels := a.deployment().Labels
	if labels["team"] != "mesh" || labels["app"] != agentName || labels["cert-manager-istio-csr-namespace"] != "" || certificate.GetLabels()["cert-manager-istio-csr-namespace"] != a.ic.Namespace {
		t.Errorf("labels of the Deployment: %v, of the certificate: %v", labels, certificate.GetLabels())
	}
}

// TestIstioCSR_OwnFields: what is asked for is set back, affinity and tolerations too, and
// what other managers add stays.
func TestIstioCSR_OwnFields(t *testing.T) {
	a := working(t, func(ic *operatorv1alpha1.IstioCSR) {
		ic.Spec.IstioCSRConfig.Tolerations = []corev1.Toleration{{Key: "infra", Operator: corev1.TolerationOpExists}}
		ic.Spec.IstioCSRConfig.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: "kubernetes.io/hostname"}}}}
	})
	want := a.deployment()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: a.ic.Namespace, Name: agentName}}
	a.get(account)
	changed := account.DeepCopy()
	changed.Labels["theirs"] = "yes"
	must(t, admin.Patch(t.Context(), changed, client.MergeFrom(account)))
	drifted := want.DeepCopy()
	drifted.Spec.Template.Spec.Tolerations, drifted.Spec.Template.Spec.Affinity = nil, &corev1.Affinity{}
	must(t, admin.Patch(t.Context(), drifted, client.MergeFrom(want)))
	a.settled(want.Spec)
	a.ready()
	a.get(account)
	if account.Labels["theirs"] != "yes" {
		t.Errorf("a label of another owner's is gone: %v", account.Labels)
	}
	if got := a.revision(); got != 1 {
		t.Errorf("drift has led to revision %d", got)
	}
}

// TestIstioCSR_LaxDefinition: what another definition of the kind has let through is reported
// with its path, also when ours is back, and the next one works.
func TestIstioCSR_LaxDefinition(t *testing.T) {
	withManager(t)
	m := newMesh(t)
	m.root("root")
	m.issuer("istio-ca", "root")
	definition := m.object(`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: istiocsrs.operator.openshift.io}}`)
	m.get(definition)
	strict, err := json.Marshal(map[string]any{"spec": definition.Object["spec"]})
	must(t, err)
	restore := func() {
		must(t, admin.Patch(context.Background(), definition, client.RawPatch(types.MergePatchType, strict)))
	}
	t.Cleanup(restore) // for the other tests, too
	before := definition.DeepCopy()
	versions, _, err := unstructured.NestedSlice(definition.Object, "spec", "versions")
	must(t, err)
	version, _ := versions[0].(map[string]any)
	version["schema"] = map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}
	must(t, unstructured.SetNestedSlice(definition.Object, versions, "spec", "versions"))
	must(t, admin.Patch(t.Context(), definition, client.MergeFrom(before)))
	broken := newInstallSpec(m)
	broken.Namespace = planetest.Namespace(t, plane)
	broken.Spec.IstioCSRConfig.IstiodTLSConfig.TrustDomain = "Cluster_Local"
	broken.Spec.IstioCSRConfig.Istio.Namespace = ""
	broken.Spec.IstioCSRConfig.CertManager.IssuerRef = operatorv1alpha1.IssuerReference{Kind: "GoogleCASIssuer", Group: "cas-issuer.jetstack.io"}
	broken.Spec.IstioCSRConfig.CertManager.IstioCACertificate = &operatorv1alpha1.ConfigMapReference{Name: "a b", Key: "a"}
	planetest.Eventually(t, "a laxer definition", func() (bool, error) {
		err := admin.Create(t.Context(), broken.DeepCopy())
		return err == nil, err
	})
	a := install{mesh: m, ic: broken}
	t.Cleanup(a.remove)
	paths := []string{
		"spec.istioCSRConfig.istiodTLSConfig.trustDomain", "spec.istioCSRConfig.istio.namespace", "spec.istioCSRConfig.certManager.issuerRef.name",
		"spec.istioCSRConfig.certManager.issuerRef.kind", "spec.istioCSRConfig.certManager.issuerRef.group", "spec.istioCSRConfig.certManager.istioCACertificate.name",
	}
	a.condition("Degraded", "True/Failed: spec.istioCSRConfig", paths...)
	restore()
	b := newInstall(m, nil)
	b.condition("Ready", "False/Failed: IstioCSR "+a.ic.Namespace+"/default is older")
	a.condition("Degraded", "True/Failed: spec.istioCSRConfig", paths...)
	if a.exists(&corev1.ServiceAccount{}, a.ic.Namespace, agentName) {
		t.Error("something was made of it")
	}
	must(t, admin.Delete(t.Context(), broken.DeepCopy()))
	b.ready()
	if args := b.deployment().Spec.Template.Spec.Containers[0].Args; !slices.Contains(args, "--issuer-name=istio-ca") {
		t.Errorf("the next one has the arguments %q", args)
	}
}
