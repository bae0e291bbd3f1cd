// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package plain

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
)

// Names of the phases, in their order. A phase waits for the probes of the one before,
// so Services stand with the pods that they need.
const (
	// PhaseFoundation has what the objects of the later phases need: namespaces, definitions,
	// classes.
	PhaseFoundation = "foundation"
	// PhaseConfig has what pods need to start: accounts, rights, configuration, volumes.
	PhaseConfig = "config"
	// PhaseWorkloads has what makes pods, and Services.
	PhaseWorkloads = "workloads"
	// PhaseRest has everything else, such as custom resources, webhooks and Ingresses: it
	// may need what the workloads serve.
	PhaseRest = "rest"
)

var phaseNames = []string{PhaseFoundation, PhaseConfig, PhaseWorkloads, PhaseRest}

var phaseOf = map[schema.GroupKind]string{
	{Kind: "Namespace"}: PhaseFoundation,
	definitionKind:      PhaseFoundation,
	{Group: "scheduling.k8s.io", Kind: "PriorityClass"}: PhaseFoundation,
	{Group: "storage.k8s.io", Kind: "StorageClass"}:     PhaseFoundation,
	{Group: "node.k8s.io", Kind: "RuntimeClass"}:        PhaseFoundation,

	{Kind: "ConfigMap"}:                                              PhaseConfig,
	{Kind: "LimitRange"}:                                             PhaseConfig,
	{Kind: "PersistentVolume"}:                                       PhaseConfig,
	{Kind: "PersistentVolumeClaim"}:                                  PhaseConfig,
	{Kind: "ResourceQuota"}:                                          PhaseConfig,
	{Kind: "Secret"}:                                                 PhaseConfig,
	{Kind: "ServiceAccount"}:                                         PhaseConfig,
	{Group: "networking.k8s.io", Kind: "NetworkPolicy"}:              PhaseConfig,
	{Group: "policy", Kind: "PodDisruptionBudget"}:                   PhaseConfig,
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}:        PhaseConfig,
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding"}: PhaseConfig,
	{Group: "rbac.authorization.k8s.io", Kind: "Role"}:               PhaseConfig,
	{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}:        PhaseConfig,

	{Kind: "Pod"}:                                           PhaseWorkloads,
	{Kind: "ReplicationController"}:                         PhaseWorkloads,
	{Kind: "Service"}:                                       PhaseWorkloads,
	{Group: "apps", Kind: "DaemonSet"}:                      PhaseWorkloads,
	{Group: "apps", Kind: "Deployment"}:                     PhaseWorkloads,
	{Group: "apps", Kind: "ReplicaSet"}:                     PhaseWorkloads,
	{Group: "apps", Kind: "StatefulSet"}:                    PhaseWorkloads,
	{Group: "batch", Kind: "CronJob"}:                       PhaseWorkloads,
	{Group: "batch", Kind: "Job"}:                           PhaseWorkloads,
	{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}: PhaseWorkloads,
}

// PhaseOf is the name of the phase that objects of a kind are rolled out in.
func PhaseOf(kind schema.GroupKind) string {
	if name, ok := phaseOf[kind]; ok {
		return name
	}
	return PhaseRest
}

// Phases sorts objects into phases and keeps their order within each. Phases without
// objects are left out. How an object is treated is said by the settings that select
// it, the last ones first, and else by its annotations; settings that select nothing
// are an error. The manifests are not changed: in what is returned the annotations are
// taken off, and a Secret's stringData stands in data. The error names the object, and
// quotes no value of a Secret.
func Phases(objects []*unstructured.Unstructured, protection v1alpha1.CollisionProtection, settings ...Settings) ([]content.Phase, error) {
	byName := map[string][]content.Object{}
	idle := map[int]bool{}
	for i := range settings {
		idle[i] = true
	}
	for _, object := range objects {
		own, err := settingsOf(object.GetAnnotations())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", NameOf(object), err)
		}
		for i := range settings {
			if settings[i].selects(object) {
				own = settings[i].over(own)
				delete(idle, i)
			}
		}
		object = withoutAnnotations(object)
		if content.IsSecret(object) {
			object = object.DeepCopy()
			if err := EncodeStringData(object); err != nil {
				return nil, err
			}
		}
		name := cmp.Or(own.Phase, PhaseOf(object.GroupVersionKind().GroupKind()))
		byName[name] = append(byName[name], content.Object{
			Manifest: object, CollisionProtection: own.CollisionProtection, Deletion: own.Deletion,
			OnImmutableChange: own.OnImmutableChange, UnmanagedFields: own.UnmanagedFields,
			ExclusiveFields: own.ExclusiveFields, UpdatePhase: own.UpdatePhase, CreateOnce: own.CreateOnce == "true",
		})
	}
	for i := range settings {
		if idle[i] {
			return nil, fmt.Errorf("settings[%d] select no object: there is no %s", i, cmp.Or(settings[i].String(), "object"))
		}
	}
	var phases []content.Phase
	for _, name := range phaseNames {
		if len(byName[name]) > 0 {
			phases = append(phases, content.Phase{Name: name, CollisionProtection: protection, Objects: byName[name]})
		}
	}
	return phases, nil
}

// EncodeStringData turns a Secret's stringData into data, as an API server does:
// otherwise the apply would own fields that are not in the object.
func EncodeStringData(object *unstructured.Unstructured) error {
	plain, found, err := unstructured.NestedStringMap(object.Object, "stringData")
	if err != nil {
		// The error would quote the value.
		return fmt.Errorf("reading Secret %s/%s: stringData holds something other than text", object.GetNamespace(), object.GetName())
	}
	if !found {
		return nil
	}
	data, _, err := unstructured.NestedStringMap(object.Object, "data")
	if err != nil {
		return fmt.Errorf("reading Secret %s/%s: data holds something other than text", object.GetNamespace(), object.GetName())
	}
	if data == nil {
		data = map[string]string{}
	}
	for key, value := range plain {
		data[key] = base64.StdEncoding.EncodeToString([]byte(value))
	}
	unstructured.RemoveNestedField(object.Object, "stringData")
	return unstructured.SetNestedStringMap(object.Object, data, "data")
}

// maxImages is how many images an origin may list.
const maxImages = 64

// Images are the images of the pods in the objects, sorted; the first 64 of them.
func Images(objects []*unstructured.Unstructured) []string {
	var images []string
	for _, object := range objects {
		if PhaseOf(object.GroupVersionKind().GroupKind()) == PhaseWorkloads {
			collectImages(object.Object, &images)
		}
	}
	slices.Sort(images)
	images = slices.Compact(images)
	return images[:min(len(images), maxImages)]
}

func collectImages(value any, images *[]string) {
	switch v := value.(type) {
	case map[string]any:
		for key, child := range v {
			if list, ok := child.([]any); ok && (key == "initContainers" || key == "containers") {
				for _, item := range list {
					container, _ := item.(map[string]any)
					if image, _ := container["image"].(string); image != "" {
						*images = append(*images, image)
					}
				}
				continue
			}
			collectImages(child, images)
		}
	case []any:
		for _, child := range v {
			collectImages(child, images)
		}
	}
}
