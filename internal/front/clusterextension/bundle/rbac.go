// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"cmp"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	rbacGroup   = "rbac.authorization.k8s.io"
	rbacVersion = rbacGroup + "/v1"
)

// account is the ServiceAccount of a permission.
func (p permission) account() string { return cmp.Or(p.ServiceAccountName, "default") }

// accounts are the ServiceAccounts that permissions name. The default one exists anyway, and one that
// stands in manifests comes from there.
func (g *rendering) accounts() ([]*unstructured.Unstructured, error) {
	spec := g.csv.Spec.Install.Spec
	var names []string
	for _, p := range slices.Concat(spec.Permissions, spec.ClusterPermissions) {
		if name := p.account(); name != "default" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var objects []*unstructured.Unstructured
	for _, name := range slices.Compact(names) {
		own := slices.ContainsFunc(g.others, func(o *unstructured.Unstructured) bool { return o.GetKind() == "ServiceAccount" && o.GetName() == name })
		if !own {
			objects = append(objects, newObject("v1", "ServiceAccount", g.target.Namespace, name))
		}
	}
	return objects, nil
}

// seesNamespaces is what an operator that watches all namespaces needs besides its rules.
func seesNamespaces() rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: []string{"get", "list", "watch"}, APIGroups: []string{""}, Resources: []string{"namespaces"}}
}

// roles are the roles of the permissions, and their bindings: in each watched namespace, or for the
// whole cluster.
func (g *rendering) roles() ([]*unstructured.Unstructured, error) {
	spec := g.csv.Spec.Install.Spec
	var objects []*unstructured.Unstructured
	for _, p := range spec.Permissions {
		namespaces := g.watched
		if namespaces.all() {
			namespaces = watched{""}
			p.Rules = append(slices.Clone(p.Rules), seesNamespaces())
		}
		for _, namespace := range namespaces {
			if err := g.addRole(&objects, namespace, p); err != nil {
				return nil, err
			}
		}
	}
	for _, p := range spec.ClusterPermissions {
		if err := g.addRole(&objects, "", p); err != nil {
			return nil, err
		}
	}
	return objects, nil
}

// addRole adds a role and its binding, unless an equal permission has added them. No namespace stands
// for the whole cluster.
func (g *rendering) addRole(objects *[]*unstructured.Unstructured, namespace string, p permission) error {
	name, err := roleName(g.csv.Name, p)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(*objects, func(o *unstructured.Unstructured) bool { return o.GetName() == name && o.GetNamespace() == namespace }) {
		return nil
	}
	prefix := ""
	if namespace == "" {
		prefix = "Cluster"
	}
	meta := metav1.ObjectMeta{Name: name, Namespace: namespace}
	role, err := objectOf(&rbacv1.Role{TypeMeta: metav1.TypeMeta{APIVersion: rbacVersion, Kind: prefix + "Role"}, ObjectMeta: meta, Rules: p.Rules})
	if err != nil {
		return err
	}
	binding, err := objectOf(&rbacv1.RoleBinding{
		TypeMeta: metav1.TypeMeta{APIVersion: rbacVersion, Kind: prefix + "RoleBinding"}, ObjectMeta: meta,
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacGroup, Kind: prefix + "Role", Name: name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: p.account(), Namespace: g.target.Namespace}},
	})
	if err != nil {
		return err
	}
	*objects = append(*objects, role, binding)
	return nil
}
