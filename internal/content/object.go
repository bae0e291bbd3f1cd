// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/revisions"
	"github.com/strata-run/strata/revisions/probes"
)

var definitionKind = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}

// retained are the kinds whose loss loses data, or everything that lives in them.
var retained = []schema.GroupKind{
	definitionKind,
	{Kind: "Namespace"},
	{Kind: "PersistentVolume"},
	{Kind: "PersistentVolumeClaim"},
}

// Retains says whether an object stays when it is no longer wanted; one that goes only while it is
// not used may stay.
func Retains(manifest *unstructured.Unstructured, deletion v1alpha1.ObjectDeletion) bool {
	switch {
	case deletion == v1alpha1.ObjectDeleteUnused:
		return manifest.GroupVersionKind().GroupKind() == definitionKind
	case deletion != "":
		return deletion == v1alpha1.ObjectRetain
	case manifest.GetAnnotations()[v1alpha1.AnnotationResourcePolicy] == v1alpha1.ResourcePolicyKeep:
		return true
	default:
		return slices.Contains(retained, manifest.GroupVersionKind().GroupKind())
	}
}

// updatePhase is where an object that exists gets new content. What a rollback brings back has
// proved itself, and the older pods that it starts may not understand the newer content.
func updatePhase(spec v1alpha1.Object, rollback bool) string {
	if rollback {
		return ""
	}
	return spec.UpdatePhase
}

// object is one manifest with its probes: the revision's own where one selects
// it, the default of its kind elsewhere. The error begins with the field that it is
// about.
func (c compiled) object(stored manifest, spec v1alpha1.Object, phase v1alpha1.Phase, rollback bool, scaling scaling) (revisions.Object, error) {
	manifest := stored.manifest
	kind := manifest.GroupVersionKind().GroupKind()
	object := revisions.Object{
		Manifest:            manifest,
		CollisionProtection: revisions.CollisionProtection(cmp.Or(spec.CollisionProtection, phase.CollisionProtection, v1alpha1.CollisionPrevent)),
		Retain:              Retains(manifest, spec.Deletion),
		DeleteUnused:        spec.Deletion == v1alpha1.ObjectDeleteUnused,
		ForwardOnly:         rollback && kind == definitionKind,
		Replace:             spec.OnImmutableChange == v1alpha1.ImmutableReplace,
		UpdatePhase:         updatePhase(spec, rollback),
		Once:                spec.CreateOnce,
	}
	if stored.sealed != nil {
		object.Salt = stored.sealed.Salt
	}
	var err error
	if object.Unmanaged, err = fieldPaths("unmanagedFields", spec.UnmanagedFields); err != nil {
		return object, err
	}
	if object.Exclusive, err = fieldPaths("exclusiveFields", spec.ExclusiveFields); err != nil {
		return object, err
	}
	if own := c.selecting(manifest); len(own) > 0 {
		object.Probe, object.Within, object.MinReady = own.together()
	} else if probe, ok := probes.Default(kind); ok {
		object.Probe = scaling.probe(manifest, probe)
	}
	object.Serving = object.Probe
	if probe, ok := probes.Serving(kind); ok && probes.ServesBeforeReady(kind) {
		object.Serving = scaling.probe(manifest, probe)
	}
	return object, nil
}

// fieldPaths reads the paths of a field.
func fieldPaths(field string, texts []string) ([]revisions.FieldPath, error) {
	var paths []revisions.FieldPath
	for k, text := range texts {
		path, err := revisions.ParseFieldPath(text)
		if err != nil {
			return nil, fmt.Errorf("%s[%d]: %w", field, k, err)
		}
		paths = append(paths, path)
	}
	return paths, nil
}
