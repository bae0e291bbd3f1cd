// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"encoding/base64"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// secretStringData moves a Secret's stringData into data, where the API server
// keeps it. Our managedFields entry would name stringData otherwise, and a
// changed value would go unseen.
func secretStringData(obj *unstructured.Unstructured) {
	if obj.GetKind() != "Secret" || obj.GetAPIVersion() != "v1" {
		return
	}
	text, _, err := unstructured.NestedStringMap(obj.Object, "stringData")
	if err != nil || len(text) == 0 {
		return
	}
	data, _, err := unstructured.NestedStringMap(obj.Object, "data")
	if err != nil {
		return
	}
	if data == nil {
		data = map[string]string{}
	}
	for key, value := range text {
		data[key] = base64.StdEncoding.EncodeToString([]byte(value))
	}
	encoded := map[string]any{}
	for key, value := range data {
		encoded[key] = value
	}
	obj.Object["data"] = encoded
	unstructured.RemoveNestedField(obj.Object, "stringData")
}
