// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayclass

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/strata-run/strata/internal/istio"
)

// Versions are the Istio minors that a GatewayClass can ask for, oldest first.
func Versions() []string {
	all := make([]string, 0, len(istio.Releases()))
	for _, r := range istio.Releases() {
		all = append(all, r.Minor())
	}
	return all
}

// AppVersion is the full version of a known Istio version, such as 1.29.1 for
// 1.29, 1.29.1 and v1.29.1. The error is an [UnknownVersionError].
func AppVersion(version string) (string, error) {
	r, ok := istio.Resolve(version)
	if !ok {
		return "", &UnknownVersionError{Version: version, Known: Versions()}
	}
	return r.Version(), nil
}

// ManagedCRDs are the names of the CRDs of an Istio version, sorted. It is nil
// for a version that is not known.
func ManagedCRDs(version string) []string {
	r, ok := istio.Resolve(version)
	if !ok {
		return nil
	}
	names, err := r.CRDNames()
	if err != nil {
		return nil
	}
	return names
}

// UnknownVersionError says that an Istio version is not in this binary.
type UnknownVersionError struct {
	// Class is the GatewayClass that asks for it. Empty when it is the default
	// version.
	Class string
	// Version is what is asked for.
	Version string
	// Known are the versions that can be asked for.
	Known []string
	// Annotation is the one that asks. Empty stands for [AnnotationIstioVersion].
	Annotation string
}

// Error names who asks, for what, and the remedy.
func (e *UnknownVersionError) Error() string {
	known := strings.Join(e.Known, ", ")
	if e.Class == "" {
		return fmt.Sprintf("the default Istio version %q is not known: set it to one of %s", e.Version, known)
	}
	return fmt.Sprintf("GatewayClass %s asks for Istio version %q, which is not known: set its annotation %s to one of %s, or remove it",
		e.Class, e.Version, cmp.Or(e.Annotation, AnnotationIstioVersion), known)
}
