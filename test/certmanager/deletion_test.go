// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package certmanager

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front/istiocsr"
	"github.com/strata-run/strata/internal/localplane/planetest"
)

// awaitGone waits until the IstioCSR is gone.
func (a install) awaitGone() {
	a.t.Helper()
	planetest.Eventually(a.t, "the IstioCSR to be gone", func() (bool, error) {
		err := admin.Get(a.t.Context(), client.ObjectKeyFromObject(a.ic), a.ic.DeepCopy())
		return apierrors.IsNotFound(err), err
	})
}

// TestIstioCSR_DeleteAndRecreate: an agent runs on without its IstioCSR and without an owner, and
// is adopted by the next one; its pods notice neither.
func TestIstioCSR_DeleteAndRecreate(t *testing.T) {
	a := working(t, nil)
	pods, generation := a.pods(), a.deployment().Generation
	must(t, admin.Delete(t.Context(), a.ic))
	a.awaitGone()
	planetest.Eventually(t, "the event of the deletion", func() (bool, error) { return a.hasEvent("RemoveDeployment"), nil })
	d := a.deployment()
	if d.Labels[v1alpha1.LabelPackage] != "" || len(d.OwnerReferences) != 0 {
		t.Errorf("it still has an owner: %v %v", d.Labels, d.OwnerReferences)
	}
	planetest.Stays(t, 2*time.Second, "the pods stay when the IstioCSR goes", func() (bool, error) {
		return a.deployment().Generation == generation && slices.Equal(pods, a.pods()), nil
	})
	again := newInstallIn(a.mesh, a.ic.Namespace, nil)
	again.ready()
	if got := again.deployment(); got.Generation != generation || !slices.Equal(pods, again.pods()) || got.Labels[v1alpha1.LabelPackage] == "" {
		t.Errorf("it was not adopted as it was: generation %d, was %d", got.Generation, generation)
	}
}

// TestIstioCSR_Remove: an annotation has the agent go with its IstioCSR, and says so
// before, while a mesh needs it.
func TestIstioCSR_Remove(t *testing.T) {
	m := newMesh(t)
	a := working(t, nil)
	m.define(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: istios.sailoperator.io}
spec:
  group: sailoperator.io
  names: {kind: Istio, plural: istios}
  scope: Cluster
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`)
	planetest.Eventually(t, "the kind Istio to be served", func() (bool, error) {
		mesh := m.object(`{apiVersion: sailoperator.io/v1, kind: Istio, metadata: {name: basic}, spec: {values: {global: {caAddress: "` + agentName + "." + a.ic.Namespace + `.svc:443"}}}}`)
		err := admin.Create(t.Context(), mesh)
		return err == nil, err
	})
	a.update(func(ic *operatorv1alpha1.IstioCSR) {
		ic.Annotations = map[string]string{operatorv1alpha1.AnnotationDeletionPolicy: operatorv1alpha1.DeletionPolicyDelete}
	})
	a.condition("Ready", "True/Ready", "with warning: when this is deleted the agent goes with it", "Istio basic still points at it")
	must(t, admin.Delete(t.Context(), a.ic))
	a.awaitGone()
	for name, object := range map[string]client.Object{agentName: &appsv1.Deployment{}, "cert-manager-istio-csr-issuer-ca-copy": &corev1.ConfigMap{}} {
		if a.exists(object, a.ic.Namespace, name) {
			t.Errorf("%s is still there", name)
		}
	}
	if a.exists(&rbacv1.ClusterRole{}, "", agentName+"-"+a.ic.Namespace) {
		t.Error("the ClusterRole is still there")
	}
	if !a.exists(&corev1.Secret{}, a.namespace, "istiod-tls") {
		t.Error("the Secret of istiod is gone, which istiod uses")
	}
}

// earlier is the Deployment as the cert-manager operator makes it.
const earlier = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: cert-manager-istio-csr
  namespace: CSR
  labels: &labels
    app: cert-manager-istio-csr
    app.kubernetes.io/name: cert-manager-istio-csr
    app.kubernetes.io/instance: cert-manager-istio-csr
    app.kubernetes.io/version: v0.14.2
    app.kubernetes.io/managed-by: cert-manager-operator
    app.kubernetes.io/part-of: cert-manager-operator
spec:
  replicas: 1
  selector: {matchLabels: {app: cert-manager-istio-csr}}
  template:
    metadata: {labels: *labels}
    spec:
      serviceAccountName: cert-manager-istio-csr
      nodeSelector: {kubernetes.io/os: linux}
      containers:
      - name: cert-manager-istio-csr
        image: quay.io/jetstack/cert-manager-istio-csr:v0.14.2
        imagePullPolicy: IfNotPresent
        ports: [{containerPort: 6443}, {containerPort: 9402}]
        readinessProbe: {httpGet: {port: 6060, path: /readyz}, initialDelaySeconds: 3, periodSeconds: 7}
        args: [--log-level=1, --log-format=text, --metrics-port=9402, --readiness-probe-port=6060, --readiness-probe-path=/readyz,
          --certificate-namespace=NS, --issuer-enabled=true, --preserve-certificate-requests=false,
          --issuer-name=istio-ca, --issuer-kind=Issuer, --issuer-group=cert-manager.io, --root-ca-file=/var/run/configmaps/istio-csr/ca.crt,
          --serving-certificate-dns-names=cert-manager-istio-csr.CSR.svc, --serving-certificate-duration=60m, --trust-domain=cluster.local,
          --cluster-id=Kubernetes, --max-client-certificate-duration=60m, "--serving-address=0.0.0.0:6443",
          --serving-certificate-key-size=256, --serving-signature-algorithm=ECDSA, --enable-client-cert-authenticator=false,
          --leader-election-namespace=NS, --disable-kubernetes-client-rate-limiter=false, --istiod-cert-enabled=false,
          --istiod-cert-namespace=NS, --istiod-cert-duration=60m, --istiod-cert-renew-before=30m,
          --istiod-cert-key-algorithm=ECDSA, --istiod-cert-key-size=256, --istiod-cert-additional-dns-names=, --istiod-cert-istio-revisions=default]
        resources: {}
        securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}, readOnlyRootFilesystem: true, runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
        volumeMounts: [{name: root-ca, mountPath: /var/run/configmaps/istio-csr, readOnly: true}]
      volumes:
      - {name: root-ca, configMap: {name: cert-manager-istio-csr-issuer-ca-copy, defaultMode: 420, items: [{key: ca.crt, path: ca.crt, mode: 420}]}}
`

// TestIstioCSR_Takeover: what the operator before has installed is taken over: the pods
// stay, and so does the ClusterRole with its generated name.
func TestIstioCSR_Takeover(t *testing.T) {
	withManager(t)
	namespace := planetest.Namespace(t, plane)
	m := mesh{t: t, namespace: planetest.Namespace(t, plane) + "-mesh"}
	// While its mesh is missing the IstioCSR waits, so that its status can be that of the
	// operator before.
	a := newInstallIn(m, namespace, nil)
	a.condition("Ready", "False/Progressing: namespace")
	role := &rbacv1.ClusterRole{}
	role.GenerateName, role.Labels = agentName+"-", istiocsr.ClusterLabels(namespace)
	must(t, admin.Create(t.Context(), role))
	t.Cleanup(func() { _ = admin.Delete(t.Context(), role) })
	a.get(a.ic)
	before := a.ic.DeepCopy()
	a.ic.Status.ClusterRole = role.Name
	must(t, admin.Status().Patch(t.Context(), a.ic, client.MergeFrom(before)))
	m.create(`{apiVersion: v1, kind: ServiceAccount, metadata: {name: cert-manager-istio-csr, namespace: ` + namespace + `}}`)
	m.create(replaced(earlier, namespace))
	planetest.Eventually(t, "its pod", func() (bool, error) { return len(a.pods()) == 1, nil })
	pods, generation := a.pods(), a.deployment().Generation

	m.create(`{apiVersion: v1, kind: Namespace, metadata: {name: NS}}`)
	m.root("root")
	m.issuer("istio-ca", "root")
	a.ready()
	if got := a.deployment(); got.Generation != generation || got.Labels[v1alpha1.LabelPackage] == "" || !slices.Equal(pods, a.pods()) {
		t.Errorf("the Deployment is at generation %d and was at %d; its labels are %v", got.Generation, generation, got.Labels)
	}
	if a.ic.Status.ClusterRole != role.Name || a.exists(&rbacv1.ClusterRole{}, "", agentName+"-"+namespace) {
		t.Errorf("the ClusterRole is %s, and was %s", a.ic.Status.ClusterRole, role.Name)
	}
	a.get(role)
	if role.Labels[v1alpha1.LabelPackage] == "" || len(role.Rules) != 3 {
		t.Errorf("the ClusterRole was not taken over: %v %v", role.Labels, role.Rules)
	}
}

// TestIstioCSR_Undecodable: one that a laxer definition of the kind has let through says
// what is wrong with it, and is no trouble for others.
func TestIstioCSR_Undecodable(t *testing.T) {
	a := working(t, nil)
	definition := a.object(`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: istiocsrs.operator.openshift.io}}`)
	a.get(definition)
	strict := definition.DeepCopy()
	broken := &unstructured.Unstructured{}
	content, err := json.Marshal(newInstallSpec(a.mesh))
	must(t, err)
	must(t, json.Unmarshal(content, &broken.Object))
	broken.SetNamespace(planetest.Namespace(t, plane))
	must(t, unstructured.SetNestedField(broken.Object, "banana", "spec", "istioCSRConfig", "istiodTLSConfig", "certificateDuration"))
	relax(t, definition)
	younger(t)
	planetest.Eventually(t, "a laxer definition", func() (bool, error) {
		err := admin.Create(t.Context(), broken)
		return err == nil, err
	})
	patch, err := json.Marshal(map[string]any{"spec": strict.Object["spec"]})
	must(t, err)
	must(t, admin.Patch(t.Context(), definition, client.RawPatch(types.MergePatchType, patch)))

	b := install{mesh: a.mesh, ic: &operatorv1alpha1.IstioCSR{}}
	b.ic.Name, b.ic.Namespace = broken.GetName(), broken.GetNamespace()
	t.Cleanup(b.remove)
	b.condition("Ready", "False/Failed: IstioCSR "+a.ic.Namespace+"/default is older")
	a.update(func(ic *operatorv1alpha1.IstioCSR) { ic.Spec.IstioCSRConfig.LogLevel = 5 })
	a.ready()
	if !slices.Contains(a.deployment().Spec.Template.Spec.Containers[0].Args, "--log-level=5") {
		t.Error("the other one is blind to changes")
	}
	must(t, admin.Delete(t.Context(), a.ic))
	a.awaitGone()
	b.condition("Degraded", "True/Failed: spec cannot be read", "banana")
}
