// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayclass

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/istio"
	"github.com/strata-run/strata/internal/render"
)

// renderCRDs gives the package with the CRDs of a release.
func renderCRDs(in Input, d *decision, r *istio.Release) (render.Package, error) {
	crds, err := r.CRDs()
	if err != nil {
		return render.Package{}, err
	}
	phase := render.Phase{Name: PhaseCRDs, CollisionProtection: in.CRDCollisions}
	if phase.CollisionProtection == "" {
		phase.CollisionProtection = v1alpha1.CollisionPrevent
	}
	for _, crd := range crds {
		setLabel(crd, LabelOwned, "true")
		setAnnotation(crd, v1alpha1.AnnotationResourcePolicy, v1alpha1.ResourcePolicyKeep)
		setAnnotation(crd, AnnotationAppVersion, r.Version())
		phase.Objects = append(phase.Objects, render.Object{Manifest: crd, Deletion: v1alpha1.ObjectRetain})
	}
	origin := d.origin("base", r)
	if r != d.release {
		origin.Reason += fmt.Sprintf("; the CRDs stay at %s, as they never go back", r.Version())
	}
	return render.Package{Name: PackageCRDs, Phases: []render.Phase{phase}, Origin: origin}, nil
}

func setLabel(o *unstructured.Unstructured, key, value string) {
	labels := o.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[key] = value
	o.SetLabels(labels)
}

func setAnnotation(o *unstructured.Unstructured, key, value string) {
	annotations := o.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	o.SetAnnotations(annotations)
}
