// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/strata-run/strata/internal/content/plain"
)

// rendering is what the objects of a registry+v1 bundle are made from.
type rendering struct {
	*registry

	target   Target
	watched  watched
	settings *deploymentConfig
	rendered *Rendered
	// served are the Deployments with webhooks, by name.
	served map[string]*serving
}

// render gives the objects of the bundle for a target.
func (r *registry) render(target Target, rendered *Rendered) ([]*unstructured.Unstructured, error) {
	problems := append(slices.Clone(r.problems), r.check(target)...)
	if err := refused(problems...); err != nil {
		return nil, err
	}
	set, err := readConfig(r.csv.modes(), target)
	if err != nil {
		return nil, err
	}
	rendered.Properties, rendered.Warnings = r.properties, slices.Clone(r.warnings)
	g := &rendering{registry: r, target: target, watched: set.watched, settings: set.deployment, rendered: rendered, served: r.servings()}
	var objects []*unstructured.Unstructured
	for _, part := range []func() ([]*unstructured.Unstructured, error){
		g.accounts, g.roles, g.manifests, g.customResourceDefinitions, g.deployments, g.services, g.configurations, g.certificates,
	} {
		made, err := part()
		if err != nil {
			return nil, err
		}
		objects = append(objects, made...)
	}
	return objects, refused(twice(objects)...)
}

// manifests are the objects of the folder manifests besides the CSV and the definitions, in the
// namespace of the extension.
func (g *rendering) manifests() ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for _, source := range g.others {
		kind := source.GroupVersionKind().GroupKind()
		if optional[kind.Group] && g.target.Scope != nil && g.target.Scope(source.GroupVersionKind()) == plain.ScopeUnknown {
			g.rendered.Warnings = append(g.rendered.Warnings, fmt.Sprintf("%s %s is left out, as the cluster does not serve %s", kind.Kind, source.GetName(), kind))
			continue
		}
		object := source.DeepCopy()
		object.SetNamespace("")
		if allowed[kind] == plain.ScopeNamespaced {
			object.SetNamespace(g.target.Namespace)
		}
		if kind.Group == rbacGroup {
			placeSubjects(object, g.target.Namespace)
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// placeSubjects gives ServiceAccounts without a namespace that of the extension.
func placeSubjects(object *unstructured.Unstructured, namespace string) {
	subjects, _ := object.Object["subjects"].([]any)
	for _, item := range subjects {
		if subject, isObject := item.(map[string]any); isObject && subject["kind"] == "ServiceAccount" && subject["namespace"] == nil {
			subject["namespace"] = namespace
		}
	}
}

// objectOf is a typed object as it is applied: without status, null and what an API server sets.
func objectOf(typed any) (*unstructured.Unstructured, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		return nil, fmt.Errorf("converting an object of the bundle: %w", err)
	}
	dropNulls(fields)
	return &unstructured.Unstructured{Object: fields}, nil
}

// dropNulls takes out null, which typed objects have for a time that is not set.
func dropNulls(value any) {
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Collect(maps.Keys(v)) {
			if v[key] == nil {
				delete(v, key)
			} else {
				dropNulls(v[key])
			}
		}
	case []any:
		for _, item := range v {
			dropNulls(item)
		}
	}
}

// newObject makes an object without content.
func newObject(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	metadata := map[string]any{"name": name}
	if namespace != "" {
		metadata["namespace"] = namespace
	}
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": metadata}}
}
