// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// content is the content of a manifest or of a part of one.
type content = map[string]any

// manifest is an object with some metadata set besides its name.
func manifest(apiVersion, kind, namespace, name string, metadata content) *unstructured.Unstructured {
	own := content{"name": name}
	if namespace != "" {
		own["namespace"] = namespace
	}
	maps.Copy(own, metadata)
	return &unstructured.Unstructured{Object: content{"apiVersion": apiVersion, "kind": kind, "metadata": own}}
}

// with sets a field at the top of an object.
func with(obj *unstructured.Unstructured, field string, value any) *unstructured.Unstructured {
	obj.Object[field] = value
	return obj
}

func settings() *unstructured.Unstructured {
	return with(manifest("v1", "ConfigMap", "app", "settings", nil), "data", content{"color": "blue"})
}
