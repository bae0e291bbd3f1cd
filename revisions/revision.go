// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-run/strata/revisions/probes"
)

// CollisionProtection says what to do with an object that exists already and is
// not the owner's.
type CollisionProtection string

const (
	// CollisionPrevent refuses every object that the owner did not create. It is
	// the default.
	CollisionPrevent CollisionProtection = "Prevent"
	// CollisionIfNoController adopts an object that no controller owns.
	CollisionIfNoController CollisionProtection = "IfNoController"
	// CollisionNone adopts the object from its controller.
	CollisionNone CollisionProtection = "None"
)

// Owner is the one that all revisions of a history share, and the controller of
// every object that is not retained. It is proven by UID.
type Owner struct {
	// APIVersion, Kind and Name make up the owner reference.
	APIVersion, Kind, Name string
	// Namespace is that of the owner object, empty for one that has none. Only a reader of the owner
	// needs it, such as the RollOut of package cache.
	Namespace string
	// UID is that of the owner object. Required.
	UID types.UID
	// Label is put on every object, with the owner's name as its value. Required.
	Label string
	// FieldOwner is the field manager of every write, see [DefaultFieldOwner]. Another one
	// does not know the objects that were applied with the one before.
	FieldOwner string
}

// manager is the field manager of every write.
func (o Owner) manager() string { return cmp.Or(o.FieldOwner, DefaultFieldOwner) }

// validate says which required field is missing.
func (o Owner) validate() error {
	if o.APIVersion == "" || o.Kind == "" || o.Name == "" || o.UID == "" || o.Label == "" {
		return fmt.Errorf("the owner %s %q lacks one of apiVersion, kind, name, UID and label", cmp.Or(o.Kind, "of no kind"), o.Name)
	}
	return nil
}

// Reference is the owner reference that managed objects carry. It does not block
// the owner's deletion: a deletion with --cascade=foreground would let the garbage
// collector delete all objects at once, in no order, before the teardown can.
func (o Owner) Reference() metav1.OwnerReference {
	yes, no := true, false
	return metav1.OwnerReference{
		APIVersion: o.APIVersion, Kind: o.Kind, Name: o.Name, UID: o.UID,
		Controller: &yes, BlockOwnerDeletion: &no,
	}
}

// ObjectID names an object, whatever API version it is written in: the same
// object in two versions is one object.
type ObjectID struct {
	schema.GroupKind

	Namespace, Name string
}

// IDOf is the identity of an object.
func IDOf(obj *unstructured.Unstructured) ObjectID {
	return ObjectID{
		GroupKind: obj.GroupVersionKind().GroupKind(),
		Namespace: obj.GetNamespace(), Name: obj.GetName(),
	}
}

// String is the identity as people write it: "Deployment.apps ns/name".
func (id ObjectID) String() string {
	if id.Namespace == "" {
		return id.GroupKind.String() + " " + id.Name
	}
	return id.GroupKind.String() + " " + id.Namespace + "/" + id.Name
}

// Object is one manifest and how to treat it.
type Object struct {
	// Manifest is what to apply. The engine never changes it.
	Manifest *unstructured.Unstructured
	// CollisionProtection is [CollisionPrevent] when empty.
	CollisionProtection CollisionProtection
	// Retain leaves the object in place when it is no longer wanted, and puts no
	// owner reference on it.
	Retain bool
	// DeleteUnused makes an exception from Retain for a CustomResourceDefinition that is the
	// owner's and of which no custom resource is found: it is deleted.
	DeleteUnused bool
	// Unmanaged are fields that are left out of every write.
	Unmanaged []FieldPath
	// Exclusive are fields at and below which there is nothing but what the manifest has:
	// what another manager adds there is drift and is removed. Unmanaged fields are left
	// out.
	Exclusive []FieldPath
	// UpdatePhase is the name of a later phase, in which an object that is the owner's
	// already is brought to new content. Until the target reaches it, the object stays as
	// it is, or as a serving revision has it. An object that is absent is created in its
	// own phase. Empty is its own phase.
	UpdatePhase string
	// ForwardOnly creates the object when it is absent, and never changes one that is
	// ours: a rollback does not take a CustomResourceDefinition back, as resources may
	// use what it has gained. A later revision changes it again.
	ForwardOnly bool
	// Replace deletes the object and creates it anew when a change needs another
	// value in a field that cannot be changed. Otherwise the change is refused.
	Replace bool
	// Once says that the object is created once for its content: when it is gone, it is
	// created again only when its content changes. A Job that has completed is treated so
	// without it.
	Once bool
	// Salt is mixed into the digest of the manifest that is put on record, so that the
	// record of a manifest with a secret cannot be used to check guesses.
	// Another salt counts as another content. Default none.
	Salt string
	// Probe says when the object is ready and lets the next phase start. Nil means
	// that it is as soon as it is in place.
	Probe probes.Probe
	// MinReady is how long the probe must be True without interruption before the object
	// counts as ready. 0 is at once. It needs [Rollout].Now.
	MinReady time.Duration
	// Within is how long the object may take to become ready. The engine hands it on
	// to who judges the rollout; 0 is no limit.
	Within time.Duration
	// Serving says whether the object still serves, which is less than ready: a
	// Deployment in the middle of a rolling update is not ready and serves. Nil
	// means that it does as soon as it is there.
	Serving probes.Probe

	// prepared is what is worked out once, see [Revision.Prepared]; nil before.
	prepared *prepared
}

// Phase is a group of objects that are applied together.
type Phase struct {
	// Name is unique in the revision.
	Name string
	// Objects are applied concurrently.
	Objects []Object
}

// Revision is one immutable content of a history.
type Revision struct {
	// Number orders the revisions of a history, from 1.
	Number int64
	// Phases are rolled out in order.
	Phases []Phase
	// Succeeded says that it had been rolled out completely. All its phases are
	// then kept, whatever the probes of the earlier ones say.
	Succeeded bool
	// Records are what is known of the objects that it has put in place.
	Records map[ObjectID]Record
	// Paused writes nothing for this revision, while the others of its history go on.
	// The result says what it would do.
	Paused bool
}

// Record is what is known of an object since it was applied.
type Record struct {
	// UID is that of the object.
	UID types.UID
	// Action is what the revision did to it first.
	Action Action
	// Content is a digest of the manifest that was applied, with label and owner.
	Content string
	// Fields is the digest of our managedFields entry after that, see [FieldsDigest].
	Fields string
	// State is that of the object then, see rewritten.go, or that it need not be compared.
	State string
	// IgnoredFields are fields of the manifest that are left to the managers that have set
	// them.
	IgnoredFields []string
	// ManifestValues are short digests of what the manifest sets in these fields.
	ManifestValues []string
	// Backoff is about an object that does not stay as it was left, nil for one that does.
	Backoff *DriftBackoff
	// Completed says that the object has done its work, as a Job does once.
	Completed bool
	// Earlier says that an older revision has put it in place, and not this one. Only the
	// engine sets it.
	Earlier bool
	// ReadySince is since when the probe is True without interruption, for an object
	// with MinReady; zero while it does not.
	ReadySince time.Time
}

// forbidden lists metadata that only the API server or the engine may set.
var forbidden = []string{"uid", "resourceVersion", "generation", "generateName", "managedFields", "ownerReferences", "finalizers", "deletionTimestamp"}

// Validate checks what can be known without a cluster: names, required fields,
// metadata that a manifest must not carry, and that no object stands in the
// revision twice. The error is a *ValidationError that lists every violation.
func (r Revision) Validate() error {
	v := &ValidationError{Revision: r.Number}
	if r.Number < 1 {
		v.addf("", "the revision's number is %d and must be at least 1", r.Number)
	}
	phases := map[string]bool{}
	seen := map[ObjectID]string{}
	for i, phase := range r.Phases {
		if phase.Name == "" {
			v.addf("", "phase %d has no name", i+1)
		} else if phases[phase.Name] {
			v.addf(phase.Name, "is in the revision twice: give each phase a unique name")
		}
		phases[phase.Name] = true
		for j, obj := range phase.Objects {
			validateObject(v, phase.Name, j, obj)
			if obj.Manifest == nil {
				continue
			}
			id := IDOf(obj.Manifest)
			if first, twice := seen[id]; twice {
				v.addf(phase.Name, "%s is in the revision twice, first in phase %s: remove one", id, first)
				continue
			}
			seen[id] = phase.Name
		}
	}
	r.validateUpdatePhases(v)
	return v.orNil()
}

// validateUpdatePhases checks that objects are updated in later phases than their own.
func (r Revision) validateUpdatePhases(v *ValidationError) {
	later := map[string]bool{}
	for _, phase := range slices.Backward(r.Phases) {
		for _, object := range phase.Objects {
			if object.Manifest != nil && object.UpdatePhase != "" && !later[object.UpdatePhase] {
				v.addf(phase.Name, "%s has the updatePhase %q: name a phase that comes after %s", describe(object.Manifest), object.UpdatePhase, phase.Name)
			}
		}
		later[phase.Name] = true
	}
}

func validateObject(v *ValidationError, phase string, index int, obj Object) {
	if obj.Manifest == nil {
		v.addf(phase, "object %d has no manifest", index)
		return
	}
	m := obj.Manifest
	for field, value := range map[string]string{"apiVersion": m.GetAPIVersion(), "kind": m.GetKind(), "metadata.name": m.GetName()} {
		if value == "" {
			v.addf(phase, "object %d (%s) has no %s", index, describe(m), field)
		}
	}
	if _, err := schema.ParseGroupVersion(m.GetAPIVersion()); err != nil {
		v.addf(phase, "%s has the apiVersion %q: write group/version, or version alone for the core group", describe(m), m.GetAPIVersion())
	}
	for _, field := range []string{"labels", "annotations"} {
		if !isStringMap(m, field) {
			v.addf(phase, "%s has a value in metadata.%s that is not a string: quote it", describe(m), field)
		}
	}
	for _, field := range forbidden {
		if _, set, _ := unstructured.NestedFieldNoCopy(m.Object, "metadata", field); set {
			v.addf(phase, "%s sets metadata.%s, which a manifest must not: remove it", describe(m), field)
		}
	}
	switch obj.CollisionProtection {
	case "", CollisionPrevent, CollisionIfNoController, CollisionNone:
	default:
		v.addf(phase, "%s has the unknown collision protection %q: use Prevent, IfNoController or None", describe(m), obj.CollisionProtection)
	}
}

// isStringMap says whether a field of the metadata is a map of strings, or has no
// value.
func isStringMap(obj *unstructured.Unstructured, field string) bool {
	value, _, _ := unstructured.NestedFieldNoCopy(obj.Object, "metadata", field)
	entries, isMap := value.(map[string]any)
	for _, entry := range entries {
		if _, ok := entry.(string); !ok {
			return false
		}
	}
	return isMap || value == nil
}

func describe(obj *unstructured.Unstructured) string {
	return fmt.Sprintf("%s %s", cmp.Or(obj.GetKind(), "object"), cmp.Or(obj.GetName(), "without a name"))
}
