// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package certmanager

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/localplane/planetest"
)

// chartObjects are what the Helm chart of istio-csr makes, with the values that
// [newInstallSpec] stands for: no app label on most, arguments in its own order and
// spelling, no CA file, and roles of another name.
var chartObjects = []string{`
apiVersion: v1
kind: ServiceAccount
metadata: {name: cert-manager-istio-csr, namespace: CSR}
`, `
apiVersion: v1
kind: Service
metadata: {name: cert-manager-istio-csr, namespace: CSR}
spec:
  type: ClusterIP
  ports: [{port: 443, targetPort: 6443, protocol: TCP, name: web}]
  selector: {app: cert-manager-istio-csr}
`, `
apiVersion: v1
kind: Service
metadata: {name: cert-manager-istio-csr-metrics, namespace: CSR}
spec:
  type: ClusterIP
  ports: [{port: 9402, targetPort: 9402, protocol: TCP, name: metrics}]
  selector: {app: cert-manager-istio-csr}
`, `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: cert-manager-istio-csr}
rules:
- {apiGroups: [""], resources: [configmaps], verbs: [get, list, create, update, watch]}
- {apiGroups: [""], resources: [namespaces], verbs: [get, list, watch]}
- {apiGroups: [authentication.k8s.io], resources: [tokenreviews], verbs: [create]}
`, `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: cert-manager-istio-csr, namespace: NS}
rules:
- {apiGroups: [cert-manager.io], resources: [certificaterequests], verbs: [get, list, create, update, delete, watch]}
- {apiGroups: [""], resources: [events], verbs: [create]}
`, `
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: cert-manager-istio-csr, namespace: NS}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: cert-manager-istio-csr}
subjects: [{kind: ServiceAccount, name: cert-manager-istio-csr, namespace: CSR}]
`, istiodCertificate("istio-ca"), chartDeployment}

const chartDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: cert-manager-istio-csr, namespace: CSR}
spec:
  replicas: 2
  selector: {matchLabels: {app: cert-manager-istio-csr}}
  template:
    metadata:
      labels:
        app: cert-manager-istio-csr
        app.kubernetes.io/name: cert-manager-istio-csr
        app.kubernetes.io/instance: cert-manager-istio-csr
        app.kubernetes.io/version: v0.14.2
        app.kubernetes.io/managed-by: Helm
        helm.sh/chart: cert-manager-istio-csr-v0.14.2
    spec:
      serviceAccountName: cert-manager-istio-csr
      nodeSelector: {kubernetes.io/os: linux}
      containers:
      - name: cert-manager-istio-csr
        image: mirror.example.com/jetstack/cert-manager-istio-csr:v0.14.2
        imagePullPolicy: IfNotPresent
        ports: [{containerPort: 6443}, {containerPort: 9402}]
        readinessProbe: {httpGet: {port: 6060, path: /readyz}, initialDelaySeconds: 3, periodSeconds: 7}
        command: [cert-manager-istio-csr]
        args:
        - --log-level=1
        - --log-format=text
        - --metrics-port=9402
        - --readiness-probe-port=6060
        - --readiness-probe-path=/readyz
        - --certificate-namespace=NS
        - --issuer-enabled=true
        - --issuer-name=istio-ca
        - --issuer-kind=Issuer
        - --issuer-group=cert-manager.io
        - --preserve-certificate-requests=false
        - --root-ca-file=
        - --serving-certificate-dns-names=cert-manager-istio-csr.CSR.svc
        - --serving-certificate-duration=1h
        - --trust-domain=cluster.local
        - --cluster-id=Kubernetes
        - --max-client-certificate-duration=1h
        - --serving-address=0.0.0.0:6443
        - --serving-certificate-key-size=256
        - --serving-signature-algorithm=ECDSA
        - --enable-client-cert-authenticator=false
        - --leader-election-namespace=NS
        - --disable-kubernetes-client-rate-limiter=false
        - --runtime-issuance-config-map-name=
        - --runtime-issuance-config-map-namespace=CSR
        - --istiod-cert-enabled=false
        - --istiod-cert-name=istiod-dynamic
        - --istiod-cert-namespace=NS
        - --istiod-cert-duration=1h
        - --istiod-cert-renew-before=30m
        - --istiod-cert-key-algorithm=RSA
        - --istiod-cert-key-size=2048
        - --istiod-cert-additional-dns-names=
        - --istiod-cert-istio-revisions=default
        resources: {requests: {cpu: 10m}}
        securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}, readOnlyRootFilesystem: true, runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
`

// installByHelm makes the objects as Helm does, with its marks and under its name: Helm 3
// creates, and Helm 4 applies.
func installByHelm(m mesh, namespace string, applies bool, manifests ...string) map[string]types.UID {
	m.t.Helper()
	uids := map[string]types.UID{}
	for _, manifest := range manifests {
		object := m.object(replaced(manifest, namespace))
		object.SetLabels(map[string]string{
			"app.kubernetes.io/name": agentName, "app.kubernetes.io/instance": agentName, "app.kubernetes.io/version": "v0.14.2",
			"app.kubernetes.io/managed-by": "Helm", "helm.sh/chart": "cert-manager-istio-csr-v0.14.2",
		})
		object.SetAnnotations(map[string]string{"meta.helm.sh/release-name": "csr-release", "meta.helm.sh/release-namespace": namespace})
		if applies {
			must(m.t, admin.Apply(m.t.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("helm"), client.ForceOwnership))
		} else {
			must(m.t, admin.Create(m.t.Context(), object, client.FieldOwner("helm")))
		}
		if object.GetNamespace() == "" {
			m.t.Cleanup(func() { _ = admin.Delete(context.Background(), object) })
		}
		must(m.t, admin.Get(m.t.Context(), client.ObjectKeyFromObject(object), object))
		uids[object.GetKind()+"/"+object.GetName()] = object.GetUID()
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "sh.helm.release.v1.csr-release.v1", Labels: map[string]string{"owner": "helm", "name": "csr-release"}},
		Type:       "helm.sh/release.v1", Data: map[string][]byte{"release": []byte("x")},
	}
	must(m.t, admin.Create(m.t.Context(), secret))
	return uids
}

// replicaSets are the UIDs of the ReplicaSets of the agent: a rollout makes another one.
func (a install) replicaSets() []string {
	a.t.Helper()
	list := &appsv1.ReplicaSetList{}
	must(a.t, admin.List(a.t.Context(), list, client.InNamespace(a.ic.Namespace)))
	var uids []string
	for i := range list.Items {
		uids = append(uids, string(list.Items[i].UID))
	}
	slices.Sort(uids)
	return uids
}

// running is what must not change when an agent is taken over: its pods, and what they
// are made from.
type running struct {
	Pods, ReplicaSets []string
	Generation        int64
	Spec              appsv1.DeploymentSpec
}

func (a install) running() running {
	a.t.Helper()
	d := a.deployment()
	return running{Pods: a.pods(), ReplicaSets: a.replicaSets(), Generation: d.Generation, Spec: d.Spec}
}

// as fails the test if the agent is not as it was.
func (a install) as(before running, when string) {
	a.t.Helper()
	if diff := cmp.Diff(before, a.running()); diff != "" {
		a.t.Errorf("%s the agent is another one (-before +after):\n%s", when, diff)
	}
}

// eventNote is the note of an event about the IstioCSR, empty without one.
func (a install) eventNote(reason string) string {
	a.t.Helper()
	list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "events.k8s.io/v1", "kind": "EventList"}}
	must(a.t, admin.List(a.t.Context(), list))
	for _, e := range list.Items {
		regarding, _, err := unstructured.NestedString(e.Object, "regarding", "namespace")
		must(a.t, err)
		if e.Object["reason"] == reason && regarding == a.ic.Namespace {
			note, _ := e.Object["note"].(string)
			return note
		}
	}
	return ""
}

// helmAgent is the agent of a chart that has been taken over, and how it was before.
func helmAgent(t *testing.T, applies bool) (install, running, map[string]types.UID) {
	t.Helper()
	m := newMesh(t)
	m.root("root")
	m.issuer("istio-ca", "root")
	namespace := planetest.Namespace(t, plane)
	a := install{mesh: m, ic: &operatorv1alpha1.IstioCSR{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}}}
	uids := installByHelm(m, namespace, applies, chartObjects...)
	planetest.Eventually(t, "the chart's pods", func() (bool, error) {
		d := a.deployment()
		return d.Status.AvailableReplicas == 2 && d.Status.ObservedGeneration == d.Generation && len(a.pods()) == 2, nil
	})
	before := a.running()
	a = newInstallIn(m, namespace, nil)
	a.ready()
	return a, before, uids
}

// TestIstioCSR_HelmPodsStay: an agent of the chart that does what is asked for is taken
// over as it stands, whichever Helm has installed it, and stays so until something about
// it is changed.
func TestIstioCSR_HelmPodsStay(t *testing.T) {
	for name, applies := range map[string]bool{"Helm3": false, "Helm4": true} {
		t.Run(name, func(t *testing.T) {
			a, before, uids := helmAgent(t, applies)
			a.as(before, "after the takeover")
			a.condition("Ready", "True/Ready", "without --root-ca-file", "there are 2 replicas", "Helm has the agent in its release "+a.ic.Namespace+"/csr-release")
			planetest.Eventually(t, "the event of the takeover", func() (bool, error) {
				note := a.eventNote("AgentTakenOver")
				return strings.HasSuffix(note, "and its pods stay"), fmt.Errorf("the note is %q", note)
			})
			for kind, object := range map[string]client.Object{
				"ServiceAccount/" + agentName: &corev1.ServiceAccount{}, "Service/" + agentName: &corev1.Service{}, "Service/" + agentName + "-metrics": &corev1.Service{},
				"Role/" + agentName: &rbacv1.Role{}, "RoleBinding/" + agentName: &rbacv1.RoleBinding{}, "Deployment/" + agentName: &appsv1.Deployment{},
			} {
				in := a.ic.Namespace
				if strings.HasPrefix(kind, "Role") {
					in = a.namespace
				}
				_, objectName, _ := strings.Cut(kind, "/")
				if !a.exists(object, in, objectName) || object.GetUID() != uids[kind] || object.GetLabels()[v1alpha1.LabelPackage] == "" {
					t.Errorf("%s was not taken over in place: %v", kind, object.GetLabels())
				}
			}
			if a.ic.Status.IstioCSRImage != "mirror.example.com/jetstack/cert-manager-istio-csr:v0.14.2" {
				t.Errorf("the status says that %s runs", a.ic.Status.IstioCSRImage)
			}
			a.update(func(ic *operatorv1alpha1.IstioCSR) { ic.Spec.IstioCSRConfig.IstiodTLSConfig.CommonName = "istiod" })
			planetest.Eventually(t, "the second revision", func() (bool, error) { return a.revision() == 2, nil })
			a.ready()
			a.as(before, "after a change of the certificate")
			a.update(func(ic *operatorv1alpha1.IstioCSR) { ic.Spec.IstioCSRConfig.LogLevel = 4 })
			a.ready()
			a.isOurs()
		})
	}
}

// TestIstioCSR_HelmAgentLater: what was found outlives restarts of the manager and drift;
// a change of the agent replaces it, and a rollback brings it back.
func TestIstioCSR_HelmAgentLater(t *testing.T) {
	a, before, _ := helmAgent(t, false)
	withoutManager(t, func() {})
	a.update(func(ic *operatorv1alpha1.IstioCSR) { ic.Annotations = map[string]string{"look": "again"} })
	planetest.Stays(t, 2*time.Second, "a restart makes no revision", func() (bool, error) {
		got := a.revision()
		return got == 1, fmt.Errorf("it is at revision %d", got)
	})
	a.ready()
	a.as(before, "after a restart of the manager")

	d := a.deployment()
	drifted := d.DeepCopy()
	drifted.Spec.Template.Spec.Containers[0].Args = []string{"--log-level=1"}
	must(t, admin.Patch(t.Context(), drifted, client.MergeFrom(d)))
	a.settled(before.Spec)
	must(t, admin.Delete(t.Context(), a.deployment()))
	planetest.Eventually(t, "the Deployment to come back", func() (bool, error) { return a.exists(&appsv1.Deployment{}, a.ic.Namespace, agentName), nil })
	a.settled(before.Spec)
	if got := a.revision(); got != 1 {
		t.Errorf("drift has led to revision %d", got)
	}

	a.update(func(ic *operatorv1alpha1.IstioCSR) { ic.Spec.IstioCSRConfig.LogLevel = 4 })
	a.ready()
	a.isOurs()
	args := a.deployment().Spec.Template.Spec.Containers[0].Args
	if args[0] != "--log-level=4" || !slices.Contains(args, "--root-ca-file=/var/run/configmaps/istio-csr/ca.crt") || a.revision() != 2 {
		t.Errorf("after a change of the agent revision %d has the arguments %q", a.revision(), args)
	}
	pkg := &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: "istio-csr-" + a.ic.Namespace}}
	a.get(pkg)
	request := pkg.DeepCopy()
	request.Spec.Rollback = &v1alpha1.Rollback{ToRevision: 1, Reason: "a test", RequestedAt: metav1.Now()}
	must(t, admin.Patch(t.Context(), request, client.MergeFrom(pkg)))
	planetest.Eventually(t, "the rollback", func() (bool, error) { return a.revision() == 3, nil })
	a.condition("Ready", "True/Ready", "a rollback excludes the newest content")
	a.settled(before.Spec)
	if got := a.revision(); got != 3 {
		t.Errorf("the rollback has led to revision %d", got)
	}
}

// isOurs fails the test if something of the chart is left in the pods.
func (a install) isOurs() {
	a.t.Helper()
	template := a.deployment().Spec.Template
	container := template.Spec.Containers[0]
	if left := template.Labels["helm.sh/chart"]; left != "" || container.Command != nil || container.Resources.Requests != nil || !slices.Contains(container.Args, "--log-level=4") {
		a.t.Errorf("something of the chart is left after a change of the agent: chart %q, %+v", left, container)
	}
}

// settled waits until the Deployment is as it was, and rolled out.
func (a install) settled(want appsv1.DeploymentSpec) {
	a.t.Helper()
	planetest.Eventually(a.t, "the Deployment to be as it was", func() (bool, error) {
		d := a.deployment()
		done := d.Status.ObservedGeneration == d.Generation && d.Status.AvailableReplicas == *want.Replicas && d.Status.UpdatedReplicas == *want.Replicas
		return done && cmp.Equal(want, d.Spec), fmt.Errorf("rolled out: %v; -want +got:\n%s", done, cmp.Diff(want, d.Spec))
	})
}

// TestIstioCSR_HelmForgets: what the status tells to have Helm forget its release takes
// the release away and nothing else. The agent then goes from IstioCSR to IstioCSR as any
// other.
func TestIstioCSR_HelmForgets(t *testing.T) {
	a, before, _ := helmAgent(t, false)
	namespace := client.InNamespace(a.ic.Namespace)
	must(t, admin.DeleteAllOf(t.Context(), &corev1.Secret{}, namespace, client.MatchingLabels{"owner": "helm", "name": "csr-release"}))
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{"meta.helm.sh/release-name": nil, "meta.helm.sh/release-namespace": nil}}})
	must(t, err)
	must(t, admin.Patch(t.Context(), a.deployment(), client.RawPatch(types.MergePatchType, patch)))
	planetest.Eventually(t, "no warning about Helm", func() (bool, error) {
		a.get(a.ic)
		return !strings.Contains(fmt.Sprint(a.ic.Status.Conditions), "Helm has the agent"), nil
	})
	a.ready()
	before.Generation++ // annotations count
	a.as(before, "after Helm has forgotten it")

	must(t, admin.Delete(t.Context(), a.ic))
	a.awaitGone()
	a.as(before, "without its IstioCSR")
	again := newInstallIn(a.mesh, a.ic.Namespace, nil)
	again.ready()
	again.as(before, "with another IstioCSR")
}

// TestIstioCSR_HelmPinnedRoot: an agent of the chart with a CA file of its own is replaced
// in one rolling update, and the status says why, although its volume has the name of ours.
func TestIstioCSR_HelmPinnedRoot(t *testing.T) {
	m := newMesh(t)
	m.root("root")
	m.issuer("istio-ca", "root")
	namespace := planetest.Namespace(t, plane)
	m.create(`{apiVersion: v1, kind: Secret, metadata: {name: istio-root-ca, namespace: ` + namespace + `}, stringData: {ca.pem: x}}`)
	pinned := strings.NewReplacer(
		"- --root-ca-file=", "- --root-ca-file=/var/run/secrets/istio-csr/ca.pem",
		"      containers:\n", "      volumes: [{name: root-ca, secret: {secretName: istio-root-ca}}]\n      containers:\n",
		"        resources:", "        volumeMounts: [{name: root-ca, mountPath: /var/run/secrets/istio-csr, readOnly: true}]\n        resources:",
	).Replace(chartDeployment)
	installByHelm(m, namespace, false, chartObjects[1], pinned)
	chart := install{mesh: m, ic: &operatorv1alpha1.IstioCSR{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}}}
	planetest.Eventually(t, "the chart's ReplicaSet", func() (bool, error) { return len(chart.replicaSets()) == 1, nil })
	address := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: agentName}}
	m.get(address)
	a := newInstallIn(m, namespace, func(ic *operatorv1alpha1.IstioCSR) {
		ic.Spec.IstioCSRConfig.Server = &operatorv1alpha1.ServerConfig{Port: 8443}
	})
	a.condition("Ready", "True/Ready", ".svc:8443")
	service := &corev1.Service{}
	if !a.exists(service, namespace, agentName) || len(service.Spec.Ports) != 1 || service.Spec.Ports[0].Port != 8443 || service.Spec.ClusterIP != address.Spec.ClusterIP {
		t.Errorf("the Service has the address %s and the ports %v, and had %s", service.Spec.ClusterIP, service.Spec.Ports, address.Spec.ClusterIP)
	}
	planetest.Eventually(t, "the event of the takeover", func() (bool, error) {
		note := a.eventNote("AgentTakenOver")
		return strings.Contains(note, `--root-ca-file differs from the IstioCSR: "/var/run/secrets/istio-csr/ca.pem"`), fmt.Errorf("the note is %q", note)
	})
	pod := a.deployment().Spec.Template.Spec
	if len(pod.Volumes) != 1 || pod.Volumes[0].ConfigMap == nil {
		t.Errorf("the pods have the volumes %v, and the Secret could never be deleted", pod.Volumes)
	}
	container := pod.Containers[0]
	if !slices.Contains(container.Args, "--root-ca-file=/var/run/configmaps/istio-csr/ca.crt") || !slices.ContainsFunc(container.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == "/var/run/configmaps/istio-csr" }) {
		t.Errorf("the agent is %+v", container)
	}
	if got := a.replicaSets(); len(got) != 2 || a.revision() != 1 {
		t.Errorf("there are %d ReplicaSets after the takeover, want the chart's and ours; revision %d", len(got), a.revision())
	}
}
