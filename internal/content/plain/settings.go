// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package plain

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/revisions/probes"
)

// Settings say how the objects that they select are rolled out. Each field is empty for
// what else holds: an annotation of the object, or the default.
type Settings struct {
	// Kind and Group select by kind, Namespace and Name by name; what is empty selects
	// every object. Without a kind, name must be empty, too.
	Kind      string `json:"kind,omitempty"`
	Group     string `json:"group,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`

	// Phase is foundation, config, workloads or rest.
	Phase string `json:"phase,omitempty"`
	// CollisionProtection is what to do if the object exists and has another owner.
	CollisionProtection v1alpha1.CollisionProtection `json:"collisionProtection,omitempty"`
	// Deletion says whether the object goes with its package.
	Deletion v1alpha1.ObjectDeletion `json:"deletion,omitempty"`
	// OnImmutableChange is what to do if an immutable field would change.
	OnImmutableChange v1alpha1.ImmutableChange `json:"onImmutableChange,omitempty"`
	// UnmanagedFields are paths of the manifest that are never applied.
	UnmanagedFields []string `json:"unmanagedFields,omitempty"`
	// ExclusiveFields are paths at and below which there is nothing but what the manifest
	// has.
	ExclusiveFields []string `json:"exclusiveFields,omitempty"`
	// UpdatePhase is a later phase, in which an object that exists gets new content.
	UpdatePhase string `json:"updatePhase,omitempty"`
	// CreateOnce is "true" for an object that is created once for its content.
	CreateOnce string `json:"createOnce,omitempty"`
}

// ReadSettings reads a list of settings, in YAML. Unknown fields are refused.
func ReadSettings(data []byte) ([]Settings, error) {
	var all []Settings
	if err := yaml.UnmarshalStrict(data, &all); err != nil {
		return nil, err
	}
	for i := range all {
		if err := all[i].validate(); err != nil {
			return nil, fmt.Errorf("[%d]%w", i, err)
		}
	}
	return all, nil
}

// annotation is one of those by which a manifest says how it is rolled out.
type annotation struct {
	name string
	set  func(s *Settings, value string)
}

var annotations = []annotation{
	{v1alpha1.AnnotationPhase, func(s *Settings, value string) { s.Phase = value }},
	{v1alpha1.AnnotationCollisionProtection, func(s *Settings, value string) { s.CollisionProtection = v1alpha1.CollisionProtection(value) }},
	{v1alpha1.AnnotationDeletion, func(s *Settings, value string) { s.Deletion = v1alpha1.ObjectDeletion(value) }},
	{v1alpha1.AnnotationOnImmutableChange, func(s *Settings, value string) { s.OnImmutableChange = v1alpha1.ImmutableChange(value) }},
	{v1alpha1.AnnotationUnmanagedFields, func(s *Settings, value string) { s.UnmanagedFields = splitPaths(value) }},
	{v1alpha1.AnnotationExclusiveFields, func(s *Settings, value string) { s.ExclusiveFields = splitPaths(value) }},
	{v1alpha1.AnnotationUpdatePhase, func(s *Settings, value string) { s.UpdatePhase = value }},
	{v1alpha1.AnnotationCreateOnce, func(s *Settings, value string) { s.CreateOnce = value }},
	{v1alpha1.AnnotationProbe, func(*Settings, string) {}},
}

// Annotations are the names of the annotations by which a manifest says how it is
// rolled out.
func Annotations() []string {
	names := make([]string, len(annotations))
	for i, a := range annotations {
		names[i] = a.name
	}
	return names
}

// settingsOf are the settings that a manifest has in its annotations. One that begins
// like ours and is none of them is an error: it would be overlooked else.
func settingsOf(own map[string]string) (Settings, error) {
	var s Settings
	prefix := v1alpha1.GroupVersion.Group + "/"
	for name, value := range own {
		if !strings.HasPrefix(name, prefix) {
			continue
		}
		at := slices.IndexFunc(annotations, func(a annotation) bool { return a.name == name })
		if at < 0 {
			return s, fmt.Errorf("annotation %s is not known: there are %s", name, strings.Join(Annotations(), ", "))
		}
		annotations[at].set(&s, strings.TrimSpace(value))
	}
	if err := s.validate(); err != nil {
		return s, fmt.Errorf("annotations%w", err)
	}
	return s, nil
}

// validate says which field has a value that it cannot have.
func (s *Settings) validate() error {
	refuse := func(field, value string, allowed ...string) error {
		return fmt.Errorf(".%s: %q is none of %s", field, value, strings.Join(allowed, ", "))
	}
	switch {
	case s.Kind == "" && (s.Group != "" || s.Name != ""):
		return errors.New(".kind: must be set where group or name is")
	case s.Phase != "" && !slices.Contains(phaseNames, s.Phase):
		return refuse("phase", s.Phase, phaseNames...)
	case s.UpdatePhase != "" && !slices.Contains(phaseNames, s.UpdatePhase):
		return refuse("updatePhase", s.UpdatePhase, phaseNames...)
	}
	for _, field := range []struct {
		name, value string
		allowed     []string
	}{
		{"collisionProtection", string(s.CollisionProtection), []string{string(v1alpha1.CollisionPrevent), string(v1alpha1.CollisionIfNoController), string(v1alpha1.CollisionNone)}},
		{"deletion", string(s.Deletion), []string{string(v1alpha1.ObjectDelete), string(v1alpha1.ObjectRetain), string(v1alpha1.ObjectDeleteUnused)}},
		{"createOnce", s.CreateOnce, []string{"true", "false"}},
		{"onImmutableChange", string(s.OnImmutableChange), []string{string(v1alpha1.ImmutableRefuse), string(v1alpha1.ImmutableReplace)}},
	} {
		if field.value != "" && !slices.Contains(field.allowed, field.value) {
			return refuse(field.name, field.value, field.allowed...)
		}
	}
	for field, paths := range map[string][]string{"unmanagedFields": s.UnmanagedFields, "exclusiveFields": s.ExclusiveFields} {
		for _, path := range paths {
			if _, err := probes.ParsePattern(path); err != nil {
				return fmt.Errorf(".%s: %w", field, err)
			}
		}
	}
	return nil
}

// splitPaths splits a list of paths at commas, blanks and ends of lines, as far as these
// are not within brackets.
func splitPaths(text string) []string {
	var quote rune
	depth := 0
	return strings.FieldsFunc(text, func(r rune) bool {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case depth > 0 && (r == '"' || r == '\''):
			quote = r
		case r == '[':
			depth++
		case r == ']':
			depth--
		}
		return depth <= 0 && strings.ContainsRune(", \t\r\n", r)
	})
}

// selects says whether the settings are for an object.
func (s *Settings) selects(object *unstructured.Unstructured) bool {
	kind := object.GroupVersionKind().GroupKind()
	return (s.Kind == "" || kind == schema.GroupKind{Group: s.Group, Kind: s.Kind}) &&
		(s.Namespace == "" || s.Namespace == object.GetNamespace()) && (s.Name == "" || s.Name == object.GetName())
}

// over are these settings, and what they leave open from others.
func (s Settings) over(others Settings) Settings {
	s.Phase = cmp.Or(s.Phase, others.Phase)
	s.CollisionProtection = cmp.Or(s.CollisionProtection, others.CollisionProtection)
	s.Deletion = cmp.Or(s.Deletion, others.Deletion)
	s.OnImmutableChange = cmp.Or(s.OnImmutableChange, others.OnImmutableChange)
	s.CreateOnce = cmp.Or(s.CreateOnce, others.CreateOnce)
	if s.UnmanagedFields == nil {
		s.UnmanagedFields = others.UnmanagedFields
	}
	if s.ExclusiveFields == nil {
		s.ExclusiveFields = others.ExclusiveFields
	}
	s.UpdatePhase = cmp.Or(s.UpdatePhase, others.UpdatePhase)
	return s
}

// String says what the settings select.
func (s *Settings) String() string {
	return strings.Join(slices.DeleteFunc([]string{s.Kind, s.Group, s.Namespace, s.Name}, func(text string) bool { return text == "" }), " ")
}

// withoutAnnotations is an object without the annotations by which it says how it is
// rolled out: they are no part of it. The object given is not changed.
func withoutAnnotations(object *unstructured.Unstructured) *unstructured.Unstructured {
	own := object.GetAnnotations()
	rest := map[string]string{}
	for name, value := range own {
		if !slices.Contains(Annotations(), name) {
			rest[name] = value
		}
	}
	if len(rest) == len(own) {
		return object
	}
	object = object.DeepCopy()
	if len(rest) == 0 {
		rest = nil
	}
	object.SetAnnotations(rest)
	return object
}

// Probes are the probes that manifests have in their annotations, each for its object.
// The objects must have their namespaces.
func Probes(objects []*unstructured.Unstructured) ([]v1alpha1.Probe, error) {
	var all []v1alpha1.Probe
	for _, object := range objects {
		text, found := object.GetAnnotations()[v1alpha1.AnnotationProbe]
		if !found {
			continue
		}
		probe, err := probeOf(object, text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", NameOf(object), err)
		}
		all = append(all, probe)
	}
	return all, nil
}

func probeOf(object *unstructured.Unstructured, text string) (v1alpha1.Probe, error) {
	var probe v1alpha1.Probe
	if err := yaml.UnmarshalStrict([]byte(text), &probe); err != nil {
		return probe, fmt.Errorf("annotation %s: %w", v1alpha1.AnnotationProbe, err)
	}
	kind := object.GroupVersionKind()
	switch {
	case probe.Selector != (v1alpha1.ProbeSelector{}):
		return probe, fmt.Errorf("annotation %s: selector must not be set: the probe is for this object", v1alpha1.AnnotationProbe)
	case len(probe.Assertions) == 0:
		return probe, fmt.Errorf("annotation %s: assertions must have at least one entry", v1alpha1.AnnotationProbe)
	}
	probe.Selector = v1alpha1.ProbeSelector{Group: kind.Group, Kind: kind.Kind, Namespace: object.GetNamespace(), Name: object.GetName()}
	if probe.Name == "" {
		name := strings.ToLower(kind.Kind) + "-" + object.GetName()
		probe.Name = name[:min(len(name), maxProbeName)]
	}
	return probe, nil
}

// AnnotationProblem is an annotation by which a manifest says how it is rolled out, and
// that cannot be read.
type AnnotationProblem struct {
	// Object is the index of the object among those given, and Annotation the name of the
	// annotation.
	Object     int
	Annotation string
	// Err names the object and says what is wrong.
	Err error
}

// CheckAnnotations finds every annotation for which [Phases] or [Probes] would refuse an
// object, in the order of the objects and of the names of annotations.
func CheckAnnotations(objects []*unstructured.Unstructured) []AnnotationProblem {
	var problems []AnnotationProblem
	for i, object := range objects {
		own := object.GetAnnotations()
		for _, name := range slices.Sorted(maps.Keys(own)) {
			var err error
			if name == v1alpha1.AnnotationProbe {
				_, err = probeOf(object, own[name])
			} else {
				_, err = settingsOf(map[string]string{name: own[name]})
			}
			if err != nil {
				problems = append(problems, AnnotationProblem{Object: i, Annotation: name, Err: fmt.Errorf("%s: %w", NameOf(object), err)})
			}
		}
	}
	return problems
}

// maxProbeName is how long the name of a probe may be.
const maxProbeName = 63

// NameOf names an object for people: its kind, and its namespace and name.
func NameOf(object *unstructured.Unstructured) string {
	return object.GetKind() + " " + strings.TrimPrefix(object.GetNamespace()+"/"+object.GetName(), "/")
}
