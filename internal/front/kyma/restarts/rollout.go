// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
)

// TemplateOf identifies the pod template of a workload. Restarts of ours do not change it.
func TemplateOf(o *unstructured.Unstructured) string {
	found, _, _ := unstructured.NestedFieldNoCopy(o.Object, "spec", "template")
	template, _ := found.(map[string]any)
	metadata, _ := template["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	own := map[string]any{}
	for key, value := range annotations {
		if key != v1alpha2.AnnotationRestartedAt {
			own[key] = value
		}
	}
	data, err := json.Marshal([]any{template["spec"], metadata["labels"], own})
	if err != nil {
		return "" // what has come as JSON can be encoded
	}
	return digest(string(data))
}
