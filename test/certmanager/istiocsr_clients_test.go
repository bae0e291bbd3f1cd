// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package certmanager

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
	"github.com/strata-run/strata/internal/localplane/planetest"
)

// TestIstioCSR_PointedAt: also with an istiod of another installer, an agent that goes with its
// IstioCSR says whose proxies would lose it, in every revision of the mesh; what cannot be
// read is not taken for unused.
func TestIstioCSR_PointedAt(t *testing.T) {
	a := working(t, func(ic *operatorv1alpha1.IstioCSR) {
		ic.Annotations = map[string]string{operatorv1alpha1.AnnotationDeletionPolicy: operatorv1alpha1.DeletionPolicyDelete}
		ic.Spec.IstioCSRConfig.Istio.Revisions = []string{"default", "canary"}
	})
	a.readyWithoutWarning("no client to be warned about")
	config := a.create(`{apiVersion: v1, kind: ConfigMap, metadata: {name: istio-sidecar-injector-canary, namespace: NS}, data: {values: '{"global": {"caAddress": "` + agentName + "." + a.ic.Namespace + `.svc:443"}}'}}`)
	point := func(values string) {
		t.Helper()
		a.get(config)
		before := config.DeepCopy()
		config.Object["data"] = map[string]any{"values": values}
		must(t, admin.Patch(t.Context(), config, client.MergeFrom(before)))
	}
	a.condition("Ready", "True/Ready", "ConfigMap "+a.namespace+"/istio-sidecar-injector-canary still points at it")
	point(`{"global": {"caAddress": ""}}`)
	a.readyWithoutWarning("a mesh that points elsewhere to be forgotten")
	point(`]`)
	a.condition("Ready", "True/Ready", "what still points at it is not known: ConfigMap "+a.namespace+"/istio-sidecar-injector-canary: reading its values")
	must(t, admin.Delete(t.Context(), config))
	a.readyWithoutWarning("a mesh that is gone to be forgotten")

	a.define(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: istiorevisions.sailoperator.io}
spec:
  group: sailoperator.io
  names: {kind: IstioRevision, plural: istiorevisions}
  scope: Cluster
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`)
	planetest.Eventually(t, "the kind IstioRevision to be served", func() (bool, error) {
		err := admin.Create(t.Context(), a.object(`{apiVersion: sailoperator.io/v1, kind: IstioRevision, metadata: {name: default-v1-29}, spec: {values: {global: {caAddress: "`+agentName+"."+a.ic.Namespace+`.svc:443"}}}}`))
		return err == nil, err
	})
	a.condition("Ready", "True/Ready", "IstioRevision default-v1-29 still points at it")
}
