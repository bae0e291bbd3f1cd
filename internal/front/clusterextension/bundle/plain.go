// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"fmt"
	"io/fs"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-run/strata/internal/content/plain"
)

// maxPlain is how many objects a bundle of plain manifests may have.
const maxPlain = 2000

// readPlain reads a bundle of manifests alone.
func readPlain(files fs.FS) ([]*unstructured.Unstructured, error) {
	objects, err := readManifests(files)
	switch {
	case err != nil:
		return nil, err
	case len(objects) == 0:
		return nil, refused("it has no objects")
	case len(objects) > maxPlain:
		return nil, refused(fmt.Sprintf("it has %d objects, and may have %d", len(objects), maxPlain))
	default:
		return objects, nil
	}
}

// renderPlain takes no configuration.
func renderPlain(objects []*unstructured.Unstructured, target Target) ([]*unstructured.Unstructured, error) {
	if len(target.Config) > 0 {
		return nil, misconfigured([]string{"a bundle of plain manifests takes none; remove spec.config"})
	}
	return place(objects, target)
}

// place gives namespaced objects without a namespace that of the extension, and refuses what stands
// there twice.
func place(objects []*unstructured.Unstructured, target Target) ([]*unstructured.Unstructured, error) {
	placed, unknown := plain.Place(objects, target.Namespace, plain.Scopes(objects, target.Scope))
	problems := twice(placed)
	for _, kind := range unknown {
		problems = append(problems, fmt.Sprintf("the cluster does not serve %s, so that it is not known whether its objects have a namespace: install what defines it, or set metadata.namespace in the bundle", kind.GroupKind()))
	}
	return placed, refused(problems...)
}
