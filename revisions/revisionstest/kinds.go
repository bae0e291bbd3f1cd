// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisionstest

import (
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Serving is how far a kind is served.
type Serving int

const (
	// Served is the normal case.
	Served Serving = iota
	// Unknown means that the API server does not know the kind: a CustomResourceDefinition
	// that is not established yet, or an aggregated API server that is down.
	Unknown
	// Unreachable means that the mapper still knows the kind, and its path is not
	// found.
	Unreachable
)

var (
	definitionKind = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
	namespaceKind  = schema.GroupKind{Kind: "Namespace"}
	deploymentKind = schema.GroupKind{Group: "apps", Kind: "Deployment"}
)

// builtin are the kinds that every cluster serves, as kind, version and group. A
// star marks those without a namespace.
var builtin = []string{
	"ConfigMap.v1", "Secret.v1", "Service.v1", "ServiceAccount.v1", "Pod.v1", "PersistentVolumeClaim.v1", "*Namespace.v1",
	"Deployment.v1.apps", "DaemonSet.v1.apps", "StatefulSet.v1.apps", "Job.v1.batch",
	"HorizontalPodAutoscaler.v1.autoscaling", "HorizontalPodAutoscaler.v2.autoscaling", "PodDisruptionBudget.v1.policy",
	"Role.v1.rbac.authorization.k8s.io", "RoleBinding.v1.rbac.authorization.k8s.io",
	"*ClusterRole.v1.rbac.authorization.k8s.io", "*ClusterRoleBinding.v1.rbac.authorization.k8s.io",
	"*ValidatingWebhookConfiguration.v1.admissionregistration.k8s.io", "*MutatingWebhookConfiguration.v1.admissionregistration.k8s.io",
	"*CustomResourceDefinition.v1.apiextensions.k8s.io", "*APIService.v1.apiregistration.k8s.io",
}

// kind is a kind that the cluster knows.
type kind struct {
	// versions are those that the mapper has learned of. As the one of
	// controller-runtime, it forgets none, whatever becomes of the definition.
	versions []string
	// ended are those of them that are served no longer.
	ended      []string
	namespaced bool
	serving    Serving
}

// kinds are those of a cluster. They implement meta.RESTMapper, of which the
// engine asks for the mappings of kinds only: resources are unknown.
type kinds struct {
	meta.RESTMapper

	mu    sync.Mutex
	known map[schema.GroupKind]*kind
}

func newKinds() *kinds {
	k := &kinds{RESTMapper: meta.NewDefaultRESTMapper(nil), known: map[schema.GroupKind]*kind{}}
	for _, text := range builtin {
		name, cluster := strings.CutPrefix(text, "*")
		k.add(parseKind(name), !cluster)
	}
	return k
}

// parseKind reads Kind.version.group.
func parseKind(text string) schema.GroupVersionKind {
	parts := append(strings.SplitN(text, ".", 3), "", "")
	return schema.GroupVersionKind{Kind: parts[0], Version: parts[1], Group: parts[2]}
}

func (k *kinds) add(gvk schema.GroupVersionKind, namespaced bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	known := k.known[gvk.GroupKind()]
	if known == nil {
		known = &kind{namespaced: namespaced}
		k.known[gvk.GroupKind()] = known
	}
	if !slices.Contains(known.versions, gvk.Version) {
		known.versions = append(known.versions, gvk.Version)
	}
	known.ended = slices.DeleteFunc(known.ended, func(version string) bool { return version == gvk.Version })
}

func (k *kinds) serve(gk schema.GroupKind, serving Serving) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if known := k.known[gk]; known != nil {
		known.serving = serving
	}
}

// end says that no version of a kind is served any longer.
func (k *kinds) end(gk schema.GroupKind) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if known := k.known[gk]; known != nil {
		known.ended = slices.Clone(known.versions)
	}
}

// define takes in the versions that a CustomResourceDefinition serves.
func (k *kinds) define(definition *unstructured.Unstructured) {
	gk, namespaced := definedKind(definition)
	k.end(gk)
	for version, served := range definedVersions(definition) {
		if served {
			k.add(gk.WithVersion(version), namespaced)
		}
	}
}

// definedVersions are the versions of a CustomResourceDefinition, and whether they
// are served.
func definedVersions(definition *unstructured.Unstructured) map[string]bool {
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	all := map[string]bool{}
	for _, item := range versions {
		version, _ := item.(map[string]any)
		name, _ := version["name"].(string)
		served, set := version["served"].(bool)
		if name != "" {
			all[name] = served || !set
		}
	}
	return all
}

func definedKind(definition *unstructured.Unstructured) (schema.GroupKind, bool) {
	group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
	name, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "kind")
	scope, _, _ := unstructured.NestedString(definition.Object, "spec", "scope")
	return schema.GroupKind{Group: group, Kind: name}, scope != "Cluster"
}

// find is the kind by its name alone, for those that every cluster serves.
func findBuiltin(name string) (schema.GroupVersionKind, bool) {
	for _, text := range builtin {
		if gvk := parseKind(strings.TrimPrefix(text, "*")); gvk.Kind == name {
			return gvk, true
		}
	}
	return schema.GroupVersionKind{}, false
}

// RESTMapping is the mapping of a kind in one of the versions, or in the first
// that is served when none is named.
func (k *kinds) RESTMapping(gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	known := k.known[gk]
	if known == nil || known.serving == Unknown {
		return nil, &meta.NoKindMatchError{GroupKind: gk, SearchedVersions: versions}
	}
	if len(versions) == 0 {
		versions = known.versions
	}
	for _, version := range versions {
		if !slices.Contains(known.versions, version) {
			continue
		}
		gvk := gk.WithVersion(version)
		resource, _ := meta.UnsafeGuessKindToResource(gvk)
		mapping := &meta.RESTMapping{Resource: resource, GroupVersionKind: gvk, Scope: meta.RESTScopeRoot}
		if known.namespaced {
			mapping.Scope = meta.RESTScopeNamespace
		}
		return mapping, nil
	}
	return nil, &meta.NoKindMatchError{GroupKind: gk, SearchedVersions: versions}
}

func (k *kinds) reachable(gvk schema.GroupVersionKind) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	known := k.known[gvk.GroupKind()]
	return known != nil && known.serving == Served && !slices.Contains(known.ended, gvk.Version)
}
