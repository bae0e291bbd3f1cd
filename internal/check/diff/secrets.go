// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"bytes"
	"encoding/json"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-run/strata/revisions/probes"
)

// What stands in place of a value of a Secret.
const (
	// Redacted is a value that is the same on both sides, or has no other side.
	Redacted = "<redacted>"
	// RedactedBefore and RedactedAfter are a value that differs.
	RedactedBefore = "<redacted: before>"
	RedactedAfter  = "<redacted: after>"
)

// secretFields are those of a Secret that hold values.
var secretFields = []string{"data", "stringData"}

// lastApplied is where kubectl keeps a whole manifest, with its values.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// Redact is a manifest without the values of a Secret; the manifest itself when it
// holds none. It is not changed.
func Redact(manifest *unstructured.Unstructured) *unstructured.Unstructured {
	redacted, _ := redactPair(manifest, nil)
	return redacted
}

// redactPair takes the values of Secrets out of both sides of a comparison.
func redactPair(before, after *unstructured.Unstructured) (was, is *unstructured.Unstructured) {
	return redactSide(before, after, RedactedBefore), redactSide(after, before, RedactedAfter)
}

func redactSide(manifest, other *unstructured.Unstructured, differs string) *unstructured.Unstructured {
	if manifest == nil || !probes.ContainsSecrets(manifest) {
		return manifest
	}
	redacted := manifest.DeepCopy()
	for _, name := range secretFields {
		fields, ok := redacted.Object[name].(map[string]any)
		if !ok {
			if _, set := redacted.Object[name]; set {
				redacted.Object[name] = Redacted
			}
			continue
		}
		var others map[string]any
		if other != nil {
			others, _ = other.Object[name].(map[string]any)
		}
		for key := range maps.Clone(fields) {
			value, both := others[key]
			if both && !sameText(value, fields[key]) {
				fields[key] = differs
			} else {
				fields[key] = Redacted
			}
		}
	}
	annotations := redacted.GetAnnotations()
	if _, set := annotations[lastApplied]; set {
		annotations[lastApplied] = Redacted
		redacted.SetAnnotations(annotations)
	}
	return redacted
}

func sameText(a, b any) bool {
	left, leftErr := json.Marshal(a)
	right, rightErr := json.Marshal(b)
	return leftErr == nil && rightErr == nil && bytes.Equal(left, right)
}
