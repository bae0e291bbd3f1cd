// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// preflight checks the target against the kinds that the API server serves,
// before its first write, and starts the watches. A kind that a
// CustomResourceDefinition of the revision brings may still be missing.
func (e *Engine) preflight(ctx context.Context, l *line, in Rollout) error {
	v := &ValidationError{Revision: in.Target.Number}
	var unknown []error
	brought := map[schema.GroupKind]bool{}
	var kinds []Kind
	for _, phase := range in.Target.Phases {
		for _, object := range phase.Objects {
			if gk, ok := definedKind(object.Manifest); ok {
				brought[gk] = true
			}
		}
		for _, object := range phase.Objects {
			mapping, err := e.mapping(l, object.Manifest)
			switch {
			case meta.IsNoMatchError(err):
				if !brought[object.Manifest.GroupVersionKind().GroupKind()] {
					unknown = append(unknown, &UnknownKindError{Phase: phase.Name, Object: IDOf(object.Manifest), Version: object.Manifest.GroupVersionKind().Version})
				}
				continue
			case err != nil:
				return fmt.Errorf("looking up the kind of %s: %w", IDOf(object.Manifest), err)
			}
			checkScope(v, phase.Name, object.Manifest, mapping)
			kinds = append(kinds, watchKind(object))
		}
	}
	if err := v.orNil(); err != nil {
		return err
	}
	for _, serving := range in.Serving {
		kinds = append(kinds, e.servingKinds(l, serving)...)
	}
	if err := e.config.Cache.Ensure(ctx, string(in.Owner.UID), kinds); err != nil {
		return fmt.Errorf("watching the kinds of revision %d: %w", in.Target.Number, err)
	}
	return errors.Join(unknown...)
}

// isValid says whether a revision could have been rolled out: whether it is valid
// by itself, and each object of a known kind stands in a namespace if it must.
func (e *Engine) isValid(revision Revision) bool {
	if revision.Validate() != nil {
		return false
	}
	v := &ValidationError{Revision: revision.Number}
	for _, phase := range revision.Phases {
		for _, object := range phase.Objects {
			gvk := object.Manifest.GroupVersionKind()
			if mapping, err := e.config.Mapper.RESTMapping(gvk.GroupKind(), gvk.Version); err == nil {
				checkScope(v, phase.Name, object.Manifest, mapping)
			}
		}
	}
	return v.orNil() == nil
}

// servingKinds are the kinds of a revision that the API server serves.
func (e *Engine) servingKinds(l *line, revision Revision) []Kind {
	var kinds []Kind
	for _, phase := range revision.Phases {
		for _, object := range phase.Objects {
			if _, err := e.mapping(l, object.Manifest); err == nil {
				kinds = append(kinds, watchKind(object))
			}
		}
	}
	return kinds
}

func watchKind(object Object) Kind {
	return Kind{
		GroupVersionKind: object.Manifest.GroupVersionKind(),
		MetadataOnly:     object.Probe == nil && object.Serving == nil,
	}
}

func (e *Engine) mapping(l *line, manifest *unstructured.Unstructured) (*meta.RESTMapping, error) {
	gvk := manifest.GroupVersionKind()
	if mapping, known := l.mappings[gvk]; known {
		return mapping, nil
	}
	mapping, err := e.config.Mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return nil, err
	}
	l.mappings[gvk] = mapping
	return mapping, nil
}

func checkScope(v *ValidationError, phase string, manifest *unstructured.Unstructured, mapping *meta.RESTMapping) {
	namespaced := mapping.Scope.Name() == meta.RESTScopeNameNamespace
	switch {
	case namespaced && manifest.GetNamespace() == "":
		v.addf(phase, "%s has no metadata.namespace, and its kind is namespaced: set one", IDOf(manifest))
	case !namespaced && manifest.GetNamespace() != "":
		v.addf(phase, "%s sets metadata.namespace, and its kind is cluster-scoped: remove it", IDOf(manifest))
	}
}

// definedKind is the kind that a CustomResourceDefinition brings.
func definedKind(manifest *unstructured.Unstructured) (schema.GroupKind, bool) {
	if manifest.GetKind() != "CustomResourceDefinition" {
		return schema.GroupKind{}, false
	}
	group, _, _ := unstructured.NestedString(manifest.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(manifest.Object, "spec", "names", "kind")
	return schema.GroupKind{Group: group, Kind: kind}, kind != ""
}
