// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// mostPods bounds how many pods are read of one workload. The first pods of a large
// workload that hangs say the same as all of them.
const mostPods = 100

// workloads are the API groups of the kinds that have pods.
var workloads = map[schema.GroupKind]bool{
	{Group: "apps", Kind: "Deployment"}: true, {Group: "apps", Kind: "ReplicaSet"}: true, {Group: "apps", Kind: "StatefulSet"}: true,
	{Group: "apps", Kind: "DaemonSet"}: true, {Group: "batch", Kind: "Job"}: true,
}

// IsWorkload says whether objects of a kind have pods.
func IsWorkload(kind schema.GroupKind) bool { return workloads[kind] }

// Workload is an object that has pods.
type Workload struct {
	// Kind is its group and kind, Namespace and Name are its.
	Kind            schema.GroupKind
	Namespace, Name string
	// UID is that of the object as it stands in the cluster.
	UID types.UID
	// Manifest is what it was made from, whose selector saves reading the other pods
	// of the namespace. Optional.
	Manifest *unstructured.Unstructured
}

// List reads the pods of a workload with one request, of very many only the first.
func List(ctx context.Context, reader client.Reader, w Workload) ([]corev1.Pod, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "PodList"})
	err := reader.List(ctx, list, client.InNamespace(w.Namespace), client.MatchingLabelsSelector{Selector: w.Selector()}, client.Limit(mostPods))
	if err != nil {
		return nil, fmt.Errorf("listing the pods of %s %s/%s: %w", w.Kind.Kind, w.Namespace, w.Name, err)
	}
	var own []corev1.Pod
	for i := range list.Items {
		pod := corev1.Pod{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, &pod); err != nil {
			return nil, fmt.Errorf("reading pod %s: %w", list.Items[i].GetName(), err)
		}
		if w.owns(&pod) {
			own = append(own, pod)
		}
	}
	return own, nil
}

// owns says whether a pod is the workload's. Between a Deployment and its pods stands a
// ReplicaSet, which is named after both: the Deployment, and the pods' hash.
func (w Workload) owns(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOf(pod)
	if owner == nil {
		return false
	}
	if w.Kind.Kind != "Deployment" {
		return owner.UID == w.UID
	}
	hash := pod.Labels["pod-template-hash"]
	return owner.Kind == "ReplicaSet" && hash != "" && owner.Name == w.Name+"-"+hash
}

// Selector is that in the workload's manifest; the pods of a Job are labelled with its
// name. It only saves reading other pods: the owner of a pod says what it belongs to.
func (w Workload) Selector() labels.Selector {
	if w.Kind.Kind == "Job" {
		return labels.SelectorFromSet(labels.Set{"batch.kubernetes.io/job-name": w.Name})
	}
	if w.Manifest == nil {
		return labels.Everything()
	}
	spelled, found, err := unstructured.NestedMap(w.Manifest.Object, "spec", "selector")
	if !found || err != nil {
		return labels.Everything()
	}
	if w.Kind.Kind == "ReplicationController" { // a map of labels
		spelled = map[string]any{"matchLabels": spelled}
	}
	var parsed metav1.LabelSelector
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(spelled, &parsed); err != nil {
		return labels.Everything()
	}
	selector, err := metav1.LabelSelectorAsSelector(&parsed)
	if err != nil {
		return labels.Everything()
	}
	return selector
}
