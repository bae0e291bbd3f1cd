// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package helmimport

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/check/diff"
	"github.com/strata-run/strata/internal/content/plain"
)

// Helm's marks on objects.
const (
	annotationReleaseName      = "meta.helm.sh/release-name"
	annotationReleaseNamespace = "meta.helm.sh/release-namespace"
	labelManagedBy             = "app.kubernetes.io/managed-by"
	managedByHelm              = "Helm"
)

// mostFields is how many changed fields of one object are shown.
const mostFields = 8

// kindsOf are the kinds that CustomResourceDefinitions among the objects bring, and
// whether objects of them have a namespace.
func kindsOf(objects []Object) map[schema.GroupKind]bool {
	kinds := map[schema.GroupKind]bool{}
	for i := range objects {
		manifest := objects[i].Manifest
		if manifest.GetKind() != "CustomResourceDefinition" {
			continue
		}
		text := func(fields ...string) string {
			value, _, _ := unstructured.NestedString(manifest.Object, fields...)
			return value
		}
		kinds[schema.GroupKind{Group: text("spec", "group"), Kind: text("spec", "names", "kind")}] = text("spec", "scope") == "Namespaced"
	}
	return kinds
}

// place puts an object into the namespace that Helm has created it in, and refuses
// one of a kind that is neither served nor brought by the release itself.
func (i *Importer) place(object *Object, namespace string, brought map[schema.GroupKind]bool) {
	manifest := object.Manifest
	kind := manifest.GroupVersionKind()
	namespaced, isBrought := brought[kind.GroupKind()]
	mapping, err := i.Client.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	switch {
	case err == nil:
		namespaced = mapping.Scope.Name() == meta.RESTScopeNameNamespace
	case !meta.IsNoMatchError(err):
		object.Action, object.Note = ActionRefuse, "has a kind that cannot be looked up: "+err.Error()
	case !isBrought || i.isServed(kind.GroupKind()):
		object.Action = ActionRefuse
		object.Note = fmt.Sprintf("is of a kind that the cluster does not serve (%s %s): install it, or upgrade the release to a version that is served", manifest.GetAPIVersion(), kind.Kind)
	}
	switch {
	case !namespaced:
		manifest.SetNamespace("")
	case manifest.GetNamespace() == "":
		manifest.SetNamespace(namespace)
	}
}

// isServed says whether a kind is served in any version.
func (i *Importer) isServed(kind schema.GroupKind) bool {
	_, err := i.Client.RESTMapper().RESTMapping(kind)
	return err == nil
}

// current reads an object, and says whether it exists.
func (i *Importer) current(ctx context.Context, manifest *unstructured.Unstructured) (*unstructured.Unstructured, bool, error) {
	current := &unstructured.Unstructured{}
	current.SetGroupVersionKind(manifest.GroupVersionKind())
	err := i.Client.Get(ctx, client.ObjectKeyFromObject(manifest), current)
	switch {
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return nil, false, nil
	case err != nil:
		return nil, false, fmt.Errorf("reading %s: %w", plain.NameOf(manifest), err)
	}
	return current, true, nil
}

// compare finds what the import does to an object.
func (i *Importer) compare(ctx context.Context, object *Object, release Release) error {
	if object.Action == ActionRefuse {
		return nil
	}
	current, found, err := i.current(ctx, object.Manifest)
	if err != nil {
		return err
	}
	if !found {
		object.Action = ActionCreate
		return nil
	}
	if current.GetDeletionTimestamp() != nil {
		object.Action, object.Note = ActionRefuse, "is being deleted: wait until it is gone"
		return nil
	}
	object.Owner = otherOwnerOf(current, release)
	applied, err := i.trial(ctx, object.Manifest)
	switch {
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		object.Action, object.Note = ActionRefuse, "cannot be applied as the release has it: "+withoutValues(object.Manifest, err)
		return nil
	case err != nil:
		return fmt.Errorf("comparing %s with the release: %w", plain.NameOf(object.Manifest), err)
	}
	object.judge(current, applied)
	return nil
}

// judge compares an object with what it would be.
func (o *Object) judge(current, applied *unstructured.Unstructured) {
	changed := differences(current, applied)
	o.Action, o.Fields = ActionAdopt, nil
	if len(changed) > 0 {
		o.Action, o.Fields = ActionUpdate, changed[:min(len(changed), mostFields)]
	}
	o.Pods = slices.ContainsFunc(changed, func(path string) bool { return movesPods(o.Manifest, path) })
}

// withoutValues is an error's text; that of a Secret may quote values.
func withoutValues(manifest *unstructured.Unstructured, err error) string {
	if manifest.GroupVersionKind() == secretKind {
		return "the API server refuses it (its answer is not shown, as it may quote values)"
	}
	return err.Error()
}

// trial is what an apply would make of an object that exists.
func (i *Importer) trial(ctx context.Context, manifest *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	data, err := json.Marshal(manifest.Object)
	if err != nil {
		return nil, fmt.Errorf("encoding: %w", err)
	}
	applied := &unstructured.Unstructured{}
	applied.SetGroupVersionKind(manifest.GroupVersionKind())
	applied.SetNamespace(manifest.GetNamespace())
	applied.SetName(manifest.GetName())
	err = i.Client.Patch(ctx, applied, client.RawPatch(types.ApplyPatchType, data), client.FieldOwner(v1alpha1.FieldOwner), client.ForceOwnership, client.DryRunAll)
	return applied, err
}

// otherOwnerOf is what else than this release owns an object, empty for nothing.
func otherOwnerOf(current *unstructured.Unstructured, release Release) string {
	if controller := metav1.GetControllerOf(current); controller != nil {
		return fmt.Sprintf("controlled by %s %s", controller.Kind, controller.Name)
	}
	if pkg := current.GetLabels()[v1alpha1.LabelPackage]; pkg != "" {
		return "of package " + pkg
	}
	annotations := current.GetAnnotations()
	name, namespace := annotations[annotationReleaseName], annotations[annotationReleaseNamespace]
	if name != "" && (name != release.Name || namespace != release.Namespace) {
		return "of Helm release " + namespace + "/" + name
	}
	return ""
}

// movesPods says whether a change of a field starts or stops pods.
func movesPods(manifest *unstructured.Unstructured, path string) bool {
	switch manifest.GroupVersionKind().GroupKind() {
	case schema.GroupKind{Group: "apps", Kind: "Deployment"}, schema.GroupKind{Group: "apps", Kind: "StatefulSet"},
		schema.GroupKind{Group: "apps", Kind: "DaemonSet"}, schema.GroupKind{Group: "apps", Kind: "ReplicaSet"},
		schema.GroupKind{Kind: "ReplicationController"}:
		return path == ".spec.replicas" || strings.HasPrefix(path, ".spec.template")
	case schema.GroupKind{Kind: "Pod"}:
		return strings.HasPrefix(path, ".spec")
	default:
		return false
	}
}

// ignored is metadata that every write changes.
var ignored = []string{"creationTimestamp", "generation", "managedFields", "resourceVersion", "uid"}

// differences are the paths at which two states of an object differ, sorted.
func differences(before, after *unstructured.Unstructured) []string {
	var paths []string
	for _, change := range diff.Values(withoutNoise(before), withoutNoise(after)) {
		paths = append(paths, change.Path)
	}
	slices.Sort(paths)
	return paths
}

// withoutNoise is an object without what every write changes, and without status.
func withoutNoise(object *unstructured.Unstructured) map[string]any {
	content := maps.Clone(object.Object)
	delete(content, "status")
	if metadata, ok := content["metadata"].(map[string]any); ok {
		metadata = maps.Clone(metadata)
		for _, field := range ignored {
			delete(metadata, field)
		}
		content["metadata"] = metadata
	}
	return content
}
