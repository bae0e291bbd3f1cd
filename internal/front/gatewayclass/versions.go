// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayclass

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	utilversion "k8s.io/apimachinery/pkg/util/version"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/istio"
)

// AppVersion is the full version of a known Istio version, such as 1.29.1 for
// 1.29, 1.29.1 and v1.29.1. The error is an [UnknownVersionError].
func AppVersion(version string) (string, error) {
	r, ok := istio.Resolve(version)
	if !ok {
		return "", &UnknownVersionError{Version: version, Known: istio.Minors()}
	}
	return r.Version(), nil
}

// mostMinors is how many minor versions an istiod may go up or down at once: Istio supports
// no more between a control plane and its proxies, and those follow later.
var mostMinors = int32(2)

// tooFar says why a version may not follow the one that runs, empty when it may: so does
// one that is allowed, and the first. What is no version is not compared.
func tooFar(running, wanted, allowed string) string {
	from, err := utilversion.ParseGeneric(running)
	to, errTo := utilversion.ParseGeneric(wanted)
	if running == "" || wanted == allowed || err != nil || errTo != nil {
		return ""
	}
	up, down := int(to.Minor())-int(from.Minor()), int(from.Minor())-int(to.Minor())
	if from.Major() == to.Major() && max(up, down) <= int(mostMinors) {
		return ""
	}
	return fmt.Sprintf("Istio %s runs, and %s is more than %d minor versions away: set the annotation %s of a GatewayClass to a version in between first, "+
		"or %s of Package %s to %s", running, wanted, mostMinors, AnnotationIstioVersion, v1alpha1.AnnotationAllowVersion, PackageControlPlane, wanted)
}

// ClassError says that what one class asks for cannot be had.
type ClassError struct {
	// Class is the GatewayClass.
	Class string
	// Err is what is wrong.
	Err error
}

// Error names the class.
func (e *ClassError) Error() string { return fmt.Sprintf("GatewayClass %s: %v", e.Class, e.Err) }

// Unwrap is the cause.
func (e *ClassError) Unwrap() error { return e.Err }

// AtFault is the class whose annotation is the cause of an error of [Render], empty when it
// is none's.
func AtFault(err error) string {
	if e, ok := errors.AsType[*UnknownVersionError](err); ok {
		return e.Class
	}
	if e, ok := errors.AsType[*ClassError](err); ok {
		return e.Class
	}
	return ""
}

// Overruled says of each annotation of a class that has no effect whose has: that of the
// oldest class decides for all.
func Overruled(class *gatewayv1.GatewayClass, classes []gatewayv1.GatewayClass) []string {
	var all []string
	for _, annotation := range []string{AnnotationIstioVersion, AnnotationIstiodImage, AnnotationCanaryVersion, AnnotationCanaryImage} {
		own := strings.TrimSpace(class.Annotations[annotation])
		if first, value := override(counting(classes), annotation); own != "" && first != nil && value != own {
			all = append(all, fmt.Sprintf("the annotation %s: %s has no effect, as GatewayClass %s is older and says %s", annotation, own, first.Name, value))
		}
	}
	return all
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
