// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package kyma

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

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
	// Off says that the value can be used, and the manager is told not to.
	Off bool
}

// Error names the field.
func (e *ValidationError) Error() string { return e.Field + " " + e.Problem }

// Validate checks what the API server does not. The error is a [ValidationError].
func Validate(istio *v1alpha2.Istio, experimental bool) error {
	if istio.Spec.Experimental != nil && !experimental {
		return &ValidationError{Field: "spec.experimental", Problem: "is set, and experimental features are off: remove it, or start the manager with --kyma-experimental", Off: true}
	}
	if d := istio.Spec.Config.TrustDomain; d != nil && !trustDomain.MatchString(*d) {
		// Istiod would go without any of the mesh configuration.
		return &ValidationError{Field: "spec.config.trustDomain", Problem: fmt.Sprintf("is %q: between its dots are letters, digits and inner dashes, such as cluster.local", *d), Warn: true}
	}
	if err := validateAuthorizers(istio.Spec.Config.Authorizers); err != nil {
		return err
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

// trustDomain is what istiod takes for one, which is less than the API server lets through.
var trustDomain = regexp.MustCompile(`^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\.)*([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)?$`)

// validateAuthorizers checks what istiod cannot use: requests that ask such an authorizer
// would be denied.
func validateAuthorizers(authorizers []*v1alpha2.Authorizer) error {
	taken, err := builtInProviders()
	if err != nil {
		return err
	}
	for i, a := range authorizers {
		field := fmt.Sprintf("spec.config.authorizers[%d]", i)
		refuse := func(of, format string, args ...any) error {
			return &ValidationError{Field: field + of, Problem: fmt.Sprintf(format, args...), Warn: true}
		}
		if a == nil {
			return refuse("", "is null: remove it")
		}
		other, isTaken := taken[a.Name]
		switch {
		case a.Name == "":
			return refuse(".name", "is empty: policies choose by name")
		case isTaken:
			return refuse(".name", "is %q as that of %s: names must be unique", a.Name, other)
		case a.Service == "":
			return refuse(".service", "is not set: name the host to ask, such as auth/ext-authz.auth.svc.cluster.local")
		case a.Port < 1 || a.Port > 65535:
			return refuse(".port", "is %d: it must be between 1 and 65535", a.Port)
		case a.PathPrefix != nil && *a.PathPrefix != "" && !strings.HasPrefix(*a.PathPrefix, "/"):
			return refuse(".pathPrefix", "is %q: it must begin with a slash", *a.PathPrefix)
		case a.Timeout != nil && a.Timeout.Duration <= 0:
			return refuse(".timeout", "is %s: it must be longer than 0s, such as 500ms", a.Timeout.Duration)
		}
		taken[a.Name] = fmt.Sprintf("authorizers[%d]", i)
	}
	return nil
}

// builtInProviders are the names that the defaults give to extension providers, of which
// authorizers are some.
func builtInProviders() (map[string]string, error) {
	operator, err := base(Production)
	if err != nil {
		return nil, err
	}
	providers, _ := at(operator, "spec", "meshConfig")["extensionProviders"].([]any)
	names := map[string]string{}
	for _, item := range providers {
		provider, _ := item.(tree)
		if name, _ := provider["name"].(string); name != "" {
			names[name] = "a provider of the module"
		}
	}
	return names, nil
}
