// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"fmt"

	"github.com/strata-run/strata/revisions/probes"
)

// FieldPath names fields of a manifest. The zero FieldPath names none.
type FieldPath struct {
	pattern probes.Pattern
}

// String is the path in its one canonical spelling.
func (p FieldPath) String() string { return p.pattern.String() }

// identity are fields without which a manifest names no object.
var identity = []string{".apiVersion", ".kind", ".metadata", ".metadata.name", ".metadata.namespace"}

// ParseFieldPath reads a path such as .spec.replicas,
// .metadata.annotations['example.com/note'], .webhooks[*].clientConfig.caBundle or
// .spec.template.spec.containers[name=main].image. The error says where it cannot
// be read, or that an object cannot do without the field.
func ParseFieldPath(text string) (FieldPath, error) {
	pattern, err := probes.ParsePattern(text)
	if err != nil {
		return FieldPath{}, fmt.Errorf("reading the field path: %w", err)
	}
	for _, field := range identity {
		if pattern.String() == field {
			return FieldPath{}, fmt.Errorf("%s says which object it is, and cannot be left out", field)
		}
	}
	return FieldPath{pattern: pattern}, nil
}
