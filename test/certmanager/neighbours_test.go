// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package certmanager

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/localplane/planetest"
)

// byHelm are objects as the chart of istio-csr makes them: labels that lack app, other
// arguments, a root in a Secret.
var byHelm = []string{`
apiVersion: v1
kind: Service
metadata:
  name: cert-manager-istio-csr
  namespace: CSR
  labels: {app.kubernetes.io/name: cert-manager-istio-csr, app.kubernetes.io/managed-by: Helm, helm.sh/chart: cert-manager-istio-csr-v0.14.2}
  annotations: {meta.helm.sh/release-name: cert-manager-istio-csr, meta.helm.sh/release-namespace: CSR}
spec:
  ports: [{port: 443, targetPort: 6443, protocol: TCP, name: web}]
  selector: {app: cert-manager-istio-csr}
`, `
apiVersion: v1
kind: ServiceAccount
metadata: {name: cert-manager-istio-csr, namespace: CSR, labels: {app.kubernetes.io/managed-by: Helm}}
`, `
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: cert-manager-istio-csr, namespace: NS, labels: {app.kubernetes.io/managed-by: Helm}}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: cert-manager-istio-csr}
subjects: [{kind: ServiceAccount, name: cert-manager-istio-csr, namespace: CSR}]
`, `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: cert-manager-istio-csr
  namespace: CSR
  labels: {app.kubernetes.io/name: cert-manager-istio-csr, app.kubernetes.io/managed-by: Helm}
spec:
  replicas: 1
  selector: {matchLabels: {app: cert-manager-istio-csr}}
  template:
    metadata: {labels: {app: cert-manager-istio-csr, app.kubernetes.io/managed-by: Helm}}
    spec:
      serviceAccountName: cert-manager-istio-csr
      containers:
      - name: cert-manager-istio-csr
        image: quay.io/jetstack/cert-manager-istio-csr:v0.14.2
        command: [cert-manager-istio-csr]
        args: [--log-level=1, --root-ca-file=/etc/tls/ca.pem]
        ports: [{containerPort: 6443}, {containerPort: 9402}]
`}

// TestIstioCSR_TakeoverFromHelm: what a chart has installed is taken over in place: no
// object is made anew, and what serves is replaced only by what serves.
func TestIstioCSR_TakeoverFromHelm(t *testing.T) {
	m := newMesh(t)
	m.root("root")
	m.issuer("istio-ca", "root")
	namespace := planetest.Namespace(t, plane)
	before := map[string]types.UID{}
	for _, manifest := range byHelm {
		object := m.create(replaced(manifest, namespace))
		before[object.GetKind()] = object.GetUID()
	}
	a := newInstallIn(m, namespace, nil)
	a.ready()
	for kind, object := range map[string]client.Object{
		"Service": &corev1.Service{}, "ServiceAccount": &corev1.ServiceAccount{}, "Deployment": &appsv1.Deployment{}, "RoleBinding": &rbacv1.RoleBinding{},
	} {
		in := namespace
		if kind == "RoleBinding" {
			in = m.namespace
		}
		if !a.exists(object, in, agentName) || object.GetUID() != before[kind] || object.GetLabels()[v1alpha1.LabelPackage] == "" {
			t.Errorf("%s was not taken over in place: uid %s, was %s, labels %v", kind, object.GetUID(), before[kind], object.GetLabels())
		}
	}
	container := a.deployment().Spec.Template.Spec.Containers[0]
	if !slices.Contains(container.Args, "--root-ca-file=/var/run/configmaps/istio-csr/ca.crt") || len(container.Args) < 20 {
		t.Errorf("the agent has the arguments %q", container.Args)
	}
}

// TestIstioCSR_Collision: what another manager controls is left alone, and named.
func TestIstioCSR_Collision(t *testing.T) {
	m := newMesh(t)
	m.root("root")
	m.issuer("istio-ca", "root")
	namespace := planetest.Namespace(t, plane)
	owner := m.create(`{apiVersion: v1, kind: ConfigMap, metadata: {name: owner, namespace: ` + namespace + `}}`)
	account := &corev1.ServiceAccount{}
	account.Namespace, account.Name = namespace, agentName
	account.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: owner.GetUID(), Controller: new(true)}}
	must(t, admin.Create(t.Context(), account))
	a := newInstallIn(m, namespace, nil)
	a.condition("Degraded", "True/Failed", "ServiceAccount", "owner")
	a.get(account)
	if account.Labels[v1alpha1.LabelPackage] != "" || account.Labels["app"] != "" {
		t.Errorf("it was written to: %v", account.Labels)
	}
	must(t, admin.Delete(t.Context(), account))
	a.ready()
}

// TestIstioCSR_ServiceMonitor: one that is asked for is made as soon as its kind exists.
func TestIstioCSR_ServiceMonitor(t *testing.T) {
	a := working(t, func(ic *operatorv1alpha1.IstioCSR) {
		ic.Spec.AgentConfig = &operatorv1alpha1.AgentConfig{ServiceMonitor: &operatorv1alpha1.ServiceMonitor{Interval: "30s"}, Replicas: new(int32(2))}
	})
	a.condition("Ready", "True/Ready", "with warning: spec.agentConfig.serviceMonitor has no effect")
	if got := len(a.pods()); got != 2 {
		t.Errorf("%d pods run, want 2", got)
	}
	a.define(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: servicemonitors.monitoring.coreos.com}
spec:
  group: monitoring.coreos.com
  names: {kind: ServiceMonitor, plural: servicemonitors}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`)
	monitor := a.object(`{apiVersion: monitoring.coreos.com/v1, kind: ServiceMonitor, metadata: {name: cert-manager-istio-csr, namespace: ` + a.ic.Namespace + `}}`)
	planetest.Eventually(t, "the ServiceMonitor", func() (bool, error) {
		err := admin.Get(t.Context(), client.ObjectKeyFromObject(monitor), monitor)
		return err == nil, err
	})
	a.readyWithoutWarning("the warning to go")
}
