// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// readReplacement finds out where a workload stands that keeps its pods.
func (c *Controller) readReplacement(ctx context.Context, w Workload, object *unstructured.Unstructured, live *Live) error {
	selector, err := selectorOf(object)
	if err != nil {
		return fmt.Errorf("reading %s: %w", w, err)
	}
	var pods []Pod
	err = pages(func(next string) (string, error) {
		list := &corev1.PodList{}
		options := []client.ListOption{client.InNamespace(w.Namespace), client.MatchingLabelsSelector{Selector: selector}, client.Limit(podPage), client.Continue(next)}
		if err := c.Live.List(ctx, list, options...); err != nil {
			return "", fmt.Errorf("listing the pods of %s: %w", w, err)
		}
		for i := range list.Items {
			from := &list.Items[i]
			over := from.Status.Phase == corev1.PodSucceeded || from.Status.Phase == corev1.PodFailed
			if metav1.IsControlledBy(from, object) && from.DeletionTimestamp == nil && !over {
				pods = append(pods, PodOf(from))
			}
		}
		return list.Continue, nil
	})
	if err != nil {
		return err
	}
	live.Replace(object, pods)
	return nil
}

// selectorOf is how a workload finds its pods.
func selectorOf(object *unstructured.Unstructured) (labels.Selector, error) {
	if object.GetKind() == KindReplicationController {
		set, _, err := unstructured.NestedStringMap(object.Object, "spec", "selector")
		if err != nil {
			return nil, fmt.Errorf("decoding spec.selector: %w", err)
		}
		return labels.SelectorFromSet(set), nil
	}
	found, _, err := unstructured.NestedMap(object.Object, "spec", "selector")
	read := &metav1.LabelSelector{}
	if err == nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(found, read)
	}
	selector, invalid := metav1.LabelSelectorAsSelector(read)
	if err = errors.Join(err, invalid); err != nil {
		return nil, fmt.Errorf("decoding spec.selector: %w", err)
	}
	return selector, nil
}

// replace deletes a pod of a workload that makes another in its place. What the cluster refuses
// for good is for a person.
func (c *Controller) replace(ctx context.Context, pod *Pod, d Decision) (Decision, error) {
	gone := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
	err := c.Writer.Delete(ctx, gone, client.Preconditions{UID: &pod.UID})
	switch {
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return Decision{Action: AskPerson, Reason: refusal("the deletion of its pod "+pod.Name+" is refused", err)}, nil
	case client.IgnoreNotFound(err) != nil:
		return d, fmt.Errorf("deleting pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	log.FromContext(ctx).Info("Deleted a pod, to be made anew with a new proxy", "pod", pod.Name)
	return d, nil
}
