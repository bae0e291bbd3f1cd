// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// A server-side apply removes a field that it no longer has only if no other manager has
// the field. What has to go although another manager has it is claimed first: in
// managedFields it is moved from that manager's entry to ours, which changes no value.
// The apply that follows then removes it, in one step with all else that it changes.

// claim is what is moved from one managedFields entry to ours.
type claim struct {
	entry  managedEntry
	fields *fieldpath.Set
	// texts are the topmost of these fields, spelled and sorted.
	texts []string
}

// claimsOf are the fields of other managers that an apply of the manifest has to remove:
// those at or below exclusive paths that it does not set, and, of a manager that has only
// made the object, those that we have as well and that it does not set any more. Unmanaged
// fields are never claimed.
func claimsOf(manifest, current *unstructured.Unstructured, manager string, exclusive, unmanaged []FieldPath) []claim {
	ours, others := entriesBeside(current, manager)
	var claims []claim
	for _, entry := range others {
		found := claim{entry: entry, fields: &fieldpath.Set{}}
		for path := range entry.fields().All() {
			top := exceeds(manifest.Object, ours, path, exclusive)
			if top == nil && entry.isMaker(manager) {
				top = dropped(manifest.Object, ours, path)
			}
			if top != nil && !covers(unmanaged, path) {
				found.fields.Insert(path)
				found.texts = append(found.texts, textOf(top))
			}
		}
		if len(found.texts) > 0 {
			slices.Sort(found.texts)
			found.texts = slices.Compact(found.texts)
			claims = append(claims, found)
		}
	}
	return claims
}

// exceeds is the topmost field at or below an exclusive path that a path leads through
// and the manifest does not set, nil when there is none.
func exceeds(manifest map[string]any, ours *fieldpath.Set, path fieldpath.Path, exclusive []FieldPath) fieldpath.Path {
	for n := 1; n <= len(path); n++ {
		if covers(exclusive, path[:n]) && (unset(manifest, path[:n]) || n == len(path) && emptied(manifest, ours, path)) {
			return path[:n]
		}
	}
	return nil
}

// dropped is the topmost field that a path leads through, that we have and that the
// manifest does not set any more, nil when there is none.
func dropped(manifest map[string]any, ours *fieldpath.Set, path fieldpath.Path) fieldpath.Path {
	for n := 1; n <= len(path); n++ {
		if unset(manifest, path[:n]) {
			if containsPath(ours, path[:n]) {
				return path[:n]
			}
			return nil
		}
	}
	return nil
}

// unset says whether the manifest does not set a field. A field that tells an entry of a
// list apart is set with the entry, also by its default.
func unset(manifest map[string]any, path fieldpath.Path) bool {
	if n := len(path); n > 1 && path[n-1].FieldName != nil && path[n-2].Key != nil {
		for _, key := range *path[n-2].Key {
			if key.Name == *path[n-1].FieldName {
				return false
			}
		}
	}
	_, set := at(manifest, path)
	return !set
}

// emptied says whether the manifest wants a field to be empty that another manager has
// alone. The API server keeps no empty field, and so none of ours.
func emptied(manifest map[string]any, ours *fieldpath.Set, path fieldpath.Path) bool {
	value, _ := at(manifest, path)
	list, isList := value.([]any)
	fields, isMap := value.(map[string]any)
	isEmpty := value == nil || isList && len(list) == 0 || isMap && len(fields) == 0
	return isEmpty && !ours.Has(path)
}

// containsPath says whether a set has a field or one below it.
func containsPath(set *fieldpath.Set, path fieldpath.Path) bool {
	for i, element := range path {
		below, found := set.Children.Get(element)
		if i == len(path)-1 {
			return found || set.Members.Has(element)
		}
		if !found {
			return false
		}
		set = below
	}
	return false
}

// covers says whether a path leads to or through a field that one of the others names.
func covers(paths []FieldPath, path fieldpath.Path) bool {
	if len(paths) == 0 {
		return false
	}
	steps := make([]any, len(path))
	for i, element := range path {
		switch {
		case element.FieldName != nil:
			steps[i] = *element.FieldName
		case element.Key != nil:
			entry := map[string]any{}
			for _, key := range *element.Key {
				entry[key.Name] = key.Value.Unstructured()
			}
			steps[i] = entry
		}
	}
	return slices.ContainsFunc(paths, func(p FieldPath) bool { return p.pattern.CoversFields(steps) })
}

// makers are the managers that write an object once or by hand. What one of them and we
// have together is ours.
var makers = []string{unknownManagers, "helm"}

// unknownManagers is the name under which the API server notes all fields of an object that
// has no managedFields when it is applied.
const unknownManagers = "before-first-apply"

// isMaker says whether the entry is one of an update that has only made the object.
func (e managedEntry) isMaker(manager string) bool {
	return e.operation == string(metav1.ManagedFieldsOperationUpdate) && e.subresource == "" &&
		(e.manager == manager || slices.Contains(makers, e.manager) || strings.HasPrefix(e.manager, "kubectl"))
}

// claims are those of a task over the state given.
func (t *task) claims(current *unstructured.Unstructured, lists []FieldPath) []claim {
	manifest := t.object.prepared.desired(t.input.Owner, t.input.Retain, nil)
	return claimsOf(manifest, current, t.input.Owner.manager(), slices.Concat(t.object.Exclusive, lists), t.object.Unmanaged)
}

// excess are the managers that have added fields at or below exclusive paths.
func (t *task) excess(current *unstructured.Unstructured) []ConflictingManager {
	if len(t.object.Exclusive) == 0 || current == nil {
		return nil
	}
	var managers []ConflictingManager
	for _, c := range t.claims(current, nil) {
		managers = append(managers, ConflictingManager{Manager: c.entry.manager, Operation: c.entry.operation, Subresource: c.entry.subresource, Fields: c.texts})
	}
	slices.SortStableFunc(managers, func(a, b ConflictingManager) int { return cmp.Compare(a.Manager, b.Manager) })
	return managers
}

// claimed are an object's managedFields with what is claimed in our entry.
func claimed(live *unstructured.Unstructured, manager string, claims []claim) ([]metav1.ManagedFieldsEntry, error) {
	var entries []metav1.ManagedFieldsEntry
	ours, all := &fieldpath.Set{}, &fieldpath.Set{}
	own := metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: live.GetAPIVersion(), FieldsType: fieldsV1,
	}
	for _, c := range claims {
		all = all.Union(c.fields)
	}
	for _, entry := range live.GetManagedFields() {
		set, err := setOf(entry)
		if err != nil {
			return nil, err
		}
		if entry.Manager == manager && entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == "" {
			own, ours = entry, set
			continue
		}
		at := slices.IndexFunc(claims, func(c claim) bool {
			return c.entry.manager == entry.Manager && c.entry.operation == string(entry.Operation) && c.entry.subresource == entry.Subresource &&
				c.entry.version == entry.APIVersion
		})
		if at >= 0 {
			set = set.Difference(claims[at].fields)
		}
		if set.Empty() {
			continue
		}
		if entry, err = withSet(entry, set); err != nil {
			return nil, err
		}
		entries = append(entries, entry)
	}
	own, err := withSet(own, ours.Union(all))
	return append(entries, own), err
}

func setOf(entry metav1.ManagedFieldsEntry) (*fieldpath.Set, error) {
	set := &fieldpath.Set{}
	if entry.FieldsV1 == nil {
		return set, nil
	}
	if err := set.FromJSON(entry.FieldsV1.GetRawReader()); err != nil {
		return nil, fmt.Errorf("reading the managedFields of %s: %w", entry.Manager, err)
	}
	return set, nil
}

func withSet(entry metav1.ManagedFieldsEntry, set *fieldpath.Set) (metav1.ManagedFieldsEntry, error) {
	data, err := set.ToJSON()
	if err != nil {
		return entry, fmt.Errorf("encoding the managedFields of %s: %w", entry.Manager, err)
	}
	entry.FieldsV1 = metav1.NewFieldsV1(string(data))
	return entry, nil
}

// duplicated are the lists of which an API server says that an entry stands in them
// twice: ours, and one of another manager that it cannot tell apart from ours.
func duplicated(err error) []FieldPath {
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	var lists []FieldPath
	for _, cause := range status.Status().Details.Causes {
		list, _, isEntry := strings.Cut(cause.Field, "[")
		if cause.Type != metav1.CauseTypeFieldValueDuplicate || !isEntry {
			continue
		}
		if path, err := ParseFieldPath("." + list); err == nil {
			lists = append(lists, path)
		}
	}
	return lists
}
