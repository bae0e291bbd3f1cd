// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisionstest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/strata-run/strata/revisions"
	"github.com/strata-run/strata/revisions/probes"
)

// notation is one object in one line:
//
//	Deployment app/web image=v1 replicas=2 label:tier=front probe retain protect=None
//
// The kind stands alone for those that every cluster serves, and as
// Kind.version.group for others. The values go where the kind has them: data of a
// ConfigMap, stringData of a Secret, spec of the rest.
type notation struct {
	kind            schema.GroupVersionKind
	namespace, name string
	values          map[string]string
	removed         []string
	flags           map[string]string
}

// flagNames are words that say how to treat an object, and are no values.
var flagNames = []string{"probe", "retain", "protect", "controller", "unmanaged", "replace", "exclusive", "update", "unused"}

func parseNotation(text string) (notation, error) {
	n := notation{values: map[string]string{}, flags: map[string]string{}}
	words := strings.Fields(text)
	if len(words) < 2 {
		return n, fmt.Errorf("%q is no object: write Kind namespace/name field=value", text)
	}
	n.kind = parseKind(words[0])
	if n.kind.Version == "" {
		var known bool
		if n.kind, known = findBuiltin(words[0]); !known {
			return n, fmt.Errorf("the kind %s is none that every cluster serves: write Kind.version.group", words[0])
		}
	}
	n.name = words[1]
	if namespace, name, found := strings.Cut(words[1], "/"); found {
		n.namespace, n.name = namespace, name
	}
	for _, word := range words[2:] {
		field, value, hasValue := strings.Cut(word, "=")
		switch {
		case slices.Contains(flagNames, field):
			n.flags[field] = value
		case hasValue:
			n.values[field] = value
		case strings.HasSuffix(field, "-"):
			n.removed = append(n.removed, strings.TrimSuffix(field, "-"))
		default:
			return n, fmt.Errorf("%q: %q is neither field=value nor field-", text, word)
		}
	}
	return n, nil
}

func (n notation) id() revisions.ObjectID {
	return revisions.ObjectID{GroupKind: n.kind.GroupKind(), Namespace: n.namespace, Name: n.name}
}

// identity is the object without any values.
func (n notation) identity() *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(n.kind)
	object.SetName(n.name)
	if n.namespace != "" {
		object.SetNamespace(n.namespace)
	}
	return object
}

// object is the object with its values.
func (n notation) object() *unstructured.Unstructured {
	object := n.identity()
	for field, value := range n.values {
		set(object.Object, n.path(field), n.value(field, value))
	}
	if n.kind.GroupKind() == definitionKind {
		n.define(object)
	}
	return object
}

// patch is a merge patch that sets the values and takes away what is removed.
func (n notation) patch() map[string]any {
	patch := map[string]any{}
	for field, value := range n.values {
		set(patch, n.path(field), n.value(field, value))
	}
	for _, field := range n.removed {
		set(patch, n.path(field), nil)
	}
	return patch
}

// path is where a value goes.
func (n notation) path(field string) path {
	if name, found := strings.CutPrefix(field, "label:"); found {
		return path("f:metadata\nf:labels\nf:" + name)
	}
	if name, found := strings.CutPrefix(field, "annotation:"); found {
		return path("f:metadata\nf:annotations\nf:" + name)
	}
	switch {
	case field == "finalizers", field == "ownerReferences", field == "managedFields":
		return path("f:metadata\nf:" + field)
	case n.kind.Kind == "ConfigMap":
		return path("f:data\nf:" + field)
	case n.kind.Kind == "Secret" && n.kind.Group == "":
		return path("f:stringData\nf:" + field)
	}
	return path("f:spec\nf:" + strings.ReplaceAll(field, ".", "\nf:"))
}

// value is a value as JSON has it. Maps of strings and metadata hold strings only.
func (n notation) value(field, value string) any {
	switch {
	case n.kind.GroupKind() == definitionKind && field == "versions":
		versions := []any{}
		for version := range strings.SplitSeq(value, ",") {
			name, unserved := strings.CutPrefix(version, "-")
			versions = append(versions, map[string]any{
				"name": name, "served": !unserved, "storage": len(versions) == 0,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
			})
		}
		return versions
	case field == "finalizers", field == "ownerReferences", field == "managedFields":
		var list []any
		for _, item := range strings.FieldsFunc(value, func(r rune) bool { return r == ',' }) {
			list = append(list, item)
		}
		if field == "managedFields" {
			return []any{map[string]any{}}
		}
		return list
	case n.kind.Kind == "ConfigMap", n.kind.Kind == "Secret", strings.Contains(field, ":"):
		return value
	}
	if number, err := strconv.ParseInt(value, 10, 64); err == nil {
		return number
	}
	return value
}

// define fills in a CustomResourceDefinition, which is named plural.group.
func (n notation) define(object *unstructured.Unstructured) {
	plural, group, _ := strings.Cut(n.name, ".")
	spec, _ := object.Object["spec"].(map[string]any)
	scope := "Namespaced"
	if n.valueOr("scope", "") == "Cluster" {
		scope = "Cluster"
	}
	next := map[string]any{
		"group": group, "scope": scope, "versions": n.value("versions", n.valueOr("versions", "v1")),
		"names": map[string]any{"kind": n.valueOr("kind", ""), "plural": plural},
	}
	for field, value := range spec {
		if field != "kind" && field != "scope" && field != "versions" {
			next[field] = value
		}
	}
	object.Object["spec"] = next
}

func (n notation) valueOr(field, otherwise string) string {
	if value, set := n.values[field]; set {
		return value
	}
	return otherwise
}

// revisionObject is the object as it stands in a revision.
func (n notation) revisionObject() (revisions.Object, error) {
	object := revisions.Object{Manifest: n.object(), CollisionProtection: revisions.CollisionProtection(n.flags["protect"])}
	_, object.Retain = n.flags["retain"]
	_, object.DeleteUnused = n.flags["unused"]
	_, object.Replace = n.flags["replace"]
	object.UpdatePhase = n.flags["update"]
	var err error
	if object.Unmanaged, err = n.fieldPaths("unmanaged"); err != nil {
		return object, err
	}
	if object.Exclusive, err = n.fieldPaths("exclusive"); err != nil {
		return object, err
	}
	if _, probed := n.flags["probe"]; probed {
		object.Probe, object.Serving = statusProbe("ready"), statusProbe("serving")
		if n.kind.GroupKind() == definitionKind {
			object.Probe, object.Serving = probes.Func(established), probes.Func(established)
		}
	}
	return object, nil
}

// fieldPaths are the paths that a flag lists.
func (n notation) fieldPaths(flag string) ([]revisions.FieldPath, error) {
	var paths []revisions.FieldPath
	for field := range strings.SplitSeq(n.flags[flag], ",") {
		if field == "" {
			continue
		}
		next, err := revisions.ParseFieldPath(field)
		if err != nil {
			return nil, fmt.Errorf("reading %s=%s: %w", flag, field, err)
		}
		paths = append(paths, next)
	}
	return paths, nil
}

// statusProbe looks at a boolean in the status, which the command "set" sets.
func statusProbe(field string) probes.Probe {
	return probes.Func(func(object *unstructured.Unstructured) probes.Result {
		value, set, _ := unstructured.NestedBool(object.Object, "status", field)
		switch {
		case !set:
			return probes.Result{Status: probes.Unknown, Message: "it has no status yet"}
		case !value:
			return probes.Result{Status: probes.False, Message: "status." + field + " is false"}
		}
		return probes.Result{Status: probes.True}
	})
}

// established says whether a CustomResourceDefinition is served.
func established(object *unstructured.Unstructured) probes.Result {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, item := range conditions {
		if condition, ok := item.(map[string]any); ok && condition["type"] == "Established" && condition["status"] == "True" {
			return probes.Result{Status: probes.True}
		}
	}
	return probes.Result{Status: probes.Unknown, Message: "it has no status yet"}
}

// parsePhases reads the body of the command "revision": lines that begin with
// "phase", each followed by its objects.
func parsePhases(lines []string) ([]revisions.Phase, error) {
	var phases []revisions.Phase
	for _, line := range lines {
		if name, found := strings.CutPrefix(line, "phase "); found {
			phases = append(phases, revisions.Phase{Name: strings.TrimSpace(name)})
			continue
		}
		if len(phases) == 0 {
			return nil, fmt.Errorf("%q stands before the first phase", line)
		}
		n, err := parseNotation(line)
		if err != nil {
			return nil, err
		}
		object, err := n.revisionObject()
		if err != nil {
			return nil, err
		}
		last := &phases[len(phases)-1]
		last.Objects = append(last.Objects, object)
	}
	return phases, nil
}
