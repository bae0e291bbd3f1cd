// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package helmimport

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/chart"
	"github.com/strata-run/strata/internal/content/plain"
	"github.com/strata-run/strata/revisions"
)

// objectsOf are the objects of a release in their phases: those of its manifest, and
// with crds those of its chart's folder crds/, which Helm creates and then never
// looks at.
func objectsOf(r Release, crds bool) ([]Object, error) {
	manifests, err := chart.Installed("the manifest of "+r.String(), []byte(r.Manifest))
	if err != nil {
		return nil, err
	}
	if crds {
		for _, file := range r.CRDs {
			more, err := chart.Installed(file.Name, file.Data)
			if err != nil {
				return nil, err
			}
			manifests = append(manifests, more...)
		}
	}
	phases, err := plain.Phases(manifests, v1alpha1.CollisionNone)
	if err != nil {
		return nil, err
	}
	var objects []Object
	seen := map[revisions.ObjectID]bool{}
	for _, phase := range phases {
		for _, object := range phase.Objects {
			if id := revisions.IDOf(object.Manifest); seen[id] {
				return nil, fmt.Errorf("%s is in the manifest and crds/ of %s twice", plain.NameOf(object.Manifest), r)
			}
			seen[revisions.IDOf(object.Manifest)] = true
			objects = append(objects, Object{Manifest: object.Manifest, Phase: phase.Name})
		}
	}
	return objects, nil
}

// manifestsOf are the manifests of objects.
func manifestsOf(objects []Object) []*unstructured.Unstructured {
	manifests := make([]*unstructured.Unstructured, 0, len(objects))
	for i := range objects {
		manifests = append(manifests, objects[i].Manifest)
	}
	return manifests
}
