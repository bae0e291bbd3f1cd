// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiod

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front/kyma/servicemesh"
	"github.com/strata-run/strata/internal/istio"
	"github.com/strata-run/strata/test/setup"
)

// meshNamespace is where the istiod of Kyma's mesh runs.
const meshNamespace = "istio-system"

// TestMesh installs the mesh of Kyma and starts the real istiod behind it: while the istiod of
// the next release does not start, new pods get the proxy of the release that serves.
func TestMesh(t *testing.T) {
	withoutIstioCRDs(t)
	istio := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"namespace": v1alpha2.Namespace, "name": "default"},
		"spec": map[string]any{"components": map[string]any{"pilot": map[string]any{"k8s": map[string]any{
			"hpaSpec": map[string]any{"minReplicas": int64(1), "maxReplicas": int64(1)},
		}}}},
	}}
	istio.SetGroupVersionKind(v1alpha2.GroupVersion.WithKind("Istio"))
	eventually(t, "the namespace of Istio resources", func() string {
		namespace := &unstructured.Unstructured{}
		namespace.SetAPIVersion("v1")
		namespace.SetKind("Namespace")
		namespace.SetName(v1alpha2.Namespace)
		if err := admin.Create(t.Context(), namespace); client.IgnoreAlreadyExists(err) != nil {
			return err.Error()
		}
		return ""
	})
	must(t, admin.Create(t.Context(), istio))
	istiod := &program{namespace: meshNamespace, revision: "default", service: "istiod"}
	istiod.start(t)
	asked := map[string]string{"sidecar.istio.io/inject": "true"}
	eventuallyInjected(t, asked, proxy+"-distroless")
	eventually(t, "the mesh to be rolled out", func() string { return unrolled(t, servicemesh.PackageIstio, 1) })

	next := setup.ManagerOptions()
	next.Getenv = func(name string) string {
		images := map[string]string{"pilot": missingImage}
		for _, other := range []string{"proxyv2", "install-cni"} {
			images[other] = strings.Replace(missingImage, "pilot", other, 1)
		}
		return images[name]
	}
	replaceManager(t, next)
	eventually(t, "the new istiod to lack its image", func() string { return pulled(t, meshNamespace) })
	istiod.stop(t)
	istiod.start(t)
	eventuallyInjected(t, asked, proxy+"-distroless")
	if text := pulled(t, meshNamespace); text != "" {
		t.Errorf("the rollout was not held all the time: %s", text)
	}
	replaceManager(t, setup.ManagerOptions())
	eventually(t, "the images of before to be rolled out", func() string { return unrolled(t, servicemesh.PackageIstio, 3) })
	istiod.stop(t)
}

// withoutIstioCRDs takes away what the front of GatewayClasses keeps for those who still have
// Istio resources.
func withoutIstioCRDs(t *testing.T) {
	t.Helper()
	for _, name := range istio.CRDNames() {
		crd := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name}}
		crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
		must(t, client.IgnoreNotFound(admin.Delete(t.Context(), crd)))
		eventually(t, name+" to be gone", func() string {
			if err := admin.Get(t.Context(), client.ObjectKeyFromObject(crd), crd); client.IgnoreNotFound(err) != nil || err == nil {
				return fmt.Sprintf("it is there: %v", err)
			}
			return ""
		})
	}
}

// unrolled says why a package has not come to serve a revision.
func unrolled(t *testing.T, name string, revision int64) string {
	t.Helper()
	status := get(t, &v1alpha1.Package{}, "", name).Status
	if status.CurrentRevision >= revision && status.CurrentRevision == status.TargetRevision {
		return ""
	}
	return fmt.Sprintf("revision %d serves, and %d is the target: %+v", status.CurrentRevision, status.TargetRevision, status.Conditions)
}
