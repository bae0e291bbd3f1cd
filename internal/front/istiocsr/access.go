// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
)

const rbacVersion = "rbac.authorization.k8s.io/v1"

// access is who the agent is, and what it may do: publish the root certificate in
// every namespace, ask who sends a request, and request certificates beside istiod.
func (o objects) access() []*unstructured.Unstructured {
	everywhere := []any{
		rule("", "configmaps", "get", "list", "create", "update", "watch"),
		rule("", "namespaces", "get", "list", "watch"),
		rule("authentication.k8s.io", "tokenreviews", "create"),
	}
	if len(trustedAccounts(o.IstioCSR.Spec.AgentConfig)) > 0 {
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
	// These names are the same for each agent of a mesh. One that was left running would
	// sign nothing any more, and end, if its rights went to this one.
	inMesh := append([]string{o.namespace}, o.Facts.LeftRunning...)
	role, binding := ClusterRoleName(o.IstioCSR, o.Facts), ClusterRoleBindingName(o.IstioCSR, o.Facts)
	all := []*unstructured.Unstructured{
		o.object("v1", "ServiceAccount", o.namespace, AgentName),
		with(o.object(rbacVersion, "ClusterRole", "", role), "rules", everywhere),
		o.binding("ClusterRoleBinding", "", binding, "ClusterRole", role, o.namespace),
		with(o.object(rbacVersion, "Role", o.mesh, AgentName), "rules", requests),
		o.binding("RoleBinding", o.mesh, AgentName, "Role", AgentName, inMesh...),
		with(o.object(rbacVersion, "Role", o.mesh, leasesName), "rules", leases),
		o.binding("RoleBinding", o.mesh, leasesName, "Role", leasesName, inMesh...),
	}
	if isDynamic(o.IstioCSR) {
		certificates := []any{rule("cert-manager.io", "certificates", "get", "list", "create", "update", "delete", "watch")}
		all = append(all, with(o.object(rbacVersion, "Role", o.mesh, dynamicName), "rules", certificates),
			o.binding("RoleBinding", o.mesh, dynamicName, "Role", dynamicName, inMesh...))
	}
	return all
}

// MeshObject is something that an agent has in the namespace of istiod, under a name that
// is the same for each agent of a mesh.
type MeshObject struct {
	Kind schema.GroupVersionKind
	Name string
}

// MeshObjects are all of them.
func MeshObjects() []MeshObject {
	role := schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role"}
	binding := role.GroupVersion().WithKind("RoleBinding")
	return []MeshObject{
		{role, AgentName},
		{binding, AgentName},
		{role, leasesName},
		{binding, leasesName},
		{role, dynamicName},
		{binding, dynamicName},
		{schema.GroupVersionKind{Group: GroupCertManager, Version: "v1", Kind: "Certificate"}, CertificateName},
	}
}

// binding gives a role to the agents in some namespaces.
func (o objects) binding(kind, namespace, name, roleKind, role string, agents ...string) *unstructured.Unstructured {
	u := o.object(rbacVersion, kind, namespace, name)
	u.Object["roleRef"] = map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": roleKind, "name": role}
	subjects := make([]any, 0, len(agents))
	for _, agent := range agents {
		subjects = append(subjects, map[string]any{"kind": "ServiceAccount", "name": AgentName, "namespace": agent})
	}
	u.Object["subjects"] = subjects
	return u
}

// OthersBound are the namespaces of the agents, besides that of an IstioCSR, to which a
// binding in the mesh gives rights, sorted.
func OthersBound(ic *operatorv1alpha1.IstioCSR, binding *unstructured.Unstructured) []string {
	// What is not as it should be is as if it were missing.
	subjects, _, _ := unstructured.NestedSlice(binding.Object, "subjects")
	var others []string
	for _, item := range subjects {
		subject, ok := item.(map[string]any)
		if !ok || subject["kind"] != "ServiceAccount" || subject["name"] != AgentName {
			continue
		}
		if namespace, ok := subject["namespace"].(string); ok && namespace != ic.Namespace && !slices.Contains(others, namespace) {
			others = append(others, namespace)
		}
	}
	slices.Sort(others)
	return others
}

func rule(group, kind string, verbs ...string) map[string]any {
	all := make([]any, 0, len(verbs))
	for _, verb := range verbs {
		all = append(all, verb)
	}
	return map[string]any{"apiGroups": []any{group}, "resources": []any{kind}, "verbs": all}
}
