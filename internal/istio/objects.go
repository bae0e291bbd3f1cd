// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istio

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The phases that the objects of the charts are rolled out in.
const (
	PhaseConfig       = "rbac-and-config"
	PhasePolicies     = "network-policies"
	PhaseControlPlane = "control-plane"
	PhaseWebhooks     = "webhooks"
)

const rbac, admission = "rbac.authorization.k8s.io", "admissionregistration.k8s.io"

// kinds are those that the charts may contain, in the order in which they are written within their
// phase: a binding after its role, the Deployment after its Service. A kind that is missing here is
// an error, so that a new version of a chart cannot bring one in unnoticed.
var kinds = []struct {
	schema.GroupKind

	phase      string
	namespaced bool
}{
	{schema.GroupKind{Kind: "ServiceAccount"}, PhaseConfig, true},
	{schema.GroupKind{Kind: "ConfigMap"}, PhaseConfig, true},
	{schema.GroupKind{Kind: "ResourceQuota"}, PhaseConfig, true},
	{schema.GroupKind{Group: rbac, Kind: "Role"}, PhaseConfig, true},
	{schema.GroupKind{Group: rbac, Kind: "ClusterRole"}, PhaseConfig, false},
	{schema.GroupKind{Group: rbac, Kind: "RoleBinding"}, PhaseConfig, true},
	{schema.GroupKind{Group: rbac, Kind: "ClusterRoleBinding"}, PhaseConfig, false},
	{schema.GroupKind{Group: "networking.k8s.io", Kind: "NetworkPolicy"}, PhasePolicies, true},
	{schema.GroupKind{Kind: "Service"}, PhaseControlPlane, true},
	{schema.GroupKind{Group: "apps", Kind: "Deployment"}, PhaseControlPlane, true},
	{schema.GroupKind{Group: "apps", Kind: "DaemonSet"}, PhaseControlPlane, true},
	{schema.GroupKind{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}, PhaseControlPlane, true},
	{schema.GroupKind{Group: "policy", Kind: "PodDisruptionBudget"}, PhaseControlPlane, true},
	{schema.GroupKind{Group: admission, Kind: "MutatingWebhookConfiguration"}, PhaseWebhooks, false},
	{schema.GroupKind{Group: admission, Kind: "ValidatingWebhookConfiguration"}, PhaseWebhooks, false},
}

func indexOf(o *unstructured.Unstructured) int {
	kind := o.GroupVersionKind().GroupKind()
	for i := range kinds {
		if kinds[i].GroupKind == kind {
			return i
		}
	}
	return -1
}

// Place says which phase an object of a chart belongs to, and puts it into a namespace if its kind
// requires one and the chart has named none.
func Place(o *unstructured.Unstructured, namespace string) (phase string, err error) {
	i := indexOf(o)
	switch {
	case i < 0:
		return "", fmt.Errorf("%s %s: the charts are not expected to contain objects of kind %s", o.GetKind(), o.GetName(), o.GroupVersionKind().GroupKind())
	case !kinds[i].namespaced && o.GetNamespace() != "":
		return "", fmt.Errorf("%s %s has the namespace %s, but is not namespaced", o.GetKind(), o.GetName(), o.GetNamespace())
	case len(o.GetOwnerReferences()) > 0:
		return "", fmt.Errorf("%s %s has an owner already", o.GetKind(), o.GetName())
	case kinds[i].namespaced && o.GetNamespace() == "":
		o.SetNamespace(namespace)
	}
	return kinds[i].phase, nil
}

// Compare orders objects of one phase by their kinds.
func Compare(a, b *unstructured.Unstructured) int { return cmp.Compare(indexOf(a), indexOf(b)) }

// Images are the images of the workloads among objects, sorted, with further ones.
func Images(objects []*unstructured.Unstructured, further ...string) []string {
	all := slices.Clone(further)
	for _, o := range objects {
		for _, field := range []string{"initContainers", "containers"} {
			containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", field)
			for _, c := range containers {
				container, _ := c.(map[string]any)
				if image, _ := container["image"].(string); image != "" {
					all = append(all, image)
				}
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
