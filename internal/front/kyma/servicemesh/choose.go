// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package servicemesh

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

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
	// Off says that the value can be used, but the manager's flags forbid it.
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
	if err := validateSize(istio); err != nil {
		return err
	}
	if err := validateAuthorizers(istio.Spec.Config.Authorizers); err != nil {
		return err
	}
	if m := istio.Spec.Config.ProxyStatsMatcher; m != nil {
		for i, expression := range m.InclusionRegexps {
			if _, err := regexp.Compile(expression); err != nil {
				return &ValidationError{
					Field:   fmt.Sprintf("spec.config.proxyStatsMatcher.inclusionRegexps[%d]", i),
					Problem: fmt.Sprintf("is not an expression: %v", err),
				}
			}
		}
	}
	return nil
}

// largestSpec bounds a spec, in bytes of JSON. The copy in [v1alpha2.AnnotationLastApplied] has to
// fit into the 256 KiB that all annotations of an object may have, beside the one that kubectl
// keeps.
const largestSpec = 120 << 10

// validateSize checks that the copy of what was rolled out can be kept: without it the
// manager does not know which workloads to restart.
func validateSize(istio *v1alpha2.Istio) error {
	data, err := json.Marshal(istio.Spec)
	if err != nil {
		return fmt.Errorf("measuring the spec: %w", err)
	}
	if len(data) > largestSpec {
		return &ValidationError{
			Field:   "spec",
			Problem: fmt.Sprintf("has %d bytes: it must have %d at most, to fit into the annotation %s", len(data), largestSpec, v1alpha2.AnnotationLastApplied),
			Warn:    true,
		}
	}
	return nil
}

// serviceForm is a host or an address, perhaps after a namespace, as istiod looks for it. A
// scheme, a port or a path belong elsewhere.
var serviceForm = regexp.MustCompile(`^([^/\s:]+/)?[^/\s:]+$`)

// isAddress says whether a host is an IP address, which may have colons.
func isAddress(host string) bool {
	return len(validation.IsValidIPForLegacyField(nil, host, false, nil)) == 0
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
		case !serviceForm.MatchString(a.Service) && !isAddress(a.Service):
			return refuse(".service", "is %q: name a host alone or after its namespace, such as auth/ext-authz.auth.svc.cluster.local; the port and path are fields of their own", a.Service)
		case a.Port < 1 || a.Port > 65535:
			return refuse(".port", "is %d: it must be between 1 and 65535", a.Port)
		case a.PathPrefix != nil && *a.PathPrefix != "" && !strings.HasPrefix(*a.PathPrefix, "/"):
			return refuse(".pathPrefix", "is %q: it must begin with a slash", *a.PathPrefix)
		case a.Timeout != nil && a.Timeout.Duration <= 0:
			return refuse(".timeout", "is %s: it must be longer than 0s, such as 500ms", a.Timeout.Duration)
		}
		if problem := wrongHeader(a.Headers); problem != "" {
			return refuse(".headers.inCheck.add", "%s", problem)
		}
		taken[a.Name] = fmt.Sprintf("authorizers[%d]", i)
	}
	return nil
}

var (
	// headerName is what names a header.
	headerName = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")
	// headerValue has no end of line.
	headerValue = regexp.MustCompile(`^[^\x00\r\n]*$`)
)

// wrongHeader says what is no header of those that are added to requests, empty when nothing
// is: proxies would refuse all that asks such an authorizer. Names that are only compared with do
// no harm.
func wrongHeader(h *v1alpha2.Headers) string {
	if h == nil || h.InCheck == nil {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(h.InCheck.Add)) {
		if !headerName.MatchString(name) {
			return fmt.Sprintf("has %q, which is not the name of a header", name)
		}
		if !headerValue.MatchString(h.InCheck.Add[name]) {
			return fmt.Sprintf("has a value of %q that goes over more than one line", name)
		}
	}
	return ""
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
