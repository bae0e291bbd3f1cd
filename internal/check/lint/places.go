// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/chart"
	"github.com/strata-run/strata/internal/content/plain"
	"github.com/strata-run/strata/revisions"
)

// maxPackageName is how long the name of a package may be, as its definition has it.
const maxPackageName = 52

// checkNames finds names that no API server takes.
func (c *checking) checkNames(objects []*unstructured.Unstructured) {
	if name := c.in.Package; name != "" {
		problems := utilvalidation.IsDNS1123Subdomain(name)
		if len(name) > maxPackageName {
			problems = append(problems, fmt.Sprintf("must be no more than %d characters", maxPackageName))
		}
		if len(problems) > 0 {
			c.add(CodeInvalid, "Package "+name, fmt.Sprintf("Package %s: the name is invalid: %s", name, strings.Join(problems, "; ")), "choose another name", chart.Located{})
		}
	}
	for _, object := range objects {
		id := revisions.IDOf(object)
		problems := nameProblems(object.GroupVersionKind().GroupKind(), id.Name)
		if id.Namespace != "" {
			for _, problem := range utilvalidation.IsDNS1123Label(id.Namespace) {
				problems = append(problems, "metadata.namespace: "+problem)
			}
		}
		if len(problems) > 0 {
			at := c.at(object)
			at.Line = at.LineOf(id.Name)
			c.add(CodeInvalid, id.String(), fmt.Sprintf("%s: the name is invalid: %s", id, strings.Join(problems, "; ")), "choose another name", at)
		}
	}
}

// nameProblems says why objects of a kind cannot have a name. Roles, certificate requests
// and what OpenShift's own API server has may have names with colons and capitals.
func nameProblems(kind schema.GroupKind, name string) []string {
	switch {
	case kind.Group == "rbac.authorization.k8s.io", kind.Group == "certificates.k8s.io", strings.HasSuffix(kind.Group, ".openshift.io"):
		return content.IsPathSegmentName(name)
	case kind == schema.GroupKind{Kind: "Namespace"}, kind == schema.GroupKind{Kind: "Service"}:
		return utilvalidation.IsDNS1123Label(name)
	}
	return validation.NameIsDNSSubdomain(name, false)
}

// checkAnnotations finds annotations of ours that cannot be read, each at its own line, and
// says whether there are none.
func (c *checking) checkAnnotations(objects []*unstructured.Unstructured) bool {
	problems := plain.CheckAnnotations(objects)
	for _, problem := range problems {
		object, code := objects[problem.Object], CodeInvalid
		if problem.Annotation == v1alpha1.AnnotationProbe {
			code = CodeProbe
		}
		at := c.at(object)
		at.Line = at.LineOf(problem.Annotation)
		c.add(code, revisions.IDOf(object).String(), problem.Err.Error(), "correct the annotation", at)
	}
	return len(problems) == 0
}

// violationsOf are why the engine refuses a revision.
func violationsOf(revision revisions.Revision) []string {
	if unusable, ok := errors.AsType[*revisions.ValidationError](revision.Validate()); ok {
		return unusable.Violations
	}
	return nil
}

// checkRevision finds what the engine refuses, at the object that it is about.
func (c *checking) checkRevision(loaded revisions.Revision) {
	places := map[string]*unstructured.Unstructured{}
	for _, phase := range loaded.Phases {
		for _, object := range phase.Objects {
			alone := revisions.Revision{Number: loaded.Number, Phases: []revisions.Phase{{Name: phase.Name, Objects: []revisions.Object{object}}}}
			for _, violation := range violationsOf(alone) {
				places[violation] = object.Manifest
			}
		}
	}
	for _, violation := range violationsOf(loaded) {
		id, at := "", chart.Located{}
		if object := places[violation]; object != nil {
			id, at = revisions.IDOf(object).String(), c.at(object)
		}
		c.add(CodeInvalid, id, violation, "correct the manifest", at)
	}
}
