// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/localplane/planetest"
	"github.com/strata-run/strata/test/setup"
)

// released are the objects of a release, as OLM's controller has them in its manifest.
func released(ce *olmv1.ClusterExtension) []*unstructured.Unstructured {
	object := func(apiVersion, kind, name string, rest map[string]any) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: rest}
		o.SetAPIVersion(apiVersion)
		o.SetKind(kind)
		o.SetName(name)
		if kind != "CustomResourceDefinition" {
			o.SetNamespace("default")
		}
		o.SetLabels(map[string]string{olmv1.LabelOwnerKind: "ClusterExtension", olmv1.LabelOwnerName: ce.Name})
		o.SetAnnotations(map[string]string{olmv1.AnnotationBundleVersion: "1.0.0"})
		yes := true
		o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: olmv1.GroupVersion.String(), Kind: "ClusterExtension", Name: ce.Name, UID: ce.UID, Controller: &yes, BlockOwnerDeletion: &yes}})
		return o
	}
	labels := map[string]any{"app": ce.Name}
	deployment := func(name string) *unstructured.Unstructured {
		return object("apps/v1", "Deployment", name, map[string]any{"spec": map[string]any{
			"replicas": int64(1), "selector": map[string]any{"matchLabels": labels}, "strategy": map[string]any{},
			"template": map[string]any{
				"metadata": map[string]any{"creationTimestamp": nil, "labels": labels},
				"spec":     map[string]any{"containers": []any{map[string]any{"name": "manager", "image": "registry.example/operator:1", "resources": map[string]any{}}}},
			},
		}})
	}
	return []*unstructured.Unstructured{
		object("v1", "ServiceAccount", ce.Name, map[string]any{}),
		object("v1", "ConfigMap", ce.Name, map[string]any{"data": map[string]any{"a": "b", "obsolete": "x"}}),
		object("v1", "Service", ce.Name, map[string]any{"spec": map[string]any{"selector": labels, "ports": []any{map[string]any{"port": int64(443)}}}}),
		deployment(ce.Name), deployment(ce.Name + "-scaled"),
		object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "gadgets.import.example.org", map[string]any{"spec": map[string]any{
			"group": "import.example.org", "scope": "Namespaced", "names": map[string]any{"kind": "Gadget", "plural": "gadgets", "singular": "gadget", "listKind": "GadgetList"},
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}}}},
		}}),
	}
}

// installAsOLM creates objects and keeps them as a release in Secrets, as OLM's controller does.
func installAsOLM(t *testing.T, ce *olmv1.ClusterExtension, status string, objects []*unstructured.Unstructured) {
	t.Helper()
	manifest := &bytes.Buffer{}
	for _, object := range objects {
		line, err := json.Marshal(object.Object)
		if err != nil {
			t.Fatal(err)
		}
		manifest.Write(append(line, '\n'))
		created := object.DeepCopy()
		created.SetLabels(map[string]string{olmv1.LabelOwnerKind: "ClusterExtension", olmv1.LabelOwnerName: ce.Name, "app.kubernetes.io/managed-by": "Helm"})
		created.SetAnnotations(map[string]string{olmv1.AnnotationBundleVersion: "1.0.0", "meta.helm.sh/release-name": ce.Name, "meta.helm.sh/release-namespace": "default"})
		if err := admin.Create(t.Context(), created, client.FieldOwner("operator-controller")); err != nil {
			t.Fatal(err)
		}
	}
	text, err := json.Marshal(map[string]any{
		"name": ce.Name, "version": 1, "namespace": "default", "info": map[string]any{"status": status}, "chart": map[string]any{}, "manifest": manifest.String(),
		"labels": map[string]string{
			olmv1.AnnotationPackageName: "demo", olmv1.AnnotationBundleName: "demo.v1.0.0", olmv1.AnnotationBundleVersion: "1.0.0",
			olmv1.AnnotationBundleReference: "registry.example/demo@sha256:1",
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	packed := &bytes.Buffer{}
	writer := gzip.NewWriter(packed)
	if _, err := writer.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	now := fmt.Sprint(time.Now().Unix())
	key, half := fmt.Sprintf("sh.helm.release.v1.%s.v1", ce.Name), packed.Len()/2
	index := &corev1.Secret{Type: "operatorframework.io/index.v1", Data: map[string][]byte{"chunk": packed.Bytes()[:half], "extraChunks": []byte(`["` + key + `-1"]`)}}
	index.Namespace, index.Name = olmNamespace, key
	index.Labels = map[string]string{"name": ce.Name, "owner": "operator-controller", "status": status, "version": "1", "key": key, "type": "index", "createdAt": now, "modifiedAt": now}
	index.OwnerReferences = []metav1.OwnerReference{{APIVersion: olmv1.GroupVersion.String(), Kind: "ClusterExtension", Name: ce.Name, UID: ce.UID}}
	if err := admin.Create(t.Context(), index); err != nil {
		t.Fatal(err)
	}
	immutable := true
	chunk := &corev1.Secret{Type: "operatorframework.io/chunk.v1", Immutable: &immutable, Data: map[string][]byte{"chunk": packed.Bytes()[half:]}}
	chunk.Namespace, chunk.Name = olmNamespace, key+"-1"
	chunk.Labels = map[string]string{"owner": "operator-controller", "key": key, "type": "chunk"}
	chunk.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Secret", Name: index.Name, UID: index.UID}}
	if err := admin.Create(t.Context(), chunk); err != nil {
		t.Fatal(err)
	}
}

// live reads objects anew.
func live(t *testing.T, objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	t.Helper()
	var all []*unstructured.Unstructured
	for _, object := range objects {
		current := &unstructured.Unstructured{}
		current.SetGroupVersionKind(object.GroupVersionKind())
		if err := admin.Get(t.Context(), client.ObjectKeyFromObject(object), current); err != nil {
			t.Fatal(err)
		}
		all = append(all, current)
	}
	return all
}

// TestImport: what OLM's controller has installed becomes revision 1. No object is made anew and no
// pod template changes; with the front switched off and on again nothing is written.
func TestImport(t *testing.T) {
	if err := admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: olmNamespace}}); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	ce := extensionNamed(t, "released")
	objects := released(ce)
	installAsOLM(t, ce, "deployed", objects)
	scaler := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "scaler"}}
	scaler.Spec = autoscalingv2.HorizontalPodAutoscalerSpec{MaxReplicas: 5, ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: ce.Name + "-scaled"}}
	if err := admin.Create(t.Context(), scaler); err != nil {
		t.Fatal(err)
	}
	scaled := live(t, objects[4:5])[0]
	if err := admin.Patch(t.Context(), scaled, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"replicas":3}}`)), client.FieldOwner("kube-controller-manager")); err != nil {
		t.Fatal(err)
	}
	before := live(t, objects)
	options := setup.ManagerOptions()
	setup.Flags(&options, "--clusterextensions=on", "--olm-namespaces="+olmNamespace, "--cache-dir="+t.TempDir())
	if err := cluster.StartManager(options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.StopManager(); err != nil {
			t.Error(err)
		}
	})
	revision := &v1alpha1.Revision{}
	planetest.Eventually(t, "every object of the release is the package's", func() (bool, error) {
		if _, err := isTouched(t, ce); err != nil {
			return false, err
		}
		for _, object := range live(t, objects) {
			if object.GetLabels()[v1alpha1.LabelPackage] != ce.Name {
				return false, nil
			}
		}
		err := admin.Get(t.Context(), client.ObjectKey{Name: ce.Name + "-1"}, revision)
		return meta.IsStatusConditionTrue(revision.Status.Conditions, v1alpha1.ConditionSucceeded) && ce.Status.Install != nil && ce.Status.Install.Bundle.Version == "1.0.0" && meta.IsStatusConditionTrue(ce.Status.Conditions, olmv1.TypeInstalled), client.IgnoreNotFound(err)
	})
	after := live(t, objects)
	for i := range after {
		name := after[i].GetKind() + " " + after[i].GetName()
		if after[i].GetUID() != before[i].GetUID() || after[i].GetGeneration() != before[i].GetGeneration() {
			t.Errorf("%s was made anew, or its spec has changed: generation %d before, %d after", name, before[i].GetGeneration(), after[i].GetGeneration())
		}
		for _, entry := range after[i].GetManagedFields() {
			if entry.Manager == "operator-controller" && entry.Subresource == "" {
				t.Errorf("%s has fields that are still those of OLM's controller: %s", name, entry.FieldsV1)
			}
		}
		for _, owner := range after[i].GetOwnerReferences() {
			if owner.UID == ce.UID {
				t.Errorf("%s would go with the ClusterExtension", name)
			}
		}
	}
	if replicas, _, _ := unstructured.NestedInt64(after[4].Object, "spec", "replicas"); replicas != 3 {
		t.Errorf("the Deployment that is scaled has %d replicas", replicas)
	}
	secrets := &corev1.SecretList{}
	if err := admin.List(t.Context(), secrets, client.InNamespace(olmNamespace), client.MatchingLabels{"owner": "operator-controller"}); err != nil || len(secrets.Items) != 2 {
		t.Errorf("of the release there are %d Secrets: %v", len(secrets.Items), err)
	}

	if err := cluster.StopManager(); err != nil {
		t.Fatal(err)
	}
	stopped := live(t, objects)
	if err := cluster.StartManager(options); err != nil {
		t.Fatal(err)
	}
	planetest.Stays(t, 15*time.Second, "nothing is written when the front is on again", func() (bool, error) {
		for i, object := range live(t, objects) {
			if object.GetResourceVersion() != stopped[i].GetResourceVersion() {
				return false, nil
			}
		}
		revisions := &v1alpha1.RevisionList{}
		err := admin.List(t.Context(), revisions, client.MatchingLabels{v1alpha1.LabelPackage: ce.Name})
		return len(revisions.Items) == 1, err
	})
}
