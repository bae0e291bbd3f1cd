// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istio

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestYieldWebhooks(t *testing.T) {
	cases := map[string]struct {
		reason string
		kind   string
		want   map[string]any
	}{
		"Mutating":   {reason: "istiod writes the CA bundle of a mutating webhook", kind: "MutatingWebhookConfiguration", want: map[string]any{"name": "w", "failurePolicy": "Fail", "clientConfig": map[string]any{"url": "u"}}},
		"Validating": {reason: "and of a validating one also the failurePolicy", kind: "ValidatingWebhookConfiguration", want: map[string]any{"name": "w", "clientConfig": map[string]any{"url": "u"}}},
		"Other":      {reason: "a field of that name elsewhere is something else", kind: "Deployment", want: map[string]any{"name": "w", "failurePolicy": "Fail", "clientConfig": map[string]any{"url": "u", "caBundle": "Yg=="}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := &unstructured.Unstructured{Object: map[string]any{
				"kind":     tc.kind,
				"webhooks": []any{map[string]any{"name": "w", "failurePolicy": "Fail", "clientConfig": map[string]any{"url": "u", "caBundle": "Yg=="}}},
			}}
			if err := YieldWebhooks(o); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]any{tc.want}, o.Object["webhooks"]); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
		})
	}
}
