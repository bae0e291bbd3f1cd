// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	cli "github.com/strata-run/strata/internal/cli/cmd"
	"github.com/strata-run/strata/internal/front/gatewayclass"
	"github.com/strata-run/strata/internal/localplane/planetest"
)

// TestIstioMigration_Sail hands istiod over to the Sail operator with the command line, as for a
// downgrade. What that does is played with its requests: its resources, and Helm's own program
// with objects whose only controller is the IstioRevision. The manager keeps off all of them
// until the class is handed back, and has then nothing left of the other operator.
func TestIstioMigration_Sail(t *testing.T) {
	withGatewayKinds(t)
	arrangeIstioCRDs(t, map[string]string{gatewayclass.LabelOwned: ""})
	since := time.Now()
	installKinds(t, apiextensionsv1.ClusterScoped,
		[4]string{"sailoperator.io", "v1", "Istio", "istios"},
		[4]string{"sailoperator.io", "v1", "IstioRevision", "istiorevisions"})
	eventuallyWatched(t, since, "istios", "istiorevisions")
	const class = "to-sail"
	newClass(t, class, nil)
	istiodIsInstalled(t, class, "1.29.1")
	deployment, pods := istiodDeployment(t), istiodPods(t)

	wantStrata(t, cli.CodeOK, []string{"hand-over", "--yes"}, "Everything is handed over.")

	since = time.Now()
	helm := newHelm(t, class)
	istio, revision := helm.sail()
	now := istiodDeployment(t)
	if now.UID != deployment.UID || !slices.Equal(istiodPods(t), pods) {
		t.Errorf("istiod was replaced: pods %v, then %v", pods, istiodPods(t))
	}
	if controller := metav1.GetControllerOf(now); controller == nil || controller.UID != revision.GetUID() || now.Labels[v1alpha1.LabelPackage] != "" {
		t.Errorf("the controller of istiod is %v, its labels are %v", controller, now.Labels)
	}
	// Another class, and a wish of the handed-over one, are no reason to touch what is theirs.
	newClass(t, "beside-sail", nil)
	annotateClass(t, class, gatewayclass.AnnotationIstioVersion, "1.31")
	planetest.Stays(t, 3*time.Second, "nothing is written beside the other operator", func() (bool, error) {
		counts := writtenObjects(t, since)
		return len(counts) == 0, errors.New(describe(counts))
	})
	if !exists(t, untypedOf("sailoperator.io/v1", "Istio"), "", istio.GetName()) || exists(t, &v1alpha1.Package{}, "", gatewayclass.PackageControlPlane) {
		t.Error("the other operator's Istio is gone, or there is a package")
	}

	annotateClass(t, class, gatewayclass.AnnotationIstioVersion, "")
	annotateClass(t, class, gatewayclass.AnnotationHandOver, "")
	eventuallyCondition(t, class, gatewayclass.ConditionControllerInstalled, "Unknown/Pending", "waiting for the Sail operator", "IstioRevision openshift-gateway")
	planetest.Eventually(t, "the Istio of the other operator to go", func() (bool, error) {
		return !exists(t, untypedOf("sailoperator.io/v1", "Istio"), "", istio.GetName()), nil
	})
	helm.run("uninstall", gatewayclass.ReleaseName, "-n", gatewayclass.Namespace) // as it does before its finalizer goes
	patched := revision.DeepCopy()
	patched.SetFinalizers(nil)
	must(t, admin.Patch(t.Context(), patched, client.MergeFrom(revision)))
	istiodIsInstalled(t, class, "1.29.1")
	if left := releaseSecrets(t); len(left) > 0 {
		t.Errorf("the releases %v are left", left)
	}
	if controller := metav1.GetControllerOf(istiodDeployment(t)); controller == nil || controller.Kind != "Package" {
		t.Errorf("the controller of istiod is %v", controller)
	}
}

// sail makes the resources that OpenShift's ingress operator has the Sail operator run, and
// installs the chart as that does: the IstioRevision controls every object.
func (h *helmOf) sail() (istio, revision *unstructured.Unstructured) {
	h.t.Helper()
	inNamespace := func(o *unstructured.Unstructured) {
		o.Object["spec"] = map[string]any{"namespace": gatewayclass.Namespace}
	}
	istio = newObject(h.t, "sailoperator.io/v1", "Istio", "", "openshift-gateway", inNamespace)
	revision = newObject(h.t, "sailoperator.io/v1", "IstioRevision", "", "openshift-gateway", func(o *unstructured.Unstructured) {
		inNamespace(o)
		o.SetFinalizers([]string{"sailoperator.io/sail-operator"})
		o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "sailoperator.io/v1", Kind: "Istio", Name: istio.GetName(), UID: istio.GetUID(), Controller: new(true), BlockOwnerDeletion: new(true)}})
	})
	path := filepath.Join(h.chart, "objects.yaml")
	content, err := os.ReadFile(path)
	must(h.t, err)
	var owned strings.Builder
	for text := range strings.SplitSeq(string(content), "---\n") {
		if strings.TrimSpace(text) == "" {
			continue
		}
		object := &unstructured.Unstructured{}
		must(h.t, json.Unmarshal([]byte(text), &object.Object))
		object.SetOwnerReferences([]metav1.OwnerReference{{
			APIVersion: "sailoperator.io/v1", Kind: "IstioRevision", Name: revision.GetName(), UID: revision.GetUID(), Controller: new(true), BlockOwnerDeletion: new(true),
		}})
		labels := object.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels["managed-by"] = "sail-operator"
		object.SetLabels(labels)
		data, err := json.Marshal(object.Object)
		must(h.t, err)
		fmt.Fprintf(&owned, "---\n%s\n", data)
	}
	must(h.t, os.WriteFile(path, []byte(owned.String()), 0o600))
	h.run("upgrade", "--install", gatewayclass.ReleaseName, h.chart, "-n", gatewayclass.Namespace, "--server-side=false", "--take-ownership")
	return istio, revision
}
