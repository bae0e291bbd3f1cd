// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisionstest

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-run/strata/revisions"
)

// write is a request that changes an object.
type write struct {
	request Request
	// body is the applied configuration, the merge patch or the whole object.
	body    map[string]any
	version string
	manager string
	force   bool
}

// The conditions of writes, in words.
const (
	ifAbsent    = "if absent"
	ifUnchanged = "if unchanged"
	ifTheSame   = "if the same"
)

// newWrite is a write of a client, which is its own field manager unless it names
// one.
func newWrite(request Request, body map[string]any, version, manager string) write {
	w := write{request: request, body: body, version: version, manager: cmp.Or(manager, request.Client)}
	w.request.Condition = w.condition()
	return w
}

func (w write) meta(field string) string {
	value, _, _ := unstructured.NestedString(w.body, "metadata", field)
	return value
}

// condition is the precondition of a write, in words.
func (w write) condition() string {
	uid, version := w.meta("uid"), w.meta("resourceVersion")
	switch {
	case version == "1" && uid == "":
		return ifAbsent
	case version != "":
		return ifUnchanged
	case uid != "":
		return ifTheSame
	default:
		return ""
	}
}

// write changes an object and says what changed.
func (c *Cluster) write(w write) (*stored, string, error) {
	if err := c.checkServed(w.request, w.version); err != nil {
		return nil, "", err
	}
	before := c.objects[w.request.Object]
	if err := c.checkPreconditions(w, before); err != nil {
		return nil, "", err
	}
	next := &stored{object: blank(w.request.Object.WithVersion(w.version), w.request.Object)}
	if before != nil {
		next = before.clone()
	}
	var err error
	switch w.request.Verb {
	case VerbApply:
		err = c.apply(w, next, before != nil)
	case VerbPatch:
		merge(next.object.Object, w.body)
		c.own(w, before, next)
	default:
		next.object = c.replacement(w, before)
		c.own(w, before, next)
	}
	if err == nil {
		err = validate(w.request, next.object)
	}
	if err == nil && before != nil {
		err = validateUpdate(w.request, before.object, next.object)
	}
	if err != nil {
		return nil, "", err
	}
	if w.request.DryRun {
		return next, "", nil
	}
	after := c.store(w.request.Object, before, next)
	switch {
	case before == nil:
		return after, "created", nil
	case c.objects[w.request.Object] == nil:
		return after, "deleted", nil
	case before == after:
		return after, "unchanged", nil
	default:
		return after, "changed", nil
	}
}

// checkServed answers for a kind that is not served.
func (c *Cluster) checkServed(r Request, version string) error {
	if _, err := c.kinds.RESTMapping(r.Object.GroupKind, version); err != nil {
		return err
	}
	if !c.kinds.reachable(r.Object.WithVersion(version)) {
		return pathNotFound(r)
	}
	return nil
}

// checkPreconditions answers for a write that is bound to another state, and for
// one into a namespace that does not exist.
func (c *Cluster) checkPreconditions(w write, before *stored) error {
	r := w.request
	if before == nil {
		switch {
		case r.Verb == VerbPatch || r.Verb == VerbUpdate:
			return statusError(404, r, "")
		case w.meta("uid") != "":
			return statusError(409, r, "uid mismatch: the provided object specified uid "+w.meta("uid")+", and no existing object was found")
		}
		namespace := revisions.ObjectID{GroupKind: namespaceKind, Name: r.Object.Namespace}
		if r.Object.Namespace != "" && c.objects[namespace] == nil {
			return statusError(404, Request{Object: namespace}, "")
		}
		return nil
	}
	version, uid := w.meta("resourceVersion"), w.meta("uid")
	switch {
	case r.Verb == VerbCreate:
		return alreadyExists(r)
	case version != "" && version != before.object.GetResourceVersion():
		return statusError(409, r, "the object has been modified; please apply your changes to the latest version and try again")
	case uid != "" && uid != string(before.object.GetUID()):
		return immutableField(r, "metadata.uid", uid)
	}
	return nil
}

// apply is a server-side apply.
func (c *Cluster) apply(w write, next *stored, exists bool) error {
	before := next.object.DeepCopy()
	if exists && len(next.managers) == 0 {
		*next.manager("before-first-apply", updated) = manager{
			name: "before-first-apply", operation: updated, version: next.object.GetAPIVersion(), time: c.timestamp(),
			fields: ownable(leavesOf(next.object.Object)),
		}
	}
	wanted, has := leavesOf(w.body), leavesOf(next.object.Object)
	own := next.manager(w.manager, applied)
	for _, p := range wanted.names() {
		if !next.ownedByOthers(p, w.manager, applied) || equal(wanted[p], has[p]) {
			continue
		}
		if !w.force {
			return statusError(409, w.request, "apply failed with a conflict about "+p.String())
		}
		next.disown(p, w.manager, applied)
	}
	for p := range own.fields {
		if _, still := wanted[p]; !still && !next.ownedByOthers(p, w.manager, applied) {
			unset(next.object.Object, p)
		}
	}
	for _, p := range wanted.names() {
		set(next.object.Object, p, wanted[p])
	}
	own = next.manager(w.manager, applied)
	own.fields, own.version = ownable(wanted), w.request.Object.WithVersion(w.version).GroupVersion().String()
	if !exists || !equal(before.Object, next.object.Object) {
		own.time = c.timestamp()
	}
	return nil
}

// own gives the fields that a patch or an update has changed to its sender.
func (c *Cluster) own(w write, before, next *stored) {
	had := leaves{}
	if before != nil {
		had = leavesOf(before.object.Object)
	}
	next.dropEmpty()
	has := leavesOf(next.object.Object)
	metadata, _ := w.body["metadata"].(map[string]any)
	unset(next.object.Object, "f:metadata\nf:managedFields")
	if entries, set := metadata["managedFields"]; set {
		next.takeManagers(entries)
		if len(next.managers) == 0 {
			// Who wipes them is not noted either.
			return
		}
	}
	own := next.manager(w.manager, updated)
	own.version = w.request.Object.WithVersion(w.version).GroupVersion().String()
	for p, value := range has {
		if old, set := had[p]; set && equal(old, value) {
			continue
		}
		next.disown(p, w.manager, updated)
		own.fields[p], own.time = true, c.timestamp()
	}
	for p := range had {
		if _, still := has[p]; !still {
			next.disown(p, "", "")
		}
	}
}

// replacement is the object of a create or an update, with what only the API
// server sets.
func (c *Cluster) replacement(w write, before *stored) *unstructured.Unstructured {
	object := (&unstructured.Unstructured{Object: w.body}).DeepCopy()
	delete(object.Object, "status")
	if before == nil {
		return object
	}
	object.SetUID(before.object.GetUID())
	object.SetResourceVersion(before.object.GetResourceVersion())
	object.SetGeneration(before.object.GetGeneration())
	object.SetCreationTimestamp(before.object.GetCreationTimestamp())
	object.SetDeletionTimestamp(before.object.GetDeletionTimestamp())
	if status, set := before.object.Object["status"]; set {
		object.Object["status"] = status
	}
	return object
}

// delete deletes an object, or marks it.
func (c *Cluster) delete(r Request, condition *metav1.Preconditions) (string, error) {
	before := c.objects[r.Object]
	if before == nil {
		return "", statusError(404, r, "")
	}
	if condition != nil {
		if condition.UID != nil && *condition.UID != before.object.GetUID() {
			return "", statusError(409, r, "the UID in the precondition does not match")
		}
		if condition.ResourceVersion != nil && *condition.ResourceVersion != before.object.GetResourceVersion() {
			return "", statusError(409, r, "the ResourceVersion in the precondition does not match")
		}
	}
	if len(before.object.GetFinalizers()) == 0 {
		c.remove(r.Object)
		return "deleted", nil
	}
	if before.object.GetDeletionTimestamp() == nil {
		next := before.clone()
		now := metav1.NewTime(c.now)
		next.object.SetDeletionTimestamp(&now)
		c.store(r.Object, before, next)
	}
	return "marked for deletion", nil
}

// validate refuses what no API server takes.
func validate(r Request, object *unstructured.Unstructured) error {
	controllers := slices.DeleteFunc(object.GetOwnerReferences(), func(ref metav1.OwnerReference) bool { return ref.Controller == nil || !*ref.Controller })
	if len(controllers) > 1 {
		return statusError(422, r, "metadata.ownerReferences: Only one reference can have Controller set to true")
	}
	if _, ok := meta.Accessor(object); ok != nil || r.Object.Name == "" {
		return statusError(422, r, "metadata.name: Required value")
	}
	return nil
}

// validateUpdate refuses another selector of a Deployment, as an example of what
// cannot be changed.
func validateUpdate(r Request, before, after *unstructured.Unstructured) error {
	if r.Object.GroupKind != deploymentKind {
		return nil
	}
	old, _, _ := unstructured.NestedFieldNoCopy(before.Object, "spec", "selector")
	next, _, _ := unstructured.NestedFieldNoCopy(after.Object, "spec", "selector")
	if equal(old, next) {
		return nil
	}
	return immutableField(r, "spec.selector", next)
}

// merge is a JSON merge patch. Identity and what only the API server sets stay.
func merge(content, patch map[string]any) {
	for name, value := range patch {
		fields, isMap := value.(map[string]any)
		current, wasMap := content[name].(map[string]any)
		switch {
		case value == nil:
			delete(content, name)
		case isMap && wasMap:
			merge(current, fields)
		case isMap:
			next := map[string]any{}
			merge(next, fields)
			content[name] = next
		default:
			content[name] = value
		}
	}
}

func ownable(l leaves) map[path]bool {
	fields := map[path]bool{}
	for p := range maps.Keys(l) {
		fields[p] = true
	}
	return fields
}
