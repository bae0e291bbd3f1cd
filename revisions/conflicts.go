// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/strata-run/strata/revisions/probes"
)

// ConflictingManager is another field manager that has fields of the manifest which are not
// ours any more.
type ConflictingManager struct {
	// Manager, Operation and Subresource are those of its managedFields entry.
	Manager, Operation, Subresource string
	// Fields are the paths of these fields, sorted.
	Fields []string
}

// conflictingManagers are the managers that have taken fields of the manifest from us, the one
// that wrote last first. The object may be trimmed.
func conflictingManagers(manifest, current *unstructured.Unstructured, owner string) []ConflictingManager {
	ours, others := entriesBeside(current, owner)
	slices.SortStableFunc(others, func(a, b managedEntry) int { return cmp.Compare(b.time, a.time) })
	var managers []ConflictingManager
	for _, entry := range others {
		manager := ConflictingManager{Manager: entry.manager, Operation: entry.operation, Subresource: entry.subresource}
		for path := range entry.fields().Difference(ours).Leaves().All() {
			if differs(manifest.Object, current.Object, path) {
				manager.Fields = append(manager.Fields, textOf(path))
			}
		}
		if len(manager.Fields) > 0 {
			slices.Sort(manager.Fields)
			managers = append(managers, manager)
		}
	}
	return managers
}

// managedEntry is one entry of managedFields.
type managedEntry struct {
	manager, operation, subresource, time string
	// version is not known of a trimmed entry.
	version string
	raw     string
}

func (e managedEntry) isOf(manager string) bool {
	return e.manager == manager && e.operation == string(metav1.ManagedFieldsOperationApply) && e.subresource == ""
}

// fields is the set of the entry, empty when it cannot be read.
func (e managedEntry) fields() *fieldpath.Set {
	set := &fieldpath.Set{}
	if err := set.FromJSON(strings.NewReader(e.raw)); err != nil {
		return &fieldpath.Set{}
	}
	return set
}

// entriesBeside are the fields of a manager's applies, and the entries of other managers but those
// of statuses.
func entriesBeside(obj *unstructured.Unstructured, manager string) (own *fieldpath.Set, others []managedEntry) {
	own = &fieldpath.Set{}
	for _, entry := range managedEntries(obj) {
		switch {
		case entry.isOf(manager):
			own = entry.fields()
		case entry.subresource != "status":
			others = append(others, entry)
		}
	}
	return own, others
}

// managedEntries reads managedFields, trimmed or not. Entries of which [Trim] has
// left nothing but a digest are left out.
func managedEntries(obj *unstructured.Unstructured) []managedEntry {
	managed, _, _ := unstructured.NestedFieldNoCopy(obj.Object, "metadata", "managedFields")
	list, _ := managed.([]any)
	var entries []managedEntry
	for _, item := range list {
		fields, _ := item.(map[string]any)
		text := func(name string) string {
			value, _ := fields[name].(string)
			return value
		}
		entry := managedEntry{manager: text("manager"), operation: text("operation"), subresource: text("subresource"), time: text("time"), version: text("apiVersion")}
		set, _ := fields["fieldsV1"].(map[string]any)
		if packed, ok := set["set"].(string); ok && text("fieldsType") == digestOnly {
			entry.raw = packed
		} else if data, err := json.Marshal(set); err == nil && text("fieldsType") == fieldsV1 {
			entry.raw = string(data)
		} else {
			continue
		}
		entries = append(entries, entry)
	}
	return entries
}

// differs says whether the manifest sets the field of a path, and the object has
// another value there or may have one: the body of an object that is watched by its
// metadata alone is not known.
func differs(manifest, current map[string]any, path fieldpath.Path) bool {
	wanted, set := at(manifest, path)
	if !set {
		return false
	}
	found, there := at(current, path)
	if !there {
		return true
	}
	a, errA := json.Marshal(wanted)
	b, errB := json.Marshal(found)
	return errA != nil || errB != nil || !bytes.Equal(a, b)
}

// at is the value of a path, and whether there is one.
func at(content any, path fieldpath.Path) (any, bool) {
	for _, element := range path {
		switch {
		case element.FieldName != nil:
			fields, _ := content.(map[string]any)
			inner, set := fields[*element.FieldName]
			if !set {
				return nil, false
			}
			content = inner
		case element.Key != nil, element.Value != nil:
			list, _ := content.([]any)
			i := slices.IndexFunc(list, func(item any) bool { return isItem(item, element) })
			if i < 0 {
				return nil, false
			}
			content = list[i]
		default:
			return nil, false
		}
	}
	return content, true
}

// isItem says whether an item of a list is the one that a path element names. A
// key field that the item leaves out has a default there, which is not known here.
func isItem(item any, element fieldpath.PathElement) bool {
	if element.Value != nil {
		return value.Equals(value.NewValueInterface(item), *element.Value)
	}
	fields, ok := item.(map[string]any)
	if !ok {
		return false
	}
	for _, key := range *element.Key {
		own, set := fields[key.Name]
		if !set && key.Name == "protocol" {
			own, set = "TCP", true // of Kubernetes' own kinds, ports alone have a key with a default
		}
		if set && !value.Equals(value.NewValueInterface(own), key.Value) {
			return false
		}
	}
	return true
}

// textOf spells a path as [ParseFieldPath] reads it. An item of a list that several
// fields tell apart has all of them. Only a place in a list cannot be read again, as
// what other managers add would change which item it names.
func textOf(path fieldpath.Path) string {
	var b strings.Builder
	for _, element := range path {
		switch {
		case element.FieldName != nil:
			b.WriteString(probes.FieldStep(*element.FieldName))
		case element.Key != nil:
			keys := map[string]any{}
			for _, key := range *element.Key {
				keys[key.Name] = key.Value.Unstructured()
			}
			b.WriteString(probes.EntryStep(keys))
		case element.Value != nil:
			b.WriteString(probes.EntryStep(map[string]any{"": (*element.Value).Unstructured()}))
		default:
			b.WriteString("[" + element.String() + "]")
		}
	}
	return b.String()
}

// ignorable are the fields that other managers rightly set, by kind; the kind of the
// last ones is empty and stands for every kind.
var ignorable = []struct {
	kind schema.GroupKind
	path string
	// subresource, when it is set, is through which the manager must have written.
	subresource, manager string
}{
	{kind: schema.GroupKind{Group: "admissionregistration.k8s.io", Kind: "MutatingWebhookConfiguration"}, path: ".webhooks[*].clientConfig.caBundle"},
	{kind: schema.GroupKind{Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration"}, path: ".webhooks[*].clientConfig.caBundle"},
	{kind: schema.GroupKind{Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration"}, path: ".webhooks[*].failurePolicy"},
	{kind: crdKind, path: ".spec.conversion.webhook.clientConfig.caBundle"},
	{kind: schema.GroupKind{Group: "apiregistration.k8s.io", Kind: "APIService"}, path: ".spec.caBundle"},
	// A HorizontalPodAutoscaler scales as the kube-controller-manager. A person who
	// scales is no autoscaler.
	{path: ".spec.replicas", subresource: "scale", manager: "kube-controller-manager"},
	{path: `.spec.template.metadata.annotations["kubectl.kubernetes.io/restartedAt"]`},
}

var crdKind = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}

// ignorableFields are the fields that are left to the managers that have set them, sorted.
func ignorableFields(kind schema.GroupKind, managers []ConflictingManager) []string {
	var fields []string
	for _, manager := range managers {
		for _, field := range manager.Fields {
			if isIgnorable(kind, manager, field) {
				fields = append(fields, field)
			}
		}
	}
	slices.Sort(fields)
	return slices.Compact(fields)
}

// isIgnorable says whether a field is left to a manager.
func isIgnorable(kind schema.GroupKind, manager ConflictingManager, field string) bool {
	path, err := probes.ParsePath(field)
	if err != nil {
		return false
	}
	for _, y := range ignorable {
		pattern, err := probes.ParsePattern(y.path)
		if err == nil && (y.kind.Empty() || y.kind == kind) && pattern.Covers(path) &&
			(y.subresource == "" || y.subresource == manager.Subresource && y.manager == manager.Manager) {
			return true
		}
	}
	return false
}
