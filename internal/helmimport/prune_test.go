// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package helmimport

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// What a package lacks of a release goes when the release is retired, as far as it is the
// release's still.
func TestInstalled_Prune(t *testing.T) {
	yes := true
	configMap := func(name string, change func(*corev1.ConfigMap)) *corev1.ConfigMap {
		c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Annotations: map[string]string{
			annotationReleaseName: "web", annotationReleaseNamespace: "shop",
		}}}
		change(c)
		return c
	}
	objects := []client.Object{
		configMap("wanted", func(*corev1.ConfigMap) {}),
		configMap("leftover", func(*corev1.ConfigMap) {}),
		configMap("kept", func(c *corev1.ConfigMap) { c.Annotations["helm.sh/resource-policy"] = "keep" }),
		configMap("others", func(c *corev1.ConfigMap) { c.Annotations[annotationReleaseName] = "another" }),
		configMap("controlled", func(c *corev1.ConfigMap) {
			c.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "x", UID: "1", Controller: &yes}}
		}),
		configMap("packaged", func(c *corev1.ConfigMap) { c.Labels = map[string]string{"strata.run/package": "web"} }),
	}
	manifest := "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n---\napiVersion: example.com/v1\nkind: NotServed\nmetadata: {name: x}\n"
	for _, object := range objects {
		manifest += "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + object.GetName() + "}\n"
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Annotations: map[string]string{annotationReleaseName: "web", annotationReleaseNamespace: "shop"}}}
	c := cluster(t, append(objects, namespace, version(t, 1, "superseded", ""), version(t, 2, "deployed", manifest))...).Client
	wanted := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": "shop", "name": "wanted"}}}
	release := Installed{Client: c, Live: c, Namespace: "shop", Name: "web"}
	if err := release.prune(t.Context(), []*unstructured.Unstructured{wanted}); err != nil {
		t.Fatal(err)
	}
	left := &corev1.ConfigMapList{}
	if err := c.List(t.Context(), left); err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range left.Items {
		names = append(names, left.Items[i].Name)
	}
	slices.Sort(names)
	if diff := cmp.Diff([]string{"controlled", "kept", "others", "packaged", "wanted"}, names); diff != "" {
		t.Errorf("what is left (-want +got):\n%s", diff)
	}
	if err := c.Get(t.Context(), client.ObjectKey{Name: "shop"}, namespace); err != nil {
		t.Errorf("the namespace: %v", err)
	}
}

// A release without a version that is deployed says nothing of what there is.
func TestInstalled_PruneNothing(t *testing.T) {
	leftover := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "a", Annotations: map[string]string{annotationReleaseName: "web", annotationReleaseNamespace: "shop"}}}
	manifest := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	for _, status := range []string{"failed", "uninstalling"} {
		c := cluster(t, leftover.DeepCopy(), version(t, 1, status, manifest)).Client
		if err := (Installed{Client: c, Live: c, Namespace: "shop", Name: "web"}).prune(t.Context(), nil); err != nil {
			t.Errorf("%s: %v", status, err)
		}
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(leftover), &corev1.ConfigMap{}); err != nil {
			t.Errorf("%s: %v", status, err)
		}
	}
}
