// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// customResourceDefinitions are those of the bundle, with the conversion that the CSV has webhooks for.
func (g *rendering) customResourceDefinitions() ([]*unstructured.Unstructured, error) {
	objects := make([]*unstructured.Unstructured, 0, len(g.definitions))
	for _, source := range g.definitions {
		object := source.DeepCopy()
		object.SetNamespace("")
		for _, w := range g.csv.Spec.Webhooks {
			if w.Type == conversion && slices.Contains(w.ConversionCRDs, object.GetName()) {
				g.convert(object, w)
			}
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// convert has a webhook convert the resources of a definition.
func (g *rendering) convert(object *unstructured.Unstructured, w webhook) {
	path := "/"
	if w.WebhookPath != nil {
		path = cmp.Or(*w.WebhookPath, path)
	}
	spec, isObject := object.Object["spec"].(map[string]any)
	if !isObject {
		return
	}
	versions := make([]any, 0, len(w.AdmissionReviewVersions))
	for _, version := range w.AdmissionReviewVersions {
		versions = append(versions, version)
	}
	spec["conversion"] = map[string]any{
		"strategy": "Webhook",
		"webhook": map[string]any{
			"clientConfig": map[string]any{"service": map[string]any{
				"namespace": g.target.Namespace, "name": serviceName(w.DeploymentName), "path": path, "port": int64(w.port()),
			}},
			"conversionReviewVersions": versions,
		},
	}
	annotations := object.GetAnnotations()
	for key, value := range g.injection(w.DeploymentName) {
		annotations = with(annotations, key, value)
	}
	object.SetAnnotations(annotations)
}
