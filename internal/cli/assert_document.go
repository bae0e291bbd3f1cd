// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/strata-run/strata/api/v1alpha1"
)

// Assertions is the file of `strata assert -f`: what has to be so, and for how long.
type Assertions struct {
	metav1.TypeMeta `json:",inline"`

	// Within is how long an assertion may take to become true, for those that set
	// none of their own. Default 0s: it has to be true at once.
	Within *metav1.Duration `json:"within,omitempty"`
	// HoldsFor is how long it then has to stay true without interruption, for those
	// that set none of their own. Default 0s.
	HoldsFor *metav1.Duration `json:"holdsFor,omitempty"`
	// Asserts must all hold.
	Asserts []Assert `json:"asserts"`
}

// Assert is one thing that has to be so. Exactly one of rolledOut, available, phase,
// probe and the assertions that a Revision's probes know (condition, fieldValue,
// fieldsEqual, observedGeneration, default, cel, not, anyOf) is set. The latter are
// about object, or about the Package itself without one.
type Assert struct {
	v1alpha1.Assertion `json:",inline"`

	// Name is shown in reports. Default: what it says.
	Name string `json:"name,omitempty"`
	// RolledOut asks that the revision is rolled out and has succeeded.
	RolledOut bool `json:"rolledOut,omitempty"`
	// Available asks that the package serves.
	Available bool `json:"available,omitempty"`
	// Phase is the name of a phase that has to be complete.
	Phase string `json:"phase,omitempty"`
	// Probe is the name of a probe of the revision that has to hold for every object
	// that it selects.
	Probe string `json:"probe,omitempty"`
	// Object is a live object, which need not be the package's.
	Object *ObjectSelector `json:"object,omitempty"`

	// Within is how long it may take to become true. Default: that of the file.
	Within *metav1.Duration `json:"within,omitempty"`
	// HoldsFor is how long it then has to stay true. Default: that of the file.
	HoldsFor *metav1.Duration `json:"holdsFor,omitempty"`
}

// ObjectSelector names a live object.
type ObjectSelector struct {
	// APIVersion is that of the kind. It may be left out for objects of the revision,
	// and so may namespace.
	APIVersion string `json:"apiVersion,omitempty"`
	// Kind is the object's kind.
	Kind string `json:"kind"`
	// Namespace is empty for what has none.
	Namespace string `json:"namespace,omitempty"`
	// Name is the object's name.
	Name string `json:"name"`
}

// String names the object.
func (o ObjectSelector) String() string {
	return objectName(v1alpha1.ObjectReference{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name})
}

// AssertReport is the document of `strata assert` and `strata wait`.
type AssertReport struct {
	metav1.TypeMeta `json:",inline"`

	// Package is the package's name.
	Package string `json:"package"`
	// Revision is the revision that was looked at, 0 when there was none.
	Revision int64 `json:"revision,omitempty"`
	// RevisionUID is the UID of the Revision object.
	RevisionUID string `json:"revisionUID,omitempty"`
	// ContentDigest is the digest of its content.
	ContentDigest string `json:"contentDigest,omitempty"`
	// Version is the application version of its content.
	Version string `json:"version,omitempty"`
	// Kubernetes is the version of the cluster, empty when it is not known.
	Kubernetes string `json:"kubernetes,omitempty"`
	// StartedAt is when it was begun.
	StartedAt metav1.Time `json:"startedAt"`
	// Seconds is how long it took.
	Seconds float64 `json:"seconds"`
	// Passed is true when everything holds.
	Passed bool `json:"passed"`
	// ExitCode is what the process exits with.
	ExitCode int `json:"exitCode"`
	// Message says why not.
	Message string `json:"message,omitempty"`
	// Results are in the order of the assertions.
	Results []AssertResult `json:"results"`
}

// AssertResult is what became of one assertion.
type AssertResult struct {
	// Name is the assertion's.
	Name string `json:"name"`
	// Class is rollout, phase, probe, object or package.
	Class string `json:"class"`
	// Result is Passed, Failed (it is false), Error (it could not be read, or can
	// never be so) or Skipped (the rollout has not reached it).
	Result string `json:"result"`
	// Message says what was expected and what was found.
	Message string `json:"message,omitempty"`
	// Seconds is how long it took to become true, and to hold; or until the check
	// ended.
	Seconds float64 `json:"seconds"`
	// HeldSeconds is how long it has held at the end.
	HeldSeconds float64 `json:"heldSeconds,omitempty"`
	// Interruptions is how many times it ceased to hold.
	Interruptions int `json:"interruptions,omitempty"`
}

// Values of a result.
const (
	resultPassed  = "Passed"
	resultFailed  = "Failed"
	resultError   = "Error"
	resultSkipped = "Skipped"
)

// readAssertions reads a file of assertions. Unknown fields are refused, as an
// assertion with a typing error would always hold.
func readAssertions(text []byte) (Assertions, error) {
	var file Assertions
	if err := yaml.UnmarshalStrict(text, &file); err != nil {
		return file, err
	}
	if file.APIVersion != DocumentVersion || file.Kind != "Assertions" {
		return file, fmt.Errorf("it is %s %s, and must be apiVersion: %s, kind: Assertions", file.APIVersion, file.Kind, DocumentVersion)
	}
	if len(file.Asserts) == 0 {
		return file, errors.New("asserts is empty: a file that asserts nothing would always pass")
	}
	for i := range file.Asserts {
		a := &file.Asserts[i]
		if err := a.validate(); err != nil {
			return file, fmt.Errorf("asserts[%d]%s: %w", i, prefixed(" ", a.Name), err)
		}
		if a.Within == nil {
			a.Within = file.Within
		}
		if a.HoldsFor == nil {
			a.HoldsFor = file.HoldsFor
		}
	}
	return file, nil
}

// asserted are the names of the assertions that are set.
func (a *Assert) asserted() []string {
	names := a.Kinds()
	for name, set := range map[string]bool{"rolledOut": a.RolledOut, "available": a.Available, "phase": a.Phase != "", "probe": a.Probe != ""} {
		if set {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (a *Assert) validate() error {
	names := a.asserted()
	builtIn := a.RolledOut || a.Available || a.Phase != "" || a.Probe != ""
	switch {
	case len(names) != 1:
		return fmt.Errorf("exactly one of rolledOut, available, phase, probe, %s must be set; it has %s", v1alpha1.AssertionKinds(), strings.Join(append(names, "nothing more"), ", "))
	case builtIn && a.Object != nil:
		return fmt.Errorf("%s is not about an object", names[0])
	case a.Object != nil && (a.Object.Kind == "" || a.Object.Name == ""):
		return errors.New("object needs kind and name")
	case a.Within != nil && a.Within.Duration < 0, a.HoldsFor != nil && a.HoldsFor.Duration < 0:
		return errors.New("within and holdsFor must not be negative")
	}
	return nil
}

// title is the name, or what it says.
func (a *Assert) title() string {
	name := strings.Join(a.asserted(), " ")
	switch {
	case a.Name != "":
		return a.Name
	case a.RolledOut:
		return "rolled out"
	case a.Phase != "":
		return "phase " + a.Phase
	case a.Probe != "":
		return "probe " + a.Probe
	case a.Condition != nil:
		name = "condition " + a.Condition.Type
	case a.CEL != nil:
		name = a.CEL.Expression
	case a.FieldValue != nil:
		name = a.FieldValue.Path
	}
	if a.Object != nil {
		return a.Object.String() + ": " + name
	}
	return name
}
