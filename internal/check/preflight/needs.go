// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/strata-run/strata/revisions"
)

// plural is how rights name a kind, without a name when nothing is known of it.
type plural struct {
	name       string
	namespaced bool
}

// collector gathers what a revision needs.
type collector struct {
	mapper meta.RESTMapper
	// brought are the resources of the kinds that the target itself defines.
	brought   map[schema.GroupKind]plural
	resources map[schema.GroupVersionKind]plural
	needs     []need
	err       error
}

// needsOf are what the target needs: to read, create and patch every object, and
// to delete those that are not retained; and to read and delete those of the older
// revisions, which it may leave out.
func (c *Checker) needsOf(in Input) ([]need, error) {
	all := &collector{mapper: c.Mapper, brought: map[schema.GroupKind]plural{}, resources: map[schema.GroupVersionKind]plural{}}
	each(in.Target, func(_ int, id revisions.ObjectID, object revisions.Object) {
		if isDefinition(id.GroupKind) {
			gk, r := defined(object.Manifest)
			all.brought[gk] = r
		}
	})
	each(in.Target, func(_ int, id revisions.ObjectID, object revisions.Object) {
		all.add(id, object, "get", "create", "patch")
		if !object.Retain {
			all.add(id, object, "delete")
		}
	})
	for _, serving := range in.Serving {
		each(serving, func(_ int, id revisions.ObjectID, object revisions.Object) {
			if !object.Retain {
				all.add(id, object, "get", "delete")
			}
		})
	}
	return all.needs, all.err
}

func (c *collector) add(id revisions.ObjectID, object revisions.Object, verbs ...string) {
	r := c.resourceOf(object.Manifest.GroupVersionKind())
	if r.name == "" {
		return
	}
	namespace := ""
	if r.namespaced {
		namespace = id.Namespace
	}
	for _, verb := range verbs {
		i := slices.IndexFunc(c.needs, func(n need) bool {
			return n.verb == verb && n.group == id.Group && n.resource == r.name && n.namespace == namespace
		})
		if i < 0 {
			i = len(c.needs)
			c.needs = append(c.needs, need{verb: verb, group: id.Group, resource: r.name, namespace: namespace})
		}
		if !slices.Contains(c.needs[i].ids, id) {
			c.needs[i].ids = append(c.needs[i].ids, id)
		}
	}
}

// resourceOf looks up a kind. One that is neither served nor defined by the content
// needs no permission; the engine reports it.
func (c *collector) resourceOf(gvk schema.GroupVersionKind) plural {
	if r, known := c.resources[gvk]; known {
		return r
	}
	r := c.brought[gvk.GroupKind()]
	mapping, err := c.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	switch {
	case err == nil:
		r = plural{name: mapping.Resource.Resource, namespaced: mapping.Scope.Name() == meta.RESTScopeNameNamespace}
	case !meta.IsNoMatchError(err) && c.err == nil:
		c.err = fmt.Errorf("looking up the kind %s: %w", gvk, err)
	}
	c.resources[gvk] = r
	return r
}

// defined is the kind that a CustomResourceDefinition brings, and its resource.
func defined(definition *unstructured.Unstructured) (schema.GroupKind, plural) {
	text := func(path ...string) string {
		value, _, _ := unstructured.NestedString(definition.Object, path...)
		return value
	}
	return schema.GroupKind{Group: text("spec", "group"), Kind: text("spec", "names", "kind")},
		plural{name: text("spec", "names", "plural"), namespaced: text("spec", "scope") != "Cluster"}
}
