// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front/gatewayclass"
	"github.com/strata-run/strata/internal/localplane/planetest"
	"github.com/strata-run/strata/test/setup"
)

// TestIstioMigration_OLM replaces a control plane that the Sail operator runs for an
// operator before this one. The Sail operator is played by the test.
func TestIstioMigration_OLM(t *testing.T) {
	withGatewayKinds(t)
	arrangeIstioCRDs(t, map[string]string{gatewayclass.LabelOwned: ""})
	since := time.Now()
	installKinds(t, apiextensionsv1.ClusterScoped,
		[4]string{"sailoperator.io", "v1", "Istio", "istios"},
		[4]string{"sailoperator.io", "v1", "IstioRevision", "istiorevisions"})
	eventuallyWatched(t, since, "istios", "istiorevisions") // as they are when such a cluster gets this operator
	inNamespace := func(namespace string) func(o *unstructured.Unstructured) {
		return func(o *unstructured.Unstructured) { o.Object["spec"] = map[string]any{"namespace": namespace} }
	}
	users := newObject(t, "sailoperator.io/v1", "Istio", "", "default", inNamespace("openshift-ingress"))
	old := newObject(t, "sailoperator.io/v1", "Istio", "", "openshift-gateway", inNamespace("openshift-ingress"))
	revision := newObject(t, "sailoperator.io/v1", "IstioRevision", "", "openshift-gateway", func(o *unstructured.Unstructured) {
		inNamespace("openshift-ingress")(o)
		o.SetFinalizers([]string{"sailoperator.io/sail-operator"})
		o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "sailoperator.io/v1", Kind: "Istio", Name: old.GetName(), UID: old.GetUID()}})
	})
	envoy := newObject(t, "apps/v1", "Deployment", gatewayclass.Namespace, "edge-openshift-default", func(o *unstructured.Unstructured) {
		o.Object["spec"] = map[string]any{
			"selector": map[string]any{"matchLabels": map[string]any{"app": "edge"}},
			"template": map[string]any{
				"metadata": map[string]any{"labels": map[string]any{"app": "edge"}},
				"spec":     map[string]any{"containers": []any{map[string]any{"name": "istio-proxy", "image": "example.com/proxy:1"}}},
			},
		}
	})
	const class = "from-olm"
	newClass(t, class, nil)
	eventuallyCondition(t, class, gatewayclass.ConditionControllerInstalled, "Unknown/Pending",
		"waiting for the Sail operator", "IstioRevision openshift-gateway (finalizer sailoperator.io/sail-operator)")
	if exists(t, untypedOf("sailoperator.io/v1", "Istio"), "", "openshift-gateway") {
		t.Error("the Istio of the operator before is still there")
	}
	if exists(t, &appsv1.Deployment{}, gatewayclass.Namespace, gatewayclass.PackageControlPlane) {
		t.Error("istiod was installed before the old one was gone")
	}

	// The Sail operator has removed its control plane.
	patched := revision.DeepCopy()
	patched.SetFinalizers(nil)
	must(t, admin.Patch(t.Context(), patched, client.MergeFrom(revision)))
	istiodIsInstalled(t, class, "1.29.1")
	if !exists(t, untypedOf("sailoperator.io/v1", "Istio"), "", users.GetName()) {
		t.Error("a user's Istio was deleted")
	}
	after := &appsv1.Deployment{}
	must(t, admin.Get(t.Context(), client.ObjectKeyFromObject(envoy), after))
	if after.UID != envoy.GetUID() || after.Generation != envoy.GetGeneration() {
		t.Error("the Deployment of a gateway was touched")
	}
}

// eventuallyWatched waits until the manager has begun to watch kinds, by their plural: it
// looks for a new kind once a second.
func eventuallyWatched(t *testing.T, since time.Time, resources ...string) {
	t.Helper()
	planetest.Eventually(t, fmt.Sprintf("the manager to watch %v", resources), func() (bool, error) {
		watched := map[string]bool{}
		for _, e := range setup.Audit(t, plane) {
			if e.User == setup.Manager && e.Verb == "watch" && e.Code == http.StatusOK && !e.Time.Before(since) {
				watched[e.Resource] = true
			}
		}
		return !slices.ContainsFunc(resources, func(r string) bool { return !watched[r] }), nil
	})
}

// TestIstioMigration_Helm takes over what Helm has installed as operators before this one
// do, without a restart; and then Helm takes it over again, as after a downgrade.
func TestIstioMigration_Helm(t *testing.T) {
	withGatewayKinds(t)
	arrangeIstioCRDs(t, map[string]string{gatewayclass.LabelOwned: ""})
	const class = "from-helm"
	helm := newHelm(t, class)
	helm.run("upgrade", "--install", gatewayclass.ReleaseName, helm.chart, "-n", gatewayclass.Namespace, "--server-side=false")
	planetest.Eventually(t, "Helm's istiod to be available", func() (bool, error) {
		d := istiodDeployment(t)
		return d.Status.AvailableReplicas > 0, fmt.Errorf("%d replicas", d.Status.AvailableReplicas)
	})
	deployment, pods := istiodDeployment(t), istiodPods(t)
	if !slices.ContainsFunc(deployment.ManagedFields, func(e metav1.ManagedFieldsEntry) bool { return e.Manager == "helm" }) {
		t.Errorf("Helm owns no fields: %v", deployment.ManagedFields)
	}

	newClass(t, class, nil)
	eventuallyInstalledOf(t, class, "istiod 1.29.1 installed")
	planetest.Eventually(t, "the release to be history", func() (bool, error) {
		left := releaseSecrets(t)
		return len(left) == 0, fmt.Errorf("there are %v", left)
	})
	if exists(t, &policyv1.PodDisruptionBudget{}, gatewayclass.Namespace, "istiod-leftover") {
		t.Error("the PodDisruptionBudget of the release is left, and blocks drains")
	}
	if !exists(t, &corev1.ConfigMap{}, gatewayclass.Namespace, "istiod-kept") {
		t.Error("what Helm is to keep was deleted")
	}
	now := istiodDeployment(t)
	if now.UID != deployment.UID || now.Generation != deployment.Generation || !slices.Equal(istiodPods(t), pods) {
		t.Errorf("istiod was restarted: generation %d, then %d; pods %v, then %v", deployment.Generation, now.Generation, pods, istiodPods(t))
	}
	for _, e := range now.ManagedFields {
		if strings.HasPrefix(e.Manager, "helm") {
			t.Errorf("%s still owns fields by %s", e.Manager, e.Operation)
		}
	}

	checkDowngrade(t, helm, class)
	now = istiodDeployment(t)
	if now.UID != deployment.UID || now.Generation != deployment.Generation || !slices.Equal(istiodPods(t), pods) {
		t.Errorf("istiod was restarted on the way back and forth: generation %d, then %d", deployment.Generation, now.Generation)
	}
}

// checkDowngrade hands over to Helm, as for a downgrade to an older operator, and takes
// over from it again.
func checkDowngrade(t *testing.T, helm *helmOf, class string) {
	t.Helper()
	annotateClass(t, class, gatewayclass.AnnotationHandOver, "true")
	planetest.Eventually(t, "the packages to go, and what we have set on the class", func() (bool, error) {
		object := &gatewayv1.GatewayClass{}
		must(t, admin.Get(t.Context(), types.NamespacedName{Name: class}, object))
		bare := len(object.Finalizers) == 0 && meta.FindStatusCondition(object.Status.Conditions, gatewayclass.ConditionControllerInstalled) == nil &&
			meta.FindStatusCondition(object.Status.Conditions, gatewayclass.ConditionCRDsReady) == nil
		return bare && !exists(t, &v1alpha1.Package{}, "", gatewayclass.PackageControlPlane) && !exists(t, &v1alpha1.Package{}, "", gatewayclass.PackageCRDs),
			fmt.Errorf("the class has the finalizers %v and the conditions %+v", object.Finalizers, object.Status.Conditions)
	})
	released := istiodDeployment(t)
	if _, labelled := released.Labels[v1alpha1.LabelPackage]; labelled || len(released.OwnerReferences) > 0 {
		t.Errorf("what was handed over has the labels %v and the owners %v", released.Labels, released.OwnerReferences)
	}
	since := time.Now()
	helm.run("upgrade", "--install", gatewayclass.ReleaseName, helm.chart, "-n", gatewayclass.Namespace, "--server-side=false")
	if left := releaseSecrets(t); len(left) != 1 {
		t.Errorf("Helm has the releases %v", left)
	}
	planetest.Stays(t, 2*time.Second, "what was handed over is not written", func() (bool, error) {
		counts := writtenObjects(t, since)
		return len(counts) == 0, errors.New(describe(counts))
	})
	annotateClass(t, class, gatewayclass.AnnotationHandOver, "")
	eventuallyInstalledOf(t, class, "istiod 1.29.1 installed")
	planetest.Eventually(t, "the release to be history once more", func() (bool, error) { return len(releaseSecrets(t)) == 0, nil })
}

// helmOf is Helm's own program, and a chart of what the front renders for a class, as the
// operators before this one install it.
type helmOf struct {
	t             *testing.T
	binary, chart string
}

func newHelm(t *testing.T, class string) *helmOf {
	t.Helper()
	dir := t.TempDir()
	h := &helmOf{t: t, binary: filepath.Join(dir, "helm"), chart: filepath.Join(dir, "chart")}
	if made := filepath.Join("..", "..", "bin", "helm"); isFile(made) { // by make
		var err error
		h.binary, err = filepath.Abs(made)
		must(t, err)
	} else {
		h.build()
	}
	h.write(class)
	return h
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func (h *helmOf) build() {
	h.t.Helper()
	build := exec.Command("go", "build", "-o", h.binary, "helm.sh/helm/v4/cmd/helm")
	build.Dir = filepath.Join("..", "bench", "helm")
	if out, err := build.CombinedOutput(); err != nil {
		h.t.Fatalf("building Helm: %v\n%s", err, out)
	}
}

// write writes the chart.
func (h *helmOf) write(class string) {
	t := h.t
	t.Helper()
	packages, err := gatewayclass.Render(gatewayclass.Input{DefaultVersion: "1.29", Classes: []gatewayv1.GatewayClass{{
		ObjectMeta: metav1.ObjectMeta{Name: class}, Spec: gatewayv1.GatewayClassSpec{ControllerName: gatewayclass.ControllerName},
	}}})
	must(t, err)
	var objects strings.Builder
	for _, phase := range packages[1].Phases {
		for _, object := range phase.Objects {
			if object.Manifest.GetKind() == "NetworkPolicy" {
				continue // not of the chart, neither here nor there
			}
			data, err := json.Marshal(object.Manifest.Object)
			must(t, err)
			objects.WriteString("---\n" + string(data) + "\n")
		}
	}
	// What the front does not have any more goes, unless it is to be kept.
	objects.WriteString(`---
{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"istiod-leftover"},"spec":{"minAvailable":1,"selector":{"matchLabels":{"app":"istiod"}}}}
---
{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"istiod-kept","annotations":{"helm.sh/resource-policy":"keep"}}}
`)
	must(t, os.MkdirAll(filepath.Join(h.chart, "templates"), 0o755))
	for name, content := range map[string]string{
		"Chart.yaml": "apiVersion: v2\nname: istiod\nversion: 1.29.1\n", "objects.yaml": objects.String(),
		"templates/all.yaml": `{{ .Files.Get "objects.yaml" }}`,
	} {
		must(t, os.WriteFile(filepath.Join(h.chart, name), []byte(content), 0o600))
	}
}

func (h *helmOf) run(args ...string) {
	h.t.Helper()
	command := exec.Command(h.binary, args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+plane.Kubeconfig(), "HELM_CACHE_HOME="+h.t.TempDir(), "HELM_CONFIG_HOME="+h.t.TempDir(), "HELM_DATA_HOME="+h.t.TempDir())
	if out, err := command.CombinedOutput(); err != nil {
		h.t.Fatalf("helm %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func istiodDeployment(t *testing.T) *appsv1.Deployment {
	t.Helper()
	d := &appsv1.Deployment{}
	must(t, admin.Get(t.Context(), types.NamespacedName{Namespace: gatewayclass.Namespace, Name: gatewayclass.PackageControlPlane}, d))
	return d
}

// istiodPods are the UIDs of istiod's pods.
func istiodPods(t *testing.T) []string {
	t.Helper()
	pods := &corev1.PodList{}
	must(t, admin.List(t.Context(), pods, client.InNamespace(gatewayclass.Namespace), client.MatchingLabels{"app": "istiod"}))
	var all []string
	for i := range pods.Items {
		if pods.Items[i].DeletionTimestamp.IsZero() {
			all = append(all, string(pods.Items[i].UID))
		}
	}
	slices.Sort(all)
	return all
}

func releaseSecrets(t *testing.T) []string {
	t.Helper()
	secrets := &corev1.SecretList{}
	must(t, admin.List(t.Context(), secrets, client.InNamespace(gatewayclass.Namespace), client.MatchingLabels{"owner": "helm", "name": gatewayclass.ReleaseName}))
	var all []string
	for i := range secrets.Items {
		all = append(all, secrets.Items[i].Name)
	}
	return all
}

func untypedOf(apiVersion, kind string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind}}
}
