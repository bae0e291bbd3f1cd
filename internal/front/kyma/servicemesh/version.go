// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package servicemesh

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/strata-run/strata/internal/istio"
)

// version is that of Istio.
type version struct{ major, minor, patch int }

func (v version) String() string { return fmt.Sprintf("%d.%d.%d", v.major, v.minor, v.patch) }

// tagForm is a version with an optional flavour, such as 1.31.0-distroless.
var tagForm = regexp.MustCompile(`^v?(\d{1,6})\.(\d{1,6})\.(\d{1,6})(?:[-.+][0-9A-Za-z.+-]+)?$`)

// parseTag reads the version of an image tag.
func parseTag(tag string) (version, error) {
	parts := tagForm.FindStringSubmatch(tag)
	if parts == nil {
		return version{}, fmt.Errorf("%.100q is not a tag of Istio, such as 1.31.0-distroless", tag)
	}
	v := version{}
	for i, number := range []*int{&v.major, &v.minor, &v.patch} {
		*number, _ = strconv.Atoi(parts[i+1]) // digits, and few
	}
	return v, nil
}

// GateError says that one version of Istio cannot follow on another.
type GateError struct {
	// Installed and Target are the versions, without their flavour.
	Installed, Target string
	// Why says what rule they break, and Instead which manager would do.
	Why, Instead string
}

// Error names both versions, the rule and the remedies.
func (e *GateError) Error() string {
	return fmt.Sprintf("Istio %s cannot follow on Istio %s, which is installed: %s. %s, or set the annotation strata.run/allow-istio-version: %q on the Istio resource",
		e.Target, e.Installed, e.Why, e.Instead, e.Target)
}

// Gate says whether a version may be installed where another one is; installed is empty
// where there is none. Both are tags of images, whose flavour does not count. One minor
// version up is let through, and any way between patches but back. Allowed is a version that
// a person lets through whatever is installed. The error is a [GateError], or says which tag
// cannot be read.
func Gate(installed, target, allowed string) error {
	to, err := parseTag(target)
	if err != nil {
		return fmt.Errorf("reading the version to install: %w", err)
	}
	if installed == "" || allowed == to.String() {
		return nil
	}
	from, err := parseTag(installed)
	if err != nil {
		return fmt.Errorf("reading the installed version: %w", err)
	}
	refuse := func(why, instead string) error {
		return &GateError{Installed: from.String(), Target: to.String(), Why: why, Instead: instead}
	}
	switch {
	case to.major != from.major:
		return refuse("the major version differs, which is not supported", fmt.Sprintf("Use a manager with Istio %d", from.major))
	case to.minor < from.minor, to.minor == from.minor && to.patch < from.patch:
		return refuse("a downgrade is not supported", fmt.Sprintf("Use a manager with Istio %s or newer", from))
	case to.minor > from.minor+1:
		return refuse("more than one minor version lies between them", step(fmt.Sprintf("%d.%d", from.major, from.minor+1)))
	}
	return nil
}

// step says which manager brings the version in between.
func step(minor string) string {
	if _, ok := istio.Resolve(minor); ok {
		return fmt.Sprintf("Start the manager with --kyma-istio-version %s first", minor)
	}
	return fmt.Sprintf("This manager does not have Istio %s: use one that has it first", minor)
}
