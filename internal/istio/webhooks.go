// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istio

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// YieldWebhooks takes out of a webhook configuration what istiod fills in at run time, and
// does nothing with any other object. Applied with every revision, these would be a fight
// that blocks or opens admission each time. The failurePolicy of a mutating webhook stays:
// istiod does not touch it. The error says that the object is malformed.
func YieldWebhooks(o *unstructured.Unstructured) error {
	validating := o.GetKind() == "ValidatingWebhookConfiguration"
	if !validating && o.GetKind() != "MutatingWebhookConfiguration" {
		return nil
	}
	webhooks, _ := o.Object["webhooks"].([]any)
	for i, item := range webhooks {
		webhook, ok := item.(map[string]any)
		if !ok {
			return fmt.Errorf("%s %s: webhooks[%d] is not an object", o.GetKind(), o.GetName(), i)
		}
		unstructured.RemoveNestedField(webhook, "clientConfig", "caBundle")
		if validating {
			delete(webhook, "failurePolicy")
		}
	}
	return nil
}
