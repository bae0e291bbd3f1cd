// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package kyma

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/api/v1alpha1"
)

// installerVariable names the program that make test-istiod builds of Istio's own installer.
const installerVariable = "STRATA_ISTIO_INSTALL"

// formerKinds are what that installer makes and labels as its own.
var formerKinds = []string{
	"admissionregistration.k8s.io/v1 MutatingWebhookConfiguration", "admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration",
	"v1 Service", "v1 ConfigMap", "v1 ServiceAccount", "apps/v1 Deployment", "apps/v1 DaemonSet", "autoscaling/v2 HorizontalPodAutoscaler",
	"policy/v1 PodDisruptionBudget", "rbac.authorization.k8s.io/v1 Role", "rbac.authorization.k8s.io/v1 RoleBinding",
	"rbac.authorization.k8s.io/v1 ClusterRole", "rbac.authorization.k8s.io/v1 ClusterRoleBinding",
}

// What a mesh was rendered from is a document that Istio's installer reads and renders. A mesh that
// the installer has made, as Kyma's operator does, is taken over, and given back; nothing of it is
// left when it is deleted.
func TestInstaller(t *testing.T) {
	program := os.Getenv(installerVariable)
	if program == "" {
		t.Skipf("%s does not name Istio's installer: make test-istiod builds it", installerVariable)
	}
	inputs := filepath.Join("..", "..", "internal", "front", "kyma", "servicemesh", "testdata")
	for _, size := range []string{"production", "evaluation"} {
		t.Run("Reads/"+size, func(t *testing.T) {
			rendered := install(t, program, "-f", filepath.Join(inputs, "input-"+size+".yaml"))
			if !strings.Contains(rendered, "name: istiod") || strings.Contains(rendered, "maxSkew") != (size == "production") {
				t.Errorf("it renders\n%.3000s", rendered)
			}
		})
	}
	// Kyma leaves the webhook of the default revision to the installer.
	document, err := os.ReadFile(filepath.Join(inputs, "input-production.yaml"))
	must(t, err)
	file := filepath.Join(t.TempDir(), "operator.yaml")
	must(t, os.WriteFile(file, []byte(strings.Replace(string(document), "    defaultRevision: default\n", "", 1)), 0o600))
	config := filepath.Join(t.TempDir(), "kubeconfig")
	must(t, plane.WriteKubeconfig(config, "kyma-operator", "system:masters"))
	m := &moved{t: t, install: func() { t.Helper(); install(t, program, "-f", file, "-kubeconfig", config) }}
	must(t, cluster.StopManager())
	// It comes with Kyma's operator, and the pods of the mesh need it.
	manifest(t, "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: istio-kyma-priority}, value: 2100000}")
	m.install()
	m.takenOver()
	m.givenBack()
	must(t, startManager(t.Context(), istioVersion))
	state(t, "default", v1alpha2.StateReady, v1alpha2.ReasonReconcileSucceeded)
	m.gone()
}

// install runs Istio's installer, and gives what it writes.
func install(t *testing.T, program string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%.3000s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// moved is a mesh that moves between Kyma's operator and the front.
type moved struct {
	t       *testing.T
	install func()
	// uids are those of its workloads: none is replaced by another.
	uids map[string]types.UID
}

// same checks that the workloads are still those of the beginning.
func (m *moved) same(when string) {
	m.t.Helper()
	now := map[string]types.UID{}
	for _, w := range []string{"Deployment istiod", "Deployment istio-ingressgateway", "DaemonSet istio-cni-node"} {
		kind, name, _ := strings.Cut(w, " ")
		o := deployed(m.t, kind, name)
		if o == nil {
			m.t.Fatalf("%s, there is no %s", when, w)
		}
		now[w] = o.GetUID()
	}
	if m.uids == nil {
		m.uids = now
	}
	if fmt.Sprint(m.uids) != fmt.Sprint(now) {
		m.t.Errorf("%s, workloads were made anew: %v, then %v", when, m.uids, now)
	}
}

// left are the objects that carry the labels of Kyma's operator and are of no package.
func (m *moved) left() []string {
	m.t.Helper()
	var all []string
	for _, kind := range formerKinds {
		version, name, _ := strings.Cut(kind, " ")
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion(version)
		list.SetKind(name + "List")
		must(m.t, admin.List(m.t.Context(), list, client.MatchingLabels{"install.operator.istio.io/owning-resource": "default-operator"}))
		for i := range list.Items {
			if list.Items[i].GetLabels()[v1alpha1.LabelPackage] == "" {
				all = append(all, name+" "+list.Items[i].GetName())
			}
		}
	}
	return all
}

// admits says whether a pod can be made in a namespace with sidecars.
func (m *moved) admits() error {
	m.t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "injected", Labels: map[string]string{"istio-injection": "enabled"}}}
	if err := admin.Create(m.t.Context(), namespace); client.IgnoreAlreadyExists(err) != nil {
		m.t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, GenerateName: "web-"}, Spec: deployment("", "", 1).Spec.Template.Spec}
	return admin.Create(m.t.Context(), pod, client.DryRunAll)
}

// takenOver starts the manager beside what the installer has made.
func (m *moved) takenOver() {
	m.t.Helper()
	if former := m.left(); !slices.Contains(former, "MutatingWebhookConfiguration istio-revision-tag-default") || !slices.Contains(former, "Service istiod-revision-tag-default") {
		m.t.Fatalf("Istio's installer has made %v", former)
	}
	m.same("after the installation")
	manifest(m.t, "{apiVersion: v1, kind: Namespace, metadata: {name: kyma-system}}")
	manifest(m.t, fmt.Sprintf(`{apiVersion: operator.kyma-project.io/v1alpha2, kind: Istio, metadata: {name: default, namespace: kyma-system, finalizers: [%s], annotations: {%s: '{"IstioTag":"1.31.0-distroless"}'}}}`,
		v1alpha2.Finalizer, v1alpha2.AnnotationLastApplied))
	must(m.t, startManager(m.t.Context(), istioVersion))
	state(m.t, "default", v1alpha2.StateReady, v1alpha2.ReasonReconcileSucceeded)
	m.same("after the take-over")
	eventually(m.t, "what the installer has made beside the mesh to be gone", func() (bool, error) {
		left := m.left()
		return len(left) == 0, fmt.Errorf("left are %v", left)
	})
	if err := m.admits(); err == nil || !strings.Contains(err.Error(), "webhook") {
		m.t.Errorf("no istiod answers here, and a pod is made without its webhook: %v", err)
	}
}

// givenBack does what the guide says for the way back, and lets the installer go on.
func (m *moved) givenBack() {
	m.t.Helper()
	withoutFront = true
	m.t.Cleanup(func() { withoutFront = false })
	must(m.t, startManager(m.t.Context(), istioVersion))
	s := newStory(m.t)
	for _, pkg := range []string{"kyma-istio", "kyma-istio-crds"} {
		s.run("strata delete " + pkg + " --cascade=orphan --yes --wait")
	}
	m.same("after the release")
	m.install()
	m.same("after the installer has gone on")
	if owners := deployed(m.t, "Deployment", "istiod").GetOwnerReferences(); len(owners) > 0 {
		m.t.Errorf("istiod is owned by %v", owners)
	}
	if former := m.left(); !slices.Contains(former, "MutatingWebhookConfiguration istio-revision-tag-default") {
		m.t.Errorf("the installer has not made its webhook again: %v", former)
	}
	withoutFront = false
}

// gone deletes the resource: pods can be made afterwards in namespaces that had sidecars.
func (m *moved) gone() {
	m.t.Helper()
	remove(m.t, named("default"))
	if left := m.left(); len(left) > 0 {
		m.t.Errorf("left are %v", left)
	}
	if err := m.admits(); err != nil && !apierrors.IsNotFound(err) {
		m.t.Errorf("a pod cannot be made: %v", err)
	}
	must(m.t, admin.Delete(m.t.Context(), untyped("v1", "Namespace", "", "injected")))
}
