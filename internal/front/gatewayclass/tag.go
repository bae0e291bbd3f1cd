// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayclass

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// tagName is the tag of objects that name no revision.
const tagName = "default"

// tagService makes the first istiod write status on routes and policies that carry no
// label [LabelRevision]. An istiod with a revision writes none on them unless it is the
// default, and a label is no way out: a canary drops a route whose label names the first.
//
// Of the marks of a default that Istio knows, this is the one that stays within the
// namespace of the control plane. The ValidatingWebhookConfiguration istiod-default-validator
// and the MutatingWebhookConfiguration istio-revision-tag-default are one each for the
// cluster, and belong to the service mesh in it, if there is one. Nothing connects to
// this Service: it has no selector, no port and no address.
func tagService() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1",
		"kind":       "Service",
		"metadata": map[string]any{
			"name":      TagServiceName,
			"namespace": Namespace,
			"labels":    map[string]any{"app": "istiod", LabelRevision: IstioRevision, LabelTag: tagName},
		},
		"spec": map[string]any{"type": "ClusterIP", "clusterIP": "None"},
	}}
}
