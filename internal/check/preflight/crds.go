// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/check/crdsafety"
)

// refusedRules are about what the API server refuses to change in any case. No
// annotation helps.
var refusedRules = []crdsafety.Rule{crdsafety.RuleScope, crdsafety.RuleNames, crdsafety.RuleStoredVersion}

// checkDefinitions compares every CustomResourceDefinition that is new or changed
// with the live one. That one counts, and not what a revision says. A rollback leaves
// the live one as it is, which must then serve what the content needs.
func (c *Checker) checkDefinitions(ctx context.Context, in Input, changes []change, found *findings) error {
	safe := in.Package.Annotations[v1alpha1.AnnotationCRDUpgradeSafety] == v1alpha1.CRDUpgradeSafetyNone
	for _, change := range changes {
		if !isDefinition(change.id.GroupKind) {
			continue
		}
		live, exists, err := c.read(ctx, in, change, found)
		if err != nil {
			return err
		}
		if !exists {
			continue
		}
		before, err := definitionOf(live)
		if err != nil {
			return fmt.Errorf("reading the live %s: %w", change.id, err)
		}
		after, err := definitionOf(change.object.Manifest)
		if err != nil {
			found.add(CheckCRDUpgradeSafety, change.id, fmt.Sprintf("%s cannot be read: %v", change.id, err), "correct its manifest")
			continue
		}
		if change.object.ForwardOnly {
			findMissingVersion(before, after, change, found)
		} else {
			findUnsafe(before, after, change, safe, found)
		}
	}
	return nil
}

// findUnsafe finds what a change of a definition may break. What the Package declares
// safe is not found, unless the API server refuses it anyway.
func findUnsafe(before, after *apiextensionsv1.CustomResourceDefinition, change change, safe bool, found *findings) {
	for _, unsafe := range merged(crdsafety.Compare(before, after)) {
		if safe && !slices.Contains(refusedRules, unsafe.Rule) {
			continue
		}
		found.add(CheckCRDUpgradeSafety, change.id, change.id.String()+" "+unsafe.String(), definitionRemedy(unsafe.Rule))
	}
}

// findMissingVersion finds that the version in which a definition had its resources
// stored is no longer served by the live one, which stays: the content of its time
// cannot do without.
func findMissingVersion(live, wanted *apiextensionsv1.CustomResourceDefinition, change change, found *findings) {
	for _, version := range wanted.Spec.Versions {
		served := slices.ContainsFunc(live.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
			return v.Name == version.Name && v.Served
		})
		if version.Storage && !served {
			found.add(CheckCRDUpgradeSafety, change.id,
				fmt.Sprintf("%s is not taken back by a rollback, and no longer serves version %s, in which this content stores its resources", change.id, version.Name),
				"roll back to a revision that does without the version, or bring the version back with a new one")
		}
	}
}

func definitionRemedy(rule crdsafety.Rule) string {
	switch rule {
	case crdsafety.RuleScope, crdsafety.RuleNames:
		return "it cannot be changed, so define a new kind"
	case crdsafety.RuleStoredVersion:
		return "keep the version, or write every resource anew in another version and take this one out of the definition's status.storedVersions"
	default:
		return fmt.Sprintf("keep what was allowed, or, when no resource needs it, annotate the Package %s: %s", v1alpha1.AnnotationCRDUpgradeSafety, v1alpha1.CRDUpgradeSafetyNone)
	}
}

// merged reports what several versions have in common once.
func merged(list []crdsafety.Finding) []crdsafety.Finding {
	var once []crdsafety.Finding
	for _, finding := range list {
		i := slices.IndexFunc(once, func(f crdsafety.Finding) bool {
			return f.Rule == finding.Rule && f.Path == finding.Path && f.Message == finding.Message
		})
		if i < 0 {
			once = append(once, finding)
		} else if !slices.Contains(strings.Split(once[i].Version, ", "), finding.Version) {
			once[i].Version += ", " + finding.Version
		}
	}
	return once
}

func definitionOf(object *unstructured.Unstructured) (*apiextensionsv1.CustomResourceDefinition, error) {
	data, err := json.Marshal(object.Object)
	if err != nil {
		return nil, fmt.Errorf("encoding: %w", err)
	}
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := json.Unmarshal(data, definition); err != nil {
		return nil, fmt.Errorf("decoding: %w", err)
	}
	return definition, nil
}
