// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-run/strata/revisions/probes"
)

// secretStringData moves a Secret's stringData into data, where the API server
// keeps it. Our managedFields entry would name stringData otherwise, and a
// changed value would go unseen. A Secret that is not well formed is left to the
// API server to refuse.
func secretStringData(content map[string]any) {
	if content["kind"] != "Secret" || content["apiVersion"] != "v1" {
		return
	}
	text, ok := content["stringData"].(map[string]any)
	if !ok {
		return
	}
	encoded := map[string]any{}
	switch data := content["data"].(type) {
	case nil:
	case map[string]any:
		encoded = maps.Clone(data)
	default:
		return
	}
	for key, value := range text {
		plain, ok := value.(string)
		if !ok {
			return
		}
		encoded[key] = base64.StdEncoding.EncodeToString([]byte(plain))
	}
	content["data"] = encoded
	delete(content, "stringData")
}

// secretError is an error about a Secret. An API server quotes the values that it
// does not take, so of its answer only the reason is kept.
type secretError struct{ err error }

// Error is the reason of the API server's answer.
func (e secretError) Error() string {
	reason := string(apierrors.ReasonForError(e.err))
	if reason == "" {
		reason = "without a reason, as for an object that does not fit its schema"
	}
	return fmt.Sprintf("the API server answered %s; the rest of the answer is left out, as it may quote the Secret", reason)
}

// Unwrap is the whole error, by which errors are classified.
func (e secretError) Unwrap() error { return e.err }

// withoutValues is an error that may be shown, of a request about an object.
func withoutValues(obj *unstructured.Unstructured, err error) error {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) || !probes.ContainsSecrets(obj) {
		return err
	}
	return secretError{err}
}
