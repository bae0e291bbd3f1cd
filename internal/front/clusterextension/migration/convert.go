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

// installation is what OLM's controller has installed of a ClusterExtension.
type installation struct {
	// description is what revision 1 says about where it was read.
	description string
	// objects are those of its manifests.
	objects []*unstructured.Unstructured
	// labels say which bundle it is. Older ones lack some.
	labels map[string]string
	// unreadable is the error when there is something about it that cannot be imported.
	unreadable func(format string, args ...any) error
}

// Import is what an installation of OLM's controller becomes.
type Import struct {
	// Description says what it was imported from.
	Description string
	// Package is the name of the package in its catalog, Bundle that of it which is installed, and
	// Image its image by digest, empty when that is not known.
	Package string
	Bundle  resolve.Identity
	Image   string
	// Phases are those of revision 1.
	Phases []content.Phase
	// Images are those of the pods.
	Images []string
	// Notes are what differs from what OLM has installed, sorted by phase.
	Notes []string
}

// convert turns an installation into the content of revision 1. The bundle is the one that it says; for
// what an older one does not say, the status that OLM's controller has left.
func convert(from installation, ce *olmv1.ClusterExtension, target bundle.Target, scalers map[helmimport.Scaled]string) (is *Import, err error) {
	is = &Import{Description: from.description, Images: plain.Images(from.objects), Image: from.labels[olmv1.AnnotationBundleReference]}
	is.Package = cmp.Or(from.labels[olmv1.AnnotationPackageName], target.PackageName)
	if is.Bundle = identityOf(from.labels, ce); is.Bundle.Name == "" || is.Bundle.Version == "" {
		return nil, from.unreadable("does not say which bundle it has, and neither does status.install of the ClusterExtension")
	}
	if is.Phases, err = bundle.Phases(from.objects, target); err != nil {
		return nil, from.unreadable("has a manifest that cannot be applied: %v", err)
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

// identityOf is the bundle of an installation.
func identityOf(labels map[string]string, ce *olmv1.ClusterExtension) resolve.Identity {
	is := resolve.Identity{Name: labels[olmv1.AnnotationBundleName], Version: labels[olmv1.AnnotationBundleVersion]}
	if release, ok := labels[olmv1.AnnotationBundleRelease]; ok {
		is.Release = &release
	}
	if known := ce.Status.Install; known != nil && (is.Name == "" || is.Version == "") {
		is = resolve.Identity{Name: known.Bundle.Name, Version: known.Bundle.Version, Release: known.Bundle.Release}
	}
	return is
}

// installed reads the objects of a release's manifest.
func (r Release) installed() (installation, error) {
	of := installation{
		description: fmt.Sprintf("version %d of the release of OLM in Secret %s", r.Version, r.Secret), labels: r.Labels,
		unreadable: func(format string, args ...any) error { return unreadable(r.Secret, format, args...) },
	}
	number := 0
	for line := range strings.Lines(r.Manifest) {
		number++
		text := bytes.TrimSpace([]byte(line))
		if len(text) == 0 {
			continue
		}
		object, ok := objectOf(text)
		if !ok {
			return installation{}, of.unreadable("has a manifest whose line %d is no object as JSON", number)
		}
		of.objects = append(of.objects, object)
	}
	if len(of.objects) == 0 {
		return installation{}, of.unreadable("has a manifest without objects")
	}
	return of, nil
}

// objectOf is an object as JSON, and whether it is one.
func objectOf(text []byte) (*unstructured.Unstructured, bool) {
	object := &unstructured.Unstructured{}
	if json.Unmarshal(text, &object.Object) != nil || object.GetAPIVersion() == "" || object.GetKind() == "" || object.GetName() == "" {
		return nil, false
	}
	dropNulls(object.Object)
	return object, true
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
