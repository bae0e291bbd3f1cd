// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/view"
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
	return view.ObjectName(v1alpha1.ObjectReference{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name})
}

// readAssertions reads a file of assertions. Unknown fields are refused, as an
// assertion with a typing error would always hold.
func readAssertions(text []byte) (Assertions, error) {
	var file Assertions
	if err := yaml.UnmarshalStrict(text, &file); err != nil {
		return file, err
	}
	if file.APIVersion != view.DocumentVersion || file.Kind != "Assertions" {
		return file, fmt.Errorf("it is %s %s, and must be apiVersion: %s, kind: Assertions", file.APIVersion, file.Kind, view.DocumentVersion)
	}
	if len(file.Asserts) == 0 {
		return file, errors.New("asserts is empty: a file that asserts nothing would always pass")
	}
	for i := range file.Asserts {
		a := &file.Asserts[i]
		if err := a.validate(); err != nil {
			return file, fmt.Errorf("asserts[%d]%s: %w", i, view.Prefixed(" ", a.Name), err)
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
		return fmt.Errorf("exactly one of rolledOut, available, phase, probe, %s must be set; it has %s", v1alpha1.AssertionKinds, strings.Join(append(names, "nothing more"), ", "))
	case builtIn && a.Object != nil:
		return fmt.Errorf("%s is not about an object", names[0])
	case a.Object != nil && (a.Object.Kind == "" || a.Object.Name == ""):
		return errors.New("object needs kind and name")
	case a.Within != nil && a.Within.Duration < 0, a.HoldsFor != nil && a.HoldsFor.Duration < 0:
		return errors.New("within and holdsFor must not be negative")
	}
	return nil
}

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
