// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package servicemesh

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/internal/istio"
)

// patch lays the component's settings over one of its objects, and marks it as ours.
func (c component) patch(o *unstructured.Unstructured) error {
	switch o.GetKind() {
	case "Deployment", "DaemonSet":
		if err := c.patchWorkload(o); err != nil {
			return err
		}
	case "HorizontalPodAutoscaler":
		laid(o.Object, c.k8s["hpaSpec"], "spec")
	case "PodDisruptionBudget":
		patchBudget(o, c.k8s)
	case "Service":
		laid(o.Object, c.k8s["serviceAnnotations"], "metadata", "annotations")
		laid(o.Object, c.k8s["service"], "spec")
	}
	c.patchPaths(o)
	return mark(o)
}

// patchPaths sets the values at paths that the component's settings name for the object.
func (c component) patchPaths(o *unstructured.Unstructured) {
	overlays, _ := c.k8s["overlays"].([]any)
	for _, item := range overlays {
		over, _ := item.(tree)
		if over["kind"] != o.GetKind() || over["name"] != o.GetName() {
			continue
		}
		patches, _ := over["patches"].([]any)
		for _, item := range patches {
			patch, _ := item.(tree)
			path, _ := patch["path"].(string)
			put(o.Object, patch["value"], keysOf(path)...)
		}
	}
}

// keysOf are the keys of a path such as metadata.labels.example\.com/name.
func keysOf(path string) []string {
	var keys []string
	for key := range strings.SplitSeq(strings.ReplaceAll(path, `\.`, "\x00"), ".") {
		keys = append(keys, strings.ReplaceAll(key, "\x00", "."))
	}
	return keys
}

// laid lays settings over the map at a path.
func laid(root tree, settings any, path ...string) {
	over, ok := settings.(tree)
	if !ok || len(over) == 0 {
		return
	}
	last := len(path) - 1
	parent := at(root, path[:last]...)
	parent[path[last]] = overlay(at(parent, path[last]), over)
}

// patchBudget replaces what a budget bounds, of which there may be one only.
func patchBudget(o *unstructured.Unstructured, k8s tree) {
	budget, _ := k8s["podDisruptionBudget"].(tree)
	if _, ok := budget["maxUnavailable"]; ok {
		unstructured.RemoveNestedField(o.Object, "spec", "minAvailable")
	}
	laid(o.Object, budget, "spec")
}

// patchWorkload lays settings over a Deployment or DaemonSet.
func (c component) patchWorkload(o *unstructured.Unstructured) error {
	template := at(o.Object, "spec", "template")
	pod := at(template, "spec")
	containers, _ := pod["containers"].([]any)
	i := slices.IndexFunc(containers, func(item any) bool {
		m, _ := item.(tree)
		return m["name"] == c.container
	})
	if i < 0 {
		return fmt.Errorf("there is no container %s", c.container)
	}
	container, _ := containers[i].(tree)
	laid(container, c.k8s["resources"], "resources")
	env, _ := c.k8s["env"].([]any)
	for _, item := range env {
		m, _ := item.(tree)
		name, _ := m["name"].(string)
		variable := entry(container, name, "env")
		delete(variable, "valueFrom")
		variable["value"] = m["value"]
	}
	laid(o.Object, c.k8s["strategy"], "spec", "strategy")
	laid(template, c.k8s["podAnnotations"], "metadata", "annotations")
	laid(pod, c.k8s["securityContext"], "securityContext")
	laid(pod, c.k8s["affinity"], "affinity")
	put(template, v1alpha2.ModuleName, "metadata", "labels", v1alpha2.LabelModule)
	return nil
}

// mark makes an object as it must stand in a revision: with the names that tell whose it is,
// and without what istiod writes itself.
func mark(o *unstructured.Unstructured) error {
	put(o.Object, v1alpha2.ModuleName, "metadata", "labels", v1alpha2.LabelModule)
	put(o.Object, disclaimer, "metadata", "annotations", v1alpha2.AnnotationDisclaimer)
	return istio.YieldWebhooks(o)
}
