// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayclass

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/istio"
)

// renderCRDs gives the package with the CRDs, or none when they are to be left alone.
func renderCRDs(in Input, d *decision) ([]content.Package, error) {
	if in.ForeignCRDs {
		return nil, nil
	}
	r, ok, err := istio.CRDRelease(releaseOfCRDs(in, d), in.CRDVersion)
	if err != nil {
		return nil, err
	}
	if !ok {
		reason := fmt.Sprintf("the CRDs in place are of Istio %s, newer than any that this manager has, and are never replaced by older ones", in.CRDVersion)
		return []content.Package{{Name: PackageCRDs, Blocked: reason, Origin: d.origin("base", istio.Newest())}}, nil
	}
	crds, err := r.CRDs()
	if err != nil {
		return nil, err
	}
	phase := content.Phase{Name: PhaseCRDs, CollisionProtection: in.CRDCollisions}
	if phase.CollisionProtection == "" {
		phase.CollisionProtection = v1alpha1.CollisionPrevent
	}
	for _, crd := range crds {
		setLabel(crd, LabelOwned, "true")
		setAnnotation(crd, v1alpha1.AnnotationResourcePolicy, v1alpha1.ResourcePolicyKeep)
		setAnnotation(crd, AnnotationAppVersion, r.Version())
		phase.Objects = append(phase.Objects, content.Object{Manifest: crd, Deletion: v1alpha1.ObjectRetain})
	}
	origin := d.origin("base", r)
	if r != releaseOfCRDs(in, d) {
		origin.Reason += fmt.Sprintf("; the CRDs stay at %s, as they never go back", r.Version())
	}
	return []content.Package{{Name: PackageCRDs, Phases: []content.Phase{phase}, Origin: origin}}, nil
}

// releaseOfCRDs is the newest that is to run, or does while no other may follow it.
func releaseOfCRDs(in Input, d *decision) *istio.Release {
	if running, known := istio.Resolve(in.Running); known && d.refused != "" {
		return running
	}
	if canary, _ := decideCanary(in, d); canary != nil {
		return canary.release // it is not older
	}
	return d.release
}

// OwnersOf decides who manages the CRDs that the classes need, see [Owners]. When what
// they ask for is not known, those of all versions count.
func OwnersOf(in Input, existing []CRD, living map[Subscription]bool) Ownership {
	names := istio.CRDNames()
	classes := counting(in.Classes)
	if len(classes) == 0 {
		return Owners(names, existing, living)
	}
	d, err := decide(in, classes)
	if err != nil {
		return Owners(names, existing, living)
	}
	release := releaseOfCRDs(in, d)
	wanted, err := release.CRDNames()
	if err != nil {
		return Owners(names, existing, living)
	}
	o := Owners(wanted, existing, living)
	// What is in place may be of a newer version, which has more of them.
	if r, ok, err := istio.CRDRelease(release, istio.Newer(in.CRDVersion, o.Version)); ok && err == nil && r != release {
		if newer, err := r.CRDNames(); err == nil {
			o = Owners(newer, existing, living)
		}
	}
	return o
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
