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

// preflight checks the target before its first write, looks up the kinds of all
// revisions, and starts the watches. It says whether the target is
// blocked. What cannot be looked up or watched delays its own objects only.
func (e *Engine) preflight(ctx context.Context, ps *pass, in Rollout) (bool, error) {
	var scopes map[schema.GroupVersionKind]meta.RESTScopeName
	invalid := in.Target.Validate()
	if invalid == nil {
		scopes = e.lookUp(ps, in.Target)
		invalid = checkScopes(in.Target, scopes)
	}
	for _, serving := range in.Serving {
		e.lookUp(ps, serving)
	}
	var watched []Kind
	for _, kind := range ps.kinds {
		if !meta.IsNoMatchError(ps.served[kind.GroupVersionKind]) {
			watched = append(watched, kind)
		}
	}
	var watching error
	if err := e.config.Cache.Ensure(ctx, string(in.Owner.UID), watched); err != nil {
		watching = fmt.Errorf("watching the kinds of revision %d: %w", in.Target.Number, err)
	}
	if invalid != nil {
		return true, errors.Join(invalid, watching)
	}
	// A kind that is neither served nor defined blocks a target before its first
	// write. Afterwards it delays its own objects only.
	if len(in.Target.Records) > 0 || in.Target.Succeeded {
		return false, watching
	}
	if unknown := ps.unknownKinds(in.Target); unknown != nil {
		return true, errors.Join(unknown, watching)
	}
	if in.Preflight == nil || in.Paused || in.Target.Paused {
		return false, watching
	}
	refused := in.Preflight(ctx)
	return refused != nil, errors.Join(refused, watching)
}

// lookUp notes the kinds of a revision and whether they are served, and returns
// the scopes of those that are.
func (e *Engine) lookUp(ps *pass, revision Revision) map[schema.GroupVersionKind]meta.RESTScopeName {
	scopes := map[schema.GroupVersionKind]meta.RESTScopeName{}
	for _, phase := range revision.Phases {
		for _, object := range phase.Objects {
			if !object.prepared.identified() {
				continue
			}
			if gk, ok := definedKind(object.Manifest); ok {
				ps.defined[gk] = true
			}
			kind := object.prepared.kind
			ps.add(Kind{GroupVersionKind: kind, MetadataOnly: object.Probe == nil && object.Serving == nil})
			if _, known := scopes[kind]; known {
				continue
			}
			mapping, err := e.config.Mapper.RESTMapping(kind.GroupKind(), kind.Version)
			ps.served[kind] = err
			scopes[kind] = ""
			if err == nil {
				scopes[kind] = mapping.Scope.Name()
			}
		}
	}
	return scopes
}

// unknownKinds are errors about kinds that are neither served nor defined.
func (ps *pass) unknownKinds(target Revision) error {
	var errs []error
	for _, phase := range target.Phases {
		for _, object := range phase.Objects {
			kind := object.prepared.kind
			if meta.IsNoMatchError(ps.served[kind]) && !ps.defined[kind.GroupKind()] {
				errs = append(errs, fmt.Errorf("phase %s: %s: %w", phase.Name, object.prepared.id, &UnknownKindError{Phase: phase.Name, Object: object.prepared.id, Version: kind.Version}))
			}
		}
	}
	return errors.Join(errs...)
}

// checkScopes checks that namespaced objects have a namespace, and others none.
func checkScopes(target Revision, scopes map[schema.GroupVersionKind]meta.RESTScopeName) error {
	v := &ValidationError{Revision: target.Number}
	for _, phase := range target.Phases {
		for _, object := range phase.Objects {
			if wrong := misplaced(object.prepared.id, scopes[object.prepared.kind]); wrong != "" {
				v.addf(phase.Name, "%s %s", object.prepared.id, wrong)
			}
		}
	}
	return v.orNil()
}

// misplaced says what is wrong with an object's namespace, nothing for a scope
// that is not known. Such an object cannot exist, nor was it ever written.
func misplaced(id ObjectID, scope meta.RESTScopeName) string {
	switch {
	case scope == meta.RESTScopeNameNamespace && id.Namespace == "":
		return "has no metadata.namespace, and its kind is namespaced: set one"
	case scope == meta.RESTScopeNameRoot && id.Namespace != "":
		return "sets metadata.namespace, and its kind is cluster-scoped: remove it"
	default:
		return ""
	}
}

// definedKind is the kind that a CustomResourceDefinition defines.
func definedKind(manifest *unstructured.Unstructured) (schema.GroupKind, bool) {
	if manifest.GetKind() != "CustomResourceDefinition" {
		return schema.GroupKind{}, false
	}
	group, _, _ := unstructured.NestedString(manifest.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(manifest.Object, "spec", "names", "kind")
	return schema.GroupKind{Group: group, Kind: kind}, kind != ""
}
