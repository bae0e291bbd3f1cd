// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-run/strata/revisions"
)

// FuzzCheck checks a change from anything to anything: it comes to an end, sends
// nothing that has an effect, and finds no change where there is none.
func FuzzCheck(f *testing.F) {
	f.Add(`{"spec":{"selector":{"matchLabels":{"a":"b"}},"template":[1,null,{}]}}`, `{"spec":{"selector":[],"clusterIPs":["x",2]}}`)
	f.Add(`{"immutable":true,"data":{"a":"b"},"stringData":7}`, `{"immutable":"yes","stringData":{"a":3},"status":{},"metadata":{"labels":{"a":null}}}`)
	f.Add(`{"spec":{"resources":{"requests":{"storage":"1Gi"}},"hostPath":{}}}`, `{"spec":{"resources":{"requests":{"storage":-1e300}}},"roleRef":true}`)
	f.Fuzz(func(t *testing.T, before, after string) {
		var was, is map[string]any
		if json.Unmarshal([]byte(before), &was) != nil || json.Unmarshal([]byte(after), &is) != nil {
			return
		}
		for gk, list := range fixedFields {
			for _, field := range list {
				if d := field.differs(was, was); d != nil && field.path[0] != "stringData" {
					t.Errorf("%s: a value differs from itself: %+v", gk, d)
				}
				field.differs(is, was)
			}
			c := newChecked()
			old, target := named(was, gk.Group, gk.Kind), named(is, gk.Group, gk.Kind)
			serving := revisions.Revision{Number: 1, Succeeded: true, Phases: []revisions.Phase{{Name: "all", Objects: []revisions.Object{{Manifest: old}}}}}
			_ = c.Check(t.Context(), Input{Package: pkg(""), Serving: []revisions.Revision{serving}, Target: revisions.Revision{Number: 2, Phases: []revisions.Phase{{Name: "all", Objects: []revisions.Object{{Manifest: target}}}}}})
			c.requests(t)
		}
	})
}

// named is a manifest of a kind with this content.
func named(content map[string]any, group, kind string) *unstructured.Unstructured {
	object := (&unstructured.Unstructured{Object: content}).DeepCopy()
	if object.Object == nil {
		object.Object = map[string]any{}
	}
	version := "v1"
	if group != "" {
		version = group + "/v1"
	}
	object.Object["metadata"] = map[string]any{"namespace": "app", "name": "x"}
	object.SetAPIVersion(version)
	object.SetKind(kind)
	return object
}
