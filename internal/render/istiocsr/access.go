// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

const rbacVersion = "rbac.authorization.k8s.io/v1"

// access is who the agent is, and what it may do: publish the root certificate in
// every namespace, ask who sends a request, and request certificates beside istiod.
func (o objects) access() []*unstructured.Unstructured {
	everywhere := []any{
		rule("", "configmaps", "get", "list", "create", "update", "watch"),
		rule("", "namespaces", "get", "list", "watch"),
		rule("authentication.k8s.io", "tokenreviews", "create"),
	}
	if len(o.trustedAccounts()) > 0 {
		// To find the pods of a node, on whose behalf its ztunnel asks.
		everywhere = append(everywhere, rule("", "pods", "get", "list", "watch"))
	}
	requests := []any{
		rule("cert-manager.io", "certificaterequests", "get", "list", "create", "update", "delete", "watch"),
		rule("", "events", "create"),
	}
	leases := []any{
		rule("coordination.k8s.io", "leases", "get", "create", "update", "watch", "list"),
		rule("", "events", "create"),
	}
	role, binding := ClusterRoleName(o.IstioCSR), ClusterRoleBindingName(o.IstioCSR)
	return []*unstructured.Unstructured{
		o.object("v1", "ServiceAccount", o.namespace, AgentName),
		with(o.object(rbacVersion, "ClusterRole", "", role), "rules", everywhere),
		o.binding("ClusterRoleBinding", "", binding, "ClusterRole", role),
		with(o.object(rbacVersion, "Role", o.mesh, AgentName), "rules", requests),
		o.binding("RoleBinding", o.mesh, AgentName, "Role", AgentName),
		with(o.object(rbacVersion, "Role", o.mesh, leasesName), "rules", leases),
		o.binding("RoleBinding", o.mesh, leasesName, "Role", leasesName),
	}
}

func (o objects) binding(kind, namespace, name, roleKind, role string) *unstructured.Unstructured {
	u := o.object(rbacVersion, kind, namespace, name)
	u.Object["roleRef"] = map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": roleKind, "name": role}
	u.Object["subjects"] = []any{map[string]any{"kind": "ServiceAccount", "name": AgentName, "namespace": o.namespace}}
	return u
}

func rule(group, kind string, verbs ...string) map[string]any {
	all := make([]any, 0, len(verbs))
	for _, verb := range verbs {
		all = append(all, verb)
	}
	return map[string]any{"apiGroups": []any{group}, "resources": []any{kind}, "verbs": all}
}
