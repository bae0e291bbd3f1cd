// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cabundle

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front/istiocsr/trust"
)

// fieldOwner is the field manager of what fronts write themselves.
const fieldOwner = "strata-front"

// writeAll writes a bundle into the copies, and returns the versions of what it has written.
// That of the IstioCSR comes first: what keeps another one from being written is no reason
// to be without it.
func (k *Keeper) writeAll(ctx context.Context, request Request, f found, bundle trust.Bundle) (map[object]string, error) {
	written := map[object]string{}
	// An empty bundle is never written: an agent without CAs serves no workload, one with
	// old CAs serves most.
	if len(bundle) == 0 {
		return written, nil
	}
	err := k.writePlace(ctx, f.own, request.Labels, bundle, written)
	for _, left := range f.left {
		if err == nil && left.ours() != nil {
			err = k.writePlace(ctx, left, left.labels(), bundle, written)
		}
	}
	return written, err
}

// writePlace writes the spare and then the copy: so the spare is never behind what an agent
// may have read.
func (k *Keeper) writePlace(ctx context.Context, p place, labels map[string]string, bundle trust.Bundle, written map[object]string) error {
	for _, target := range []struct {
		object  object
		current *corev1.ConfigMap
	}{{spareIn(p.namespace), p.spare}, {copyIn(p.namespace), p.copy}} {
		version, err := k.write(ctx, target.current, desired(target.object, labels, bundle))
		if err != nil {
			return fmt.Errorf("applying %s: %w", target.object, err)
		}
		if written[target.object] = version; version != "" {
			logr.FromContextOrDiscard(ctx).Info("Wrote the CAs of the mesh", "ConfigMap", target.object.NamespacedName.String(), "cas", len(bundle))
		}
	}
	if p.copy == nil || p.copy.Data[Key] != string(bundle.PEM()) {
		k.prompt(ctx, p.namespace, bundle)
	}
	return nil
}

// write makes a ConfigMap what is desired, if it is not, and returns its version then.
// A write by another client in the meantime is a conflict.
func (k *Keeper) write(ctx context.Context, current *corev1.ConfigMap, desired *unstructured.Unstructured) (version string, err error) {
	switch {
	case current == nil:
	case upToDate(current, desired):
		return "", nil
	case current.Immutable != nil && *current.Immutable:
		// Its data can only be changed by making it anew. The agent keeps what it has
		// read in the meantime.
		if err := k.remove(ctx, current); err != nil {
			return "", err
		}
	default:
		desired.SetResourceVersion(current.ResourceVersion)
	}
	err = k.Writer.Apply(ctx, client.ApplyConfigurationFromUnstructured(desired), client.FieldOwner(fieldOwner), client.ForceOwnership)
	return desired.GetResourceVersion(), err
}

// remove deletes a ConfigMap as it was read.
func (k *Keeper) remove(ctx context.Context, current *corev1.ConfigMap) error {
	err := k.Writer.Delete(ctx, current, client.Preconditions{UID: &current.UID, ResourceVersion: &current.ResourceVersion})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting ConfigMap %s/%s: %w", current.Namespace, current.Name, err)
	}
	return nil
}

// desired is what we apply.
func desired(target object, labels map[string]string, bundle trust.Bundle) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1",
		"kind":       kindConfigMap,
		"data":       map[string]any{Key: string(bundle.PEM())},
	}}
	object.SetNamespace(target.Namespace)
	object.SetName(target.Name)
	object.SetLabels(labels)
	if record := bundle.Record(); record != "" {
		object.SetAnnotations(map[string]string{v1alpha1.AnnotationLeavingCAs: record})
	}
	return object
}

// upToDate says whether an apply would change nothing: neither a value, nor what is ours.
func upToDate(current *corev1.ConfigMap, desired *unstructured.Unstructured) bool {
	text, _, _ := unstructured.NestedString(desired.Object, "data", Key)
	ours := owned(current)
	return ours.data && current.Data[Key] == text &&
		holdsAll(current.Labels, ours.labels, desired.GetLabels()) &&
		holdsAll(current.Annotations, ours.annotations, desired.GetAnnotations())
}

// holdsAll says whether the wanted pairs are there, and we own them and no others.
func holdsAll(current map[string]string, ours []string, wanted map[string]string) bool {
	if !slices.Equal(ours, slices.Sorted(maps.Keys(wanted))) {
		return false
	}
	for key, value := range wanted {
		if got, ok := current[key]; !ok || got != value {
			return false
		}
	}
	return true
}

// ownership is what of a ConfigMap was applied by us last, and not changed by another
// manager since.
type ownership struct {
	// data says so of the CAs.
	data bool
	// labels and annotations are keys, sorted.
	labels, annotations []string
}

// owned reads it from our entry in managedFields, which loses a field exactly when
// another manager changes or removes it.
func owned(current *corev1.ConfigMap) ownership {
	var ours ownership
	for _, entry := range current.ManagedFields {
		if entry.Manager != fieldOwner || entry.Operation != metav1.ManagedFieldsOperationApply || entry.FieldsV1 == nil {
			continue
		}
		var fields struct {
			Data     map[string]any `json:"f:data"`
			Metadata struct {
				Labels      map[string]any `json:"f:labels"`
				Annotations map[string]any `json:"f:annotations"`
			} `json:"f:metadata"`
		}
		if json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields) != nil {
			continue
		}
		_, ours.data = fields.Data["f:"+Key]
		ours.labels, ours.annotations = names(fields.Metadata.Labels), names(fields.Metadata.Annotations)
	}
	return ours
}

// names are the keys of a set of fields, sorted.
func names(fields map[string]any) []string {
	var list []string
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		// The set itself is an entry as well, called by a dot.
		if name, isField := strings.CutPrefix(field, "f:"); isField {
			list = append(list, name)
		}
	}
	return list
}
