// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
	"github.com/strata-run/strata/internal/front"
)

// runtimes are the kinds that the newer runtime of OLM's controller keeps what it has installed in, as
// they are called now and before, with their resources.
var runtimes = []struct{ kind, resource string }{
	{"ClusterObjectSet", "clusterobjectsets"}, {"ClusterExtensionRevision", "clusterextensionrevisions"},
}

const (
	// finalizerTeardown is what OLM's controller sets on these objects.
	finalizerTeardown = "olm.operatorframework.io/teardown"
	// objectDataType is the type of the Secrets that it keeps objects in.
	objectDataType = "olm.operatorframework.io/object-data"
	// objectLimit bounds what an object in such a Secret may inflate to, in bytes.
	objectLimit = 10 << 20
)

// objectSet is a revision of OLM's newer runtime, as far as it is read.
type objectSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		LifecycleState string `json:"lifecycleState"`
		Revision       int64  `json:"revision"`
		Phases         []struct {
			Objects []struct {
				Object map[string]any `json:"object"`
				Ref    *objectRef     `json:"ref"`
			} `json:"objects"`
		} `json:"phases"`
	} `json:"spec"`
	Status struct {
		Conditions []metav1.Condition `json:"conditions"`
	} `json:"status"`
}

// objectRef is where an object is kept that does not stand in the set.
type objectRef struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	Key       string `json:"key"`
}

// sets are the revisions of a ClusterExtension by OLM's newer runtime, the newest first.
func (i *Importer) sets(ctx context.Context, ce *olmv1.ClusterExtension) ([]objectSet, error) {
	var all []objectSet
	for _, of := range runtimes {
		if !i.Defines(ctx, of.resource+"."+olmv1.GroupVersion.Group) {
			continue
		}
		for _, label := range []string{olmv1.LabelOwnerName, olmv1.LabelOwner} {
			found, err := i.list(ctx, of.kind, label, ce)
			if err != nil {
				return nil, err
			}
			all = append(all, found...)
		}
	}
	slices.SortFunc(all, func(a, b objectSet) int {
		return cmp.Or(cmp.Compare(b.Spec.Revision, a.Spec.Revision), cmp.Compare(a.UID, b.UID))
	})
	return slices.CompactFunc(all, func(a, b objectSet) bool { return a.UID == b.UID }), nil
}

// list reads the revisions of a kind that a label and an owner reference say are a ClusterExtension's.
func (i *Importer) list(ctx context.Context, kind, label string, ce *olmv1.ClusterExtension) ([]objectSet, error) {
	var labelled []client.ListOption
	if len(ce.Name) <= validation.LabelValueMaxLength {
		labelled = append(labelled, client.MatchingLabels{label: ce.Name})
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(olmv1.GroupVersion.WithKind(kind + "List"))
	if err := i.Live.List(ctx, list, labelled...); meta.IsNoMatchError(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("listing the objects of kind %s: %w", kind, err)
	}
	var found []objectSet
	for n := range list.Items {
		item := &list.Items[n]
		if !slices.ContainsFunc(item.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == ce.UID }) {
			continue // of a ClusterExtension that has gone
		}
		set := objectSet{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, &set); err != nil {
			return nil, set.unreadable("cannot be read: %v", err)
		}
		found = append(found, set)
	}
	return found, nil
}

// unreadable is the error of a set.
func (s *objectSet) unreadable(format string, args ...any) error {
	return &RefusedError{fmt.Sprintf("what OLM has installed cannot be imported: %s %s %s; have OLM's controller complete it, or leave the ClusterExtension to that controller",
		s.Kind, s.Name, fmt.Sprintf(format, args...))}
}

// ownersOf are the former owners of the objects of a ClusterExtension.
func ownersOf(ce *olmv1.ClusterExtension, sets []objectSet) []types.UID {
	owners := []types.UID{ce.UID}
	for n := range sets {
		owners = append(owners, sets[n].UID)
	}
	return owners
}

// fromSets is what the newest set that has succeeded says is installed.
func (i *Importer) fromSets(ctx context.Context, sets []objectSet) (is installation, found bool, err error) {
	n := slices.IndexFunc(sets, func(s objectSet) bool {
		return s.DeletionTimestamp == nil && s.Spec.LifecycleState != "Archived" && meta.IsStatusConditionTrue(s.Status.Conditions, "Succeeded")
	})
	if n < 0 {
		return is, false, nil
	}
	set := &sets[n]
	is = installation{description: set.Kind + " " + set.Name + " of OLM", labels: set.Annotations, unreadable: set.unreadable}
	kept := map[types.NamespacedName]*corev1.Secret{}
	for _, phase := range set.Spec.Phases {
		for _, of := range phase.Objects {
			text, err := json.Marshal(of.Object)
			if of.Ref != nil {
				text, err = i.referenced(ctx, set, *of.Ref, kept)
			}
			if err != nil {
				return is, false, err
			}
			object, ok := objectOf(text)
			if !ok {
				return is, false, set.unreadable("has an object that cannot be read")
			}
			is.objects = append(is.objects, object)
		}
	}
	if len(is.objects) == 0 {
		return is, false, set.unreadable("has no objects")
	}
	return is, true, nil
}

// referenced is an object that a Secret holds, as JSON. Secrets that were read are kept.
func (i *Importer) referenced(ctx context.Context, set *objectSet, ref objectRef, kept map[types.NamespacedName]*corev1.Secret) ([]byte, error) {
	key := types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}
	secret := kept[key]
	if secret == nil {
		secret = &corev1.Secret{}
		found, err := front.Found(i.Live.Get(ctx, key, secret))
		if err != nil {
			return nil, fmt.Errorf("reading Secret %s: %w", key, err)
		}
		if !found {
			return nil, set.unreadable("names Secret %s, which is missing", key)
		}
		kept[key] = secret
	}
	data := secret.Data[ref.Key]
	switch {
	case secret.Type != objectDataType:
		return nil, set.unreadable("names Secret %s, which is of type %.100q, not %s", key, secret.Type, objectDataType)
	case secret.Immutable == nil || !*secret.Immutable:
		return nil, set.unreadable("names Secret %s, which is not immutable", key)
	case len(data) == 0:
		return nil, set.unreadable("names Secret %s, which has no data.%.100s", key, ref.Key)
	case !bytes.HasPrefix(data, []byte{0x1f, 0x8b}):
		return data, nil
	}
	reader, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, set.unreadable("names Secret %s, whose data.%.100s is no gzip", key, ref.Key)
	}
	text, err := io.ReadAll(io.LimitReader(reader, objectLimit+1))
	if err != nil || len(text) > objectLimit {
		return nil, set.unreadable("names Secret %s, whose data.%.100s is no whole gzip, or inflates to more than %d bytes", key, ref.Key, objectLimit)
	}
	return text, nil
}

// releaseSets takes the finalizer of OLM's controller off sets whose objects are handed over: they go
// with the ClusterExtension, and that controller does not run.
func (i *Importer) releaseSets(ctx context.Context, sets []objectSet) error {
	for n := range sets {
		set := front.Metadata(sets[n].GroupVersionKind())
		set.SetName(sets[n].Name)
		set.SetFinalizers(sets[n].Finalizers)
		before := set.DeepCopy()
		if !controllerutil.RemoveFinalizer(set, finalizerTeardown) {
			continue
		}
		set.SetResourceVersion(sets[n].ResourceVersion)
		if err := i.Client.Patch(ctx, set, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("releasing %s %s: %w", set.Kind, set.Name, err)
		}
	}
	return nil
}
