// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// lastApplied is the annotation in which kubectl keeps a whole manifest.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// secretWord is found in the names of what is not to leave a cluster.
var secretWord = regexp.MustCompile(`(?i)^(--?[\w.-]*(?:password|passwd|token|secret|credential|api-?key|private-?key)[\w.-]*)=.+`)

// redact takes out of a manifest what may be confidential: the values of Secrets and
// ConfigMaps, of environment variables, and of arguments whose names sound like it.
// The manifest itself is not changed.
func redact(manifest *unstructured.Unstructured) *unstructured.Unstructured {
	clean := manifest.DeepCopy()
	annotations := clean.GetAnnotations()
	if _, found := annotations[lastApplied]; found {
		delete(annotations, lastApplied)
		clean.SetAnnotations(annotations)
	}
	if kind := clean.GetKind(); kind == "Secret" || kind == "ConfigMap" {
		for _, field := range []string{"data", "stringData", "binaryData"} {
			values, _ := clean.Object[field].(map[string]any)
			for key, value := range values {
				values[key] = redacted(value)
			}
		}
		return clean
	}
	for field, value := range clean.Object {
		if field != "metadata" {
			redactValues(value)
		}
	}
	return clean
}

// redacted stands for a value, and contains its size.
func redacted(value any) string {
	return fmt.Sprintf("<redacted, %d bytes>", len(fmt.Sprint(value)))
}

// redactValues goes through a manifest and takes out the values of environment
// variables and of arguments.
func redactValues(value any) {
	switch value := value.(type) {
	case map[string]any:
		for field, inner := range value {
			list, isList := inner.([]any)
			switch {
			case field == "env" && isList:
				redactEnvironment(list)
			case (field == "args" || field == "command") && isList:
				redactArguments(list)
			}
			redactValues(inner)
		}
	case []any:
		for _, inner := range value {
			redactValues(inner)
		}
	}
}

func redactArguments(list []any) {
	for i, argument := range list {
		if text, ok := argument.(string); ok {
			list[i] = secretWord.ReplaceAllString(text, "$1=<redacted>")
		}
	}
}

func redactEnvironment(list []any) {
	for _, entry := range list {
		variable, ok := entry.(map[string]any)
		if !ok {
			continue
		}
		if value, set := variable["value"]; set {
			variable["value"] = redacted(value)
		}
	}
}
