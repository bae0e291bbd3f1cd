// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-run/strata/revisions"
)

// checkWebhooks finds webhooks that can lock out the program that answers them: when it is
// down, the API server refuses what would bring it back.
func (c *checking) checkWebhooks(placed []*unstructured.Unstructured) {
	servers := serversOf(placed)
	for _, object := range placed {
		kind := object.GetKind()
		if object.GroupVersionKind().Group != "admissionregistration.k8s.io" || kind != "ValidatingWebhookConfiguration" && kind != "MutatingWebhookConfiguration" {
			continue
		}
		webhooks, _, _ := unstructured.NestedSlice(object.Object, "webhooks")
		for _, one := range webhooks {
			webhook, _ := one.(map[string]any)
			if server := servers[serviceOf(webhook)]; server != "" && locksOut(webhook) {
				id := revisions.IDOf(object).String()
				c.add(CodeLockout, id, fmt.Sprintf("webhook %v of %s has failurePolicy Fail and covers the pods of %s, which answers it: once that is down, it cannot come back", webhook["name"], id, server),
					"exclude its namespace with namespaceSelector, name fewer resources in rules, or set failurePolicy: Ignore", c.at(object))
			}
		}
	}
}

// locksOut says whether a webhook has to be asked for the pods that answer it.
func locksOut(webhook map[string]any) bool {
	if policy, _ := webhook["failurePolicy"].(string); policy == "Ignore" {
		return false
	}
	for _, selector := range []string{"namespaceSelector", "objectSelector"} {
		if fields, _ := webhook[selector].(map[string]any); len(fields) > 0 {
			return false
		}
	}
	if conditions, _ := webhook["matchConditions"].([]any); len(conditions) > 0 {
		return false
	}
	rules, _ := webhook["rules"].([]any)
	return slices.ContainsFunc(rules, func(one any) bool {
		rule, _ := one.(map[string]any)
		pods := names(rule, "apiGroups", "", "*") && names(rule, "resources", "pods", "*", "*/*")
		workloads := names(rule, "apiGroups", "apps", "*") && names(rule, "resources", "replicasets", "*", "*/*")
		return (pods || workloads) && names(rule, "operations", "CREATE", "*")
	})
}

// names says whether a list of a rule has one of some words.
func names(rule map[string]any, field string, words ...string) bool {
	list, _, _ := unstructured.NestedStringSlice(rule, field)
	return slices.ContainsFunc(list, func(word string) bool { return slices.Contains(words, word) })
}

// serviceOf is the Service that answers a webhook.
func serviceOf(webhook map[string]any) types.NamespacedName {
	namespace, _, _ := unstructured.NestedString(webhook, "clientConfig", "service", "namespace")
	name, _, _ := unstructured.NestedString(webhook, "clientConfig", "service", "name")
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// workloadKinds are the kinds whose pods stand behind Services.
var workloadKinds = []schema.GroupKind{{Group: "apps", Kind: "Deployment"}, {Group: "apps", Kind: "StatefulSet"}, {Group: "apps", Kind: "DaemonSet"}}

// serversOf are the workloads of the content by the Service that leads to them.
func serversOf(placed []*unstructured.Unstructured) map[types.NamespacedName]string {
	servers := map[types.NamespacedName]string{}
	for _, service := range placed {
		selector, _, _ := unstructured.NestedStringMap(service.Object, "spec", "selector")
		if service.GroupVersionKind().GroupKind() != (schema.GroupKind{Kind: "Service"}) || len(selector) == 0 {
			continue
		}
		for _, workload := range placed {
			pod, _, _ := unstructured.NestedStringMap(workload.Object, "spec", "template", "metadata", "labels")
			if slices.Contains(workloadKinds, workload.GroupVersionKind().GroupKind()) && workload.GetNamespace() == service.GetNamespace() &&
				labels.SelectorFromSet(selector).Matches(labels.Set(pod)) {
				servers[types.NamespacedName{Namespace: service.GetNamespace(), Name: service.GetName()}] = revisions.IDOf(workload).String()
			}
		}
	}
	return servers
}
