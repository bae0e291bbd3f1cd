// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"fmt"

	"github.com/aymanbagabas/go-udiff"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// Unified is the difference of two manifests as lines of YAML, with as many lines of
// context; empty when there is none. A nil manifest is an empty text.
func Unified(before, after *unstructured.Unstructured, names [2]string, context int) (string, error) {
	was, err := text(before)
	if err != nil {
		return "", err
	}
	is, err := text(after)
	if err != nil {
		return "", err
	}
	unified, err := udiff.ToUnified(names[0], names[1], was, udiff.Lines(was, is), context)
	if err != nil {
		return "", fmt.Errorf("comparing %s with %s: %w", names[0], names[1], err)
	}
	return unified, nil
}

func text(manifest *unstructured.Unstructured) (string, error) {
	if manifest == nil {
		return "", nil
	}
	data, err := yaml.Marshal(manifest.Object)
	if err != nil {
		return "", fmt.Errorf("encoding %s %s: %w", manifest.GetKind(), manifest.GetName(), err)
	}
	return string(data), nil
}
