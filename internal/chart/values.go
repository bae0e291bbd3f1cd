// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"

	"helm.sh/helm/v4/pkg/strvals"
	"sigs.k8s.io/yaml"
)

// ReadValues reads a file of values. Name is what errors call it.
func ReadValues(name string, data []byte) (map[string]any, error) {
	values := map[string]any{}
	if err := yaml.Unmarshal(data, &values); err != nil {
		return nil, fmt.Errorf("reading values of %s: %w", name, oneLine(err))
	}
	return values, nil
}

// MergeValues lays values over others, which it changes and returns: maps are merged,
// everything else is replaced.
func MergeValues(base, over map[string]any) map[string]any {
	for key, value := range over {
		was, isMap := base[key].(map[string]any)
		is, areMaps := value.(map[string]any)
		if isMap && areMaps {
			base[key] = MergeValues(was, is)
			continue
		}
		base[key] = value
	}
	return base
}

// SetValue sets values as Helm's --set does: "a.b=1,c[0]=x".
func SetValue(values map[string]any, expression string) error {
	if err := strvals.ParseInto(expression, values); err != nil {
		return fmt.Errorf("setting %q: %w", expression, err)
	}
	return nil
}
