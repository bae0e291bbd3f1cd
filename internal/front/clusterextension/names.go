// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
	"github.com/strata-run/strata/internal/front/clusterextension/resolve"
)

const (
	// longestName is how long the name of a package may be for its revisions to be labelled with it.
	longestName = 52
	// keptOfName is how much of a longer name stands in that of its package, before its digest.
	keptOfName = 43
)

// packageName is the name of the package of a ClusterExtension: its own while that is short, else the
// beginning of it and a part of its digest.
func packageName(name string) string {
	if len(name) <= longestName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return strings.TrimRight(name[:keptOfName], "-.") + "-" + hex.EncodeToString(sum[:4])
}

// ownerName is how labels name a ClusterExtension.
func ownerName(name string) string {
	if len(name) > validation.LabelValueMaxLength {
		return packageName(name)
	}
	return name
}

// objectLabels stand on every object of a ClusterExtension.
func objectLabels(name string) map[string]string {
	return map[string]string{olmv1.LabelOwnerKind: "ClusterExtension", olmv1.LabelOwnerName: ownerName(name)}
}

// revisionLabels stand on every revision of a ClusterExtension.
func revisionLabels(name string) map[string]string {
	labels := objectLabels(name)
	labels[olmv1.LabelOwner] = ownerName(name)
	return labels
}

// revisionAnnotations say which bundle a revision holds. The image is given by its digest, and the
// properties as JSON, empty for none.
func revisionAnnotations(pkg string, bundle resolve.Identity, image, properties string) map[string]string {
	annotations := map[string]string{
		olmv1.AnnotationPackageName: pkg, olmv1.AnnotationBundleName: bundle.Name,
		olmv1.AnnotationBundleVersion: bundle.Version, olmv1.AnnotationBundleReference: image,
	}
	if bundle.Release != nil {
		annotations[olmv1.AnnotationBundleRelease] = *bundle.Release
	}
	if properties != "" {
		annotations[olmv1.AnnotationProperties] = properties
	}
	return annotations
}

// identity is how a bundle stands in the origin of a revision, and so in the digest of its content.
func identity(pkg string, bundle resolve.Identity) string {
	text := pkg + "/" + bundle.Name + "/" + bundle.Version
	if bundle.Release != nil {
		text += "/" + *bundle.Release
	}
	return text
}

// bundleOf is the bundle that a revision says it holds, nil when it says none.
func bundleOf(annotations map[string]string) *resolve.Identity {
	if annotations[olmv1.AnnotationBundleName] == "" {
		return nil
	}
	bundle := &resolve.Identity{Name: annotations[olmv1.AnnotationBundleName], Version: annotations[olmv1.AnnotationBundleVersion]}
	if release, ok := annotations[olmv1.AnnotationBundleRelease]; ok {
		bundle.Release = &release
	}
	return bundle
}
