// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package plain

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var definitionKind = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}

// Scope says where the objects of a kind live.
type Scope string

const (
	// ScopeUnknown is that of a kind that nothing is known of.
	ScopeUnknown Scope = ""
	// ScopeNamespaced objects live in a namespace.
	ScopeNamespaced Scope = "Namespaced"
	// ScopeCluster objects have no namespace.
	ScopeCluster Scope = "Cluster"
)

// builtinGroups are the groups of the kinds that every API server serves.
var builtinGroups = map[string]bool{
	"": true, "admissionregistration.k8s.io": true, "apiextensions.k8s.io": true, "apiregistration.k8s.io": true, "apps": true,
	"authentication.k8s.io": true, "authorization.k8s.io": true, "autoscaling": true, "batch": true, "certificates.k8s.io": true,
	"coordination.k8s.io": true, "discovery.k8s.io": true, "events.k8s.io": true, "flowcontrol.apiserver.k8s.io": true,
	"networking.k8s.io": true, "node.k8s.io": true, "policy": true, "rbac.authorization.k8s.io": true, "resource.k8s.io": true,
	"scheduling.k8s.io": true, "storage.k8s.io": true,
}

// clusterWide are the built-in kinds whose objects have no namespace.
var clusterWide = map[schema.GroupKind]bool{
	{Kind: "Namespace"}: true, {Kind: "Node"}: true, {Kind: "PersistentVolume"}: true, definitionKind: true,
	{Group: "admissionregistration.k8s.io", Kind: "MutatingWebhookConfiguration"}:     true,
	{Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration"}:   true,
	{Group: "admissionregistration.k8s.io", Kind: "MutatingAdmissionPolicy"}:          true,
	{Group: "admissionregistration.k8s.io", Kind: "MutatingAdmissionPolicyBinding"}:   true,
	{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicy"}:        true,
	{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicyBinding"}: true,
	{Group: "apiregistration.k8s.io", Kind: "APIService"}:                             true,
	{Group: "certificates.k8s.io", Kind: "CertificateSigningRequest"}:                 true,
	{Group: "certificates.k8s.io", Kind: "ClusterTrustBundle"}:                        true,
	{Group: "flowcontrol.apiserver.k8s.io", Kind: "FlowSchema"}:                       true,
	{Group: "flowcontrol.apiserver.k8s.io", Kind: "PriorityLevelConfiguration"}:       true,
	{Group: "networking.k8s.io", Kind: "IngressClass"}:                                true,
	{Group: "networking.k8s.io", Kind: "IPAddress"}:                                   true,
	{Group: "networking.k8s.io", Kind: "ServiceCIDR"}:                                 true,
	{Group: "node.k8s.io", Kind: "RuntimeClass"}:                                      true,
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}:                         true,
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding"}:                  true,
	{Group: "resource.k8s.io", Kind: "DeviceClass"}:                                   true,
	{Group: "resource.k8s.io", Kind: "ResourceSlice"}:                                 true,
	{Group: "scheduling.k8s.io", Kind: "PriorityClass"}:                               true,
	{Group: "storage.k8s.io", Kind: "StorageClass"}:                                   true,
	{Group: "storage.k8s.io", Kind: "CSIDriver"}:                                      true,
	{Group: "storage.k8s.io", Kind: "CSINode"}:                                        true,
	{Group: "storage.k8s.io", Kind: "VolumeAttachment"}:                               true,
	{Group: "storage.k8s.io", Kind: "VolumeAttributesClass"}:                          true,
}

// Scopes says where objects live: those of built-in kinds, and of the kinds that
// CustomResourceDefinitions among the objects bring. A cluster may know more: ask,
// when it is not nil, is asked about all other kinds.
func Scopes(objects []*unstructured.Unstructured, ask func(schema.GroupVersionKind) Scope) func(schema.GroupVersionKind) Scope {
	brought := map[schema.GroupKind]Scope{}
	for _, object := range objects {
		if object.GroupVersionKind().GroupKind() != definitionKind {
			continue
		}
		text := func(fields ...string) string {
			value, _, _ := unstructured.NestedString(object.Object, fields...)
			return value
		}
		brought[schema.GroupKind{Group: text("spec", "group"), Kind: text("spec", "names", "kind")}] = Scope(text("spec", "scope"))
	}
	return func(kind schema.GroupVersionKind) Scope {
		if scope := brought[kind.GroupKind()]; scope == ScopeCluster || scope == ScopeNamespaced {
			return scope
		}
		switch {
		case clusterWide[kind.GroupKind()]:
			return ScopeCluster
		case builtinGroups[kind.Group]:
			return ScopeNamespaced
		case ask != nil:
			return ask(kind)
		default:
			return ScopeUnknown
		}
	}
}

// Place gives objects whose kind is namespaced, and that have none, the namespace. It
// returns copies of those that it changes, and the kinds of objects without a
// namespace of which it is unknown whether they need one.
func Place(objects []*unstructured.Unstructured, namespace string, scopes func(schema.GroupVersionKind) Scope) (placed []*unstructured.Unstructured, unknown []schema.GroupVersionKind) {
	asked := map[schema.GroupVersionKind]bool{}
	for _, object := range objects {
		kind := object.GroupVersionKind()
		if object.GetNamespace() == "" {
			switch scopes(kind) {
			case ScopeNamespaced:
				object = object.DeepCopy()
				object.SetNamespace(namespace)
			case ScopeUnknown:
				if !asked[kind] {
					asked[kind] = true
					unknown = append(unknown, kind)
				}
			case ScopeCluster:
			}
		}
		placed = append(placed, object)
	}
	return placed, unknown
}
