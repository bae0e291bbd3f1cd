// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package kyma

import (
	"cmp"
	"fmt"
	"regexp"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
)

// Oldest is the resource that describes the mesh: of those in the right namespace that are
// not being deleted the one that was made first, and among those of the same second the
// first by name. Nil when there is none.
func Oldest(resources []*v1alpha2.Istio) *v1alpha2.Istio {
	var oldest *v1alpha2.Istio
	for _, istio := range resources {
		if istio.Namespace != v1alpha2.Namespace || !istio.DeletionTimestamp.IsZero() {
			continue
		}
		if oldest == nil || cmp.Or(istio.CreationTimestamp.Compare(oldest.CreationTimestamp.Time), cmp.Compare(istio.Name, oldest.Name)) < 0 {
			oldest = istio
		}
	}
	return oldest
}

// ValidationError says which field of an Istio resource has a value that cannot be used.
type ValidationError struct {
	// Field is its path, such as spec.config.authorizers[1].name.
	Field string
	// Problem says what is wrong with it, and what would be right.
	Problem string
	// Warn says that the mesh can be left as it is without harm: the state is Warning
	// rather than Error.
	Warn bool
}

// Error names the field.
func (e *ValidationError) Error() string { return e.Field + " " + e.Problem }

// Validate checks what the API server does not. The error is a [ValidationError].
func Validate(istio *v1alpha2.Istio, experimental bool) error {
	if istio.Spec.Experimental != nil && !experimental {
		return &ValidationError{Field: "spec.experimental", Problem: "is set, and experimental features are off: remove it, or start the manager with --kyma-experimental"}
	}
	first := map[string]int{}
	for i, a := range istio.Spec.Config.Authorizers {
		field := fmt.Sprintf("spec.config.authorizers[%d]", i)
		if a == nil {
			return &ValidationError{Field: field, Problem: "is null: remove it", Warn: true}
		}
		if j, taken := first[a.Name]; taken {
			return &ValidationError{Field: field + ".name", Problem: fmt.Sprintf("is %q as that of authorizers[%d]: names must be unique", a.Name, j), Warn: true}
		}
		first[a.Name] = i
		if a.Timeout != nil && a.Timeout.Duration <= 0 {
			return &ValidationError{Field: field + ".timeout", Problem: fmt.Sprintf("is %s: it must be longer than 0s, such as 500ms", a.Timeout.Duration), Warn: true}
		}
	}
	if m := istio.Spec.Config.ProxyStatsMatcher; m != nil {
		for i, expression := range m.InclusionRegexps {
			if _, err := regexp.Compile(expression); err != nil {
				return &ValidationError{
					Field:   fmt.Sprintf("spec.config.proxyStatsMatcher.inclusionRegexps[%d]", i),
					Problem: fmt.Sprintf("is no expression: %v", err),
				}
			}
		}
	}
	return nil
}
