// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package certmanager

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
	"github.com/strata-run/strata/internal/front/istiocsr"
	"github.com/strata-run/strata/internal/localplane"
	"github.com/strata-run/strata/internal/localplane/planetest"
	"github.com/strata-run/strata/internal/status/statustest"
	"github.com/strata-run/strata/test/setup"
)

// TestIstioCSR_Install: with an issuer that signs, an IstioCSR becomes an agent that
// works.
func TestIstioCSR_Install(t *testing.T) {
	m := newMesh(t)
	m.root("root")
	issuer := m.issuer("istio-ca", "root")
	a := newInstall(m, nil)
	a.ready()
	a.condition("Degraded", "False/Ready")
	statustest.Conditions(t, istiocsr.Rows().Statuses(), a.ic.Generation, a.ic.Status.Conditions, "Ready", "Degraded")

	namespace := a.ic.Namespace
	fields := a.ic.Status
	fields.Conditions = nil
	if cas := fields.CACertificates; len(cas) != 1 || cas[0].Name != "root" || len(cas[0].Digest) != 16 || cas[0].NotAfter.Before(new(metav1.Now())) || cas[0].Leaving || cas[0].Until != nil {
		t.Errorf("the CA certificates are %v", cas)
	}
	fields.CACertificates = nil
	want := operatorv1alpha1.IstioCSRStatus{
		IstioCSRImage: "quay.io/jetstack/cert-manager-istio-csr:v0.14.2", IstioCSRGRPCEndpoint: agentName + "." + namespace + ".svc:443",
		ServiceAccount: agentName, ClusterRole: agentName + "-" + namespace, ClusterRoleBinding: agentName + "-" + namespace,
	}
	if diff := cmp.Diff(want, fields); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	for _, o := range []struct {
		is        bool
		namespace string
		name      string
	}{
		{a.exists(&corev1.ServiceAccount{}, namespace, agentName), namespace, "ServiceAccount"},
		{a.exists(&corev1.Service{}, namespace, agentName), namespace, "Service"},
		{a.exists(&corev1.Service{}, namespace, agentName+"-metrics"), namespace, "Service of the metrics"},
		{a.exists(&networkingv1.NetworkPolicy{}, namespace, "istio-csr-deny-all"), namespace, "NetworkPolicy"},
		{a.exists(&rbacv1.ClusterRole{}, "", want.ClusterRole), "", "ClusterRole"},
		{a.exists(&rbacv1.ClusterRoleBinding{}, "", want.ClusterRoleBinding), "", "ClusterRoleBinding"},
		{a.exists(&rbacv1.Role{}, m.namespace, agentName), m.namespace, "Role"},
		{a.exists(&rbacv1.RoleBinding{}, m.namespace, agentName+"-leases"), m.namespace, "RoleBinding"},
		{a.exists(&corev1.ConfigMap{}, namespace, "cert-manager-istio-csr-issuer-ca-copy"), namespace, "ConfigMap with the CA"},
		{a.exists(&corev1.Secret{}, m.namespace, "istiod-tls"), m.namespace, "Secret of istiod"},
	} {
		if !o.is {
			t.Errorf("%s is missing in %q", o.name, o.namespace)
		}
	}
	before := issuer.GetLabels()
	a.get(issuer)
	if cmp.Diff(before, issuer.GetLabels()) != "" {
		t.Errorf("the user's issuer has other labels now: %v", issuer.GetLabels())
	}
	planetest.Eventually(t, "the event that it is ready", func() (bool, error) { return a.hasEvent("AgentReady"), nil })
}

// hasEvent says whether there is an event about the IstioCSR.
func (a install) hasEvent(reason string) bool {
	a.t.Helper()
	list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "events.k8s.io/v1", "kind": "EventList"}}
	must(a.t, admin.List(a.t.Context(), list))
	return slices.ContainsFunc(list.Items, func(e unstructured.Unstructured) bool {
		regarding, _, err := unstructured.NestedString(e.Object, "regarding", "namespace")
		must(a.t, err)
		return e.Object["reason"] == reason && regarding == a.ic.Namespace
	})
}

// quiet shows that the manager comes to rest, and sends no request then for a time, but for
// its watches.
func quiet(t *testing.T, span time.Duration) {
	t.Helper()
	// Events are counted with some delay, and statuses wait for more.
	const rest = 10 * time.Second
	since := time.Now()
	asked := func() []localplane.AuditEvent { return setup.Requests(t, plane, setup.Manager, since) }
	planetest.Eventually(t, "the manager to come to rest", func() (bool, error) {
		last := asked()
		if len(last) > 0 {
			since = time.Now()
		}
		return time.Since(since) > rest, fmt.Errorf("it asks %v", last)
	})
	since = time.Now()
	planetest.Stays(t, span, "the manager rests", func() (bool, error) {
		now := asked()
		return len(now) == 0, fmt.Errorf("it asks %+v", now)
	})
}

// TestIstioCSR_Update: a change makes one revision, and only what it is about changes.
func TestIstioCSR_Update(t *testing.T) {
	a := working(t, nil)
	if got := a.revision(); got != 1 {
		t.Errorf("it is at revision %d", got)
	}
	certificate := a.object(`{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: istiod, namespace: NS}}`)
	a.get(certificate)
	issued := certificate.GetGeneration()
	a.update(func(ic *operatorv1alpha1.IstioCSR) {
		ic.Spec.IstioCSRConfig.Tolerations = []corev1.Toleration{{Key: "infra", Operator: corev1.TolerationOpExists}}
		ic.Spec.IstioCSRConfig.LogLevel = 4
	})
	a.ready()
	spec := a.deployment().Spec.Template.Spec
	if len(spec.Tolerations) != 1 || !slices.Contains(spec.Containers[0].Args, "--log-level=4") {
		t.Errorf("the pods are %+v", spec)
	}
	if got := a.revision(); got != 2 {
		t.Errorf("it is at revision %d after one change", got)
	}
	a.get(certificate)
	if certificate.GetGeneration() != issued {
		t.Error("the certificate was changed, too")
	}
	a.update(func(ic *operatorv1alpha1.IstioCSR) {
		ic.Spec.IstioCSRConfig.Istio.Revisions = []string{"default", "canary"}
	})
	a.ready()
	a.get(certificate)
	names, _, err := unstructured.NestedStringSlice(certificate.Object, "spec", "dnsNames")
	if err != nil || !slices.Contains(names, "istiod-canary."+a.namespace+".svc") {
		t.Errorf("the certificate has the names %v (%v)", names, err)
	}
	before := a.pods()
	a.update(func(ic *operatorv1alpha1.IstioCSR) { ic.Labels = map[string]string{"own": "label"} })
	planetest.Stays(t, 2*time.Second, "a label of the IstioCSR's own changes nothing", func() (bool, error) {
		got := a.revision()
		return got == 3 && slices.Equal(before, a.pods()), fmt.Errorf("it is at revision %d", got)
	})
}

// TestIstioCSR_ReadyGoesAndComes: Ready follows what the agent needs, both ways.
func TestIstioCSR_ReadyGoesAndComes(t *testing.T) {
	a := working(t, nil)
	issuer := a.object(`{apiVersion: cert-manager.io/v1, kind: Issuer, metadata: {name: istio-ca, namespace: NS}}`)
	a.edit(issuer, "missing", "ca", "secretName")
	a.condition("Ready", "False/Progressing: Issuer "+a.namespace+"/istio-ca is not ready", "answers meanwhile")
	a.condition("Degraded", "False/Ready")
	a.edit(issuer, "root", "ca", "secretName")
	a.ready()
	a.signWith(issuer, map[string]any{"selfSigned": map[string]any{}})
	a.condition("Ready", "False/Failed: Issuer "+a.namespace+"/istio-ca is of type SelfSigned")
	a.condition("Degraded", "True/Failed")
	a.signWith(issuer, map[string]any{"ca": map[string]any{"secretName": "root"}})
	a.ready()
	a.condition("Degraded", "False/Ready")

	cordon(t, true)
	must(t, admin.DeleteAllOf(t.Context(), &corev1.Pod{}, client.InNamespace(a.ic.Namespace)))
	a.condition("Ready", "False/Progressing", a.ic.Namespace+"/"+agentName+": the condition Available is False")
	cordon(t, false)
	a.ready()

	a.update(func(ic *operatorv1alpha1.IstioCSR) {
		ic.Spec.AgentConfig = &operatorv1alpha1.AgentConfig{Image: &operatorv1alpha1.AgentImage{Reference: "registry.invalid/csr/agent:v0.14.2"}}
	})
	a.condition("Ready", "False/Progressing", "Deployment", "answers meanwhile")
	a.update(func(ic *operatorv1alpha1.IstioCSR) { ic.Spec.AgentConfig = nil })
	a.ready()
}

// signWith makes an issuer one of another type. cert-manager writes its status all the while.
func (m mesh) signWith(issuer *unstructured.Unstructured, spec map[string]any) {
	m.t.Helper()
	m.get(issuer)
	before := issuer.DeepCopy()
	issuer.Object["spec"] = spec
	must(m.t, admin.Patch(m.t.Context(), issuer, client.MergeFrom(before)))
}

// cordon keeps new pods off all nodes, or lets them on again.
func cordon(t *testing.T, closed bool) {
	t.Helper()
	nodes := &corev1.NodeList{}
	must(t, admin.List(t.Context(), nodes))
	for i := range nodes.Items {
		before := nodes.Items[i].DeepCopy()
		nodes.Items[i].Spec.Unschedulable = closed
		must(t, admin.Patch(t.Context(), &nodes.Items[i], client.MergeFrom(before)))
	}
}

// TestIstioCSR_LateDependencies: what is missing is named, and everything goes on by
// itself as soon as it comes.
func TestIstioCSR_LateDependencies(t *testing.T) {
	m := mesh{t: t, namespace: planetest.Namespace(t, plane) + "-mesh"}
	a := newInstall(m, nil)
	a.condition("Ready", "False/Progressing: namespace "+m.namespace+" (spec.istioCSRConfig.istio.namespace) does not exist")
	a.condition("Degraded", "False/Ready")
	m.create(`{apiVersion: v1, kind: Namespace, metadata: {name: NS}}`)
	a.condition("Ready", "False/Progressing: Issuer "+m.namespace+"/istio-ca does not exist")
	m.issuer("istio-ca", "root")
	a.condition("Ready", "False/Progressing", "Issuer "+m.namespace+"/istio-ca is not ready")
	m.root("root")
	a.ready()
}

// TestIstioCSR_IssuersThatCannotSign are refused before anything is made.
func TestIstioCSR_IssuersThatCannotSign(t *testing.T) {
	m := newMesh(t)
	issuer := m.create(`{apiVersion: cert-manager.io/v1, kind: Issuer, metadata: {name: istio-ca, namespace: NS}, spec: {acme: {server: "https://127.0.0.1:1/dir", privateKeySecretRef: {name: acme}, solvers: [{http01: {ingress: {}}}]}}}`)
	a := newInstall(m, nil)
	a.condition("Degraded", "True/Failed: Issuer "+m.namespace+"/istio-ca is of type ACME")
	planetest.Eventually(t, "the event", func() (bool, error) { return a.hasEvent("AgentDegraded"), nil })
	if a.exists(&corev1.ServiceAccount{}, a.ic.Namespace, agentName) {
		t.Error("something was made")
	}
	m.root("root")
	a.signWith(issuer, map[string]any{"ca": map[string]any{"secretName": "root"}})
	a.ready()
}

// TestIstioCSR_BadSpec: what the API server lets through and cannot work is reported with
// its path, nothing is made of it, and mending it is enough.
func TestIstioCSR_BadSpec(t *testing.T) {
	m := newMesh(t)
	m.root("root")
	m.issuer("istio-ca", "root")
	a := newInstall(m, func(ic *operatorv1alpha1.IstioCSR) {
		ic.Spec.IstioCSRConfig.IstioDataPlaneNamespaceSelector = "a==b==c,,"
		ic.Spec.IstioCSRConfig.IstiodTLSConfig.CertificateDuration = &metav1.Duration{Duration: 30 * time.Minute}
	})
	a.condition("Degraded", "True/Failed", "spec.istioCSRConfig.istioDataPlaneNamespaceSelector", "spec.istioCSRConfig.istiodTLSConfig.certificateDuration: 30m0s is too short")
	if a.exists(&corev1.ServiceAccount{}, a.ic.Namespace, agentName) {
		t.Error("something was made")
	}
	a.update(func(ic *operatorv1alpha1.IstioCSR) {
		ic.Spec.IstioCSRConfig.IstioDataPlaneNamespaceSelector = "mesh=yes"
		ic.Spec.IstioCSRConfig.IstiodTLSConfig.CertificateDuration = &metav1.Duration{Duration: 90 * time.Minute}
	})
	a.ready()
	before := a.pods()
	a.update(func(ic *operatorv1alpha1.IstioCSR) {
		ic.Spec.IstioCSRConfig.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{}}}}
	})
	a.condition("Degraded", "True/Failed: spec.istioCSRConfig.affinity.podAffinity", "topologyKey: must not be empty", "answers meanwhile")
	if !slices.Equal(before, a.pods()) {
		t.Error("what worked was touched")
	}
	a.update(func(ic *operatorv1alpha1.IstioCSR) {
		ic.Spec.IstioCSRConfig.Affinity = nil
		ic.Spec.ControllerConfig = &operatorv1alpha1.ControllerConfig{Labels: map[string]string{"team": "a b"}}
	})
	a.condition("Degraded", "True/Failed: spec.controllerConfig.labels[team]", "answers meanwhile")
	a.update(func(ic *operatorv1alpha1.IstioCSR) { ic.Spec.ControllerConfig = nil })
	a.ready()
}

// TestIstioCSR_LongNamespace: names that are made of it stay within their limits.
func TestIstioCSR_LongNamespace(t *testing.T) {
	m := newMesh(t)
	m.root("root")
	m.issuer("istio-ca", "root")
	name := m.namespace + "-" + strings.Repeat("x", 59-len(m.namespace))
	m.create(`{apiVersion: v1, kind: Namespace, metadata: {name: ` + name + `}}`)
	a := newInstallIn(m, name, nil)
	a.ready()
}
