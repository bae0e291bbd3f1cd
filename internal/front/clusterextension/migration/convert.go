// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"

	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/content/plain"
	"github.com/strata-run/strata/internal/front/clusterextension/bundle"
	"github.com/strata-run/strata/internal/front/clusterextension/resolve"
	"github.com/strata-run/strata/internal/helmimport"
)

// replicas is left to an autoscaler.
const replicas = ".spec.replicas"

// Import is what a release becomes.
type Import struct {
	// Release is the one.
	Release Release
	// Package is the name of the package in its catalog, Bundle that of it which is installed, and
	// Image its image by digest, empty when that is not known.
	Package string
	Bundle  resolve.Identity
	Image   string
	// Phases are those of revision 1.
	Phases []content.Phase
	// Images are those of the pods.
	Images []string
	// Notes are what differs from the release, sorted by phase.
	Notes []string
}

// convert turns a release into the content of revision 1. The bundle is the one that the release says;
// for what an older release does not say, the status that OLM's controller has left.
func convert(r Release, ce *olmv1.ClusterExtension, target bundle.Target, scalers map[helmimport.Scaled]string) (*Import, error) {
	objects, err := objectsOf(r)
	if err != nil {
		return nil, err
	}
	is := &Import{Release: r, Images: plain.Images(objects), Image: r.Labels[olmv1.AnnotationBundleReference]}
	is.Package = cmp.Or(r.Labels[olmv1.AnnotationPackageName], target.PackageName)
	if is.Bundle = identityOf(r, ce); is.Bundle.Name == "" || is.Bundle.Version == "" {
		return nil, unreadable(r.Secret, "does not say which bundle it has, and neither does status.install of the ClusterExtension")
	}
	if is.Phases, err = bundle.Phases(objects, target); err != nil {
		return nil, unreadable(r.Secret, "has a manifest that cannot be applied: %v", err)
	}
	for i := range is.Phases {
		is.Phases[i].CollisionProtection = v1alpha1.CollisionNone
		for j := range is.Phases[i].Objects {
			is.yieldReplicas(&is.Phases[i].Objects[j], scalers)
		}
	}
	return is, nil
}

// yieldReplicas leaves those of what an autoscaler scales to it: to set them would stop pods.
func (is *Import) yieldReplicas(object *content.Object, scalers map[helmimport.Scaled]string) {
	scaler, ok := scalers[helmimport.ScaledOf(object.Manifest)]
	if _, found, _ := unstructured.NestedFieldNoCopy(object.Manifest.Object, "spec", "replicas"); ok && found {
		object.UnmanagedFields = []string{replicas}
		is.Notes = append(is.Notes, fmt.Sprintf("spec.replicas of %s is left to HorizontalPodAutoscaler %s", plain.NameOf(object.Manifest), scaler))
	}
}

// identityOf is the bundle of a release.
func identityOf(r Release, ce *olmv1.ClusterExtension) resolve.Identity {
	is := resolve.Identity{Name: r.Labels[olmv1.AnnotationBundleName], Version: r.Labels[olmv1.AnnotationBundleVersion]}
	if release, ok := r.Labels[olmv1.AnnotationBundleRelease]; ok {
		is.Release = &release
	}
	if known := ce.Status.Install; known != nil && (is.Name == "" || is.Version == "") {
		is = resolve.Identity{Name: known.Bundle.Name, Version: known.Bundle.Version, Release: known.Bundle.Release}
	}
	return is
}

// objectsOf are the objects of a release's manifest.
func objectsOf(r Release) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	number := 0
	for line := range strings.Lines(r.Manifest) {
		number++
		text := bytes.TrimSpace([]byte(line))
		if len(text) == 0 {
			continue
		}
		object := &unstructured.Unstructured{}
		if json.Unmarshal(text, &object.Object) != nil || object.GetAPIVersion() == "" || object.GetKind() == "" || object.GetName() == "" {
			return nil, unreadable(r.Secret, "has a manifest whose line %d is no object as JSON", number)
		}
		dropNulls(object.Object)
		objects = append(objects, object)
	}
	if len(objects) == 0 {
		return nil, unreadable(r.Secret, "has a manifest without objects")
	}
	return objects, nil
}

// dropNulls takes out fields without a value, such as the creationTimestamp that encoders leave: an
// apply would own them.
func dropNulls(value any) {
	switch v := value.(type) {
	case map[string]any:
		for key, child := range v {
			if child == nil {
				delete(v, key)
			} else {
				dropNulls(child)
			}
		}
	case []any:
		for _, child := range v {
			dropNulls(child)
		}
	}
}
