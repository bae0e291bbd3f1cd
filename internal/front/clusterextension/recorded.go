// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"cmp"
	"slices"
	"strings"

	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front/clusterextension/bundle"
	"github.com/strata-run/strata/internal/front/clusterextension/resolve"
)

// pinnedFor is what the digest of a bundle is looked up for. While it stays, no registry is asked
// what a tag is.
func pinnedFor(ce *olmv1.ClusterExtension, choice resolve.Choice) string {
	return strings.TrimSpace(choice.Image + " " + choice.CatalogDigest + " " + ce.Annotations[olmv1.AnnotationResolve])
}

// recordedImage is the image by its digest that a revision has recorded, empty for none.
func recordedImage(revisions []v1alpha1.Revision, wanted string) string {
	if found := newest(revisions, func(of map[string]string) bool { return of[olmv1.AnnotationPinnedFor] == wanted }); found != nil {
		return found.Annotations[olmv1.AnnotationBundleReference]
	}
	return ""
}

// recordedCertificates is where the webhooks of a ClusterExtension got their certificates from last.
func recordedCertificates(revisions []v1alpha1.Revision) bundle.Certificates {
	if found := newest(revisions, func(of map[string]string) bool { return of[olmv1.AnnotationWebhookCertificates] != "" }); found != nil {
		return bundle.Certificates(found.Annotations[olmv1.AnnotationWebhookCertificates])
	}
	return bundle.NoCertificates
}

// newest is the newest revision whose annotations match, nil for none.
func newest(revisions []v1alpha1.Revision, matches func(annotations map[string]string) bool) *v1alpha1.Revision {
	var found []*v1alpha1.Revision
	for i := range revisions {
		if matches(revisions[i].Annotations) {
			found = append(found, &revisions[i])
		}
	}
	if len(found) == 0 {
		return nil
	}
	return slices.MaxFunc(found, func(a, b *v1alpha1.Revision) int { return cmp.Compare(a.Spec.Revision, b.Spec.Revision) })
}
