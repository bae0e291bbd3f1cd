// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

// Names that a ClusterExtension carries.
const (
	// Finalizer holds a ClusterExtension until its package is torn down.
	Finalizer = "strata.run/clusterextension"

	// AnnotationPaused on a ClusterExtension pauses its package. Its value is the reason, such as
	// "maintenance until 14:00".
	AnnotationPaused = "strata.run/paused"

	// AnnotationApproval on a ClusterExtension is Manual or Automatic: that of its package.
	AnnotationApproval = "strata.run/approval"

	// AnnotationOnFailure on a ClusterExtension is Hold or Rollback: what its package does when a
	// revision fails.
	AnnotationOnFailure = "strata.run/on-failure"

	// AnnotationResolve on a ClusterExtension has the tag of its bundle looked up again when its value
	// changes, and the bundle pulled again that could not be.
	AnnotationResolve = "strata.run/resolve"

	// AnnotationRender on a ClusterExtension, with any value, has the bundle rendered anew that was
	// imported from a release of OLM's own controller. Pods may restart.
	AnnotationRender = "strata.run/render"

	// AnnotationCustomResources with the value Delete has the CustomResourceDefinitions of a
	// ClusterExtension go with it although custom resources exist, and these with them. It has to be set
	// before the ClusterExtension is deleted: it takes effect when the package has rolled it out.
	AnnotationCustomResources = "strata.run/custom-resources"

	// AnnotationCatalogFolder on a ClusterCatalog names a folder of the manager, below that of
	// --catalog-folders, which is read instead of the image.
	AnnotationCatalogFolder = "strata.run/catalog-folder"

	// LabelCatalogName selects a ClusterCatalog by its name, in spec.source.catalog.selector.
	LabelCatalogName = "olm.operatorframework.io/metadata.name"
)

// Labels of the Revisions and objects of a ClusterExtension.
const (
	// LabelOwnerKind is ClusterExtension.
	LabelOwnerKind = "olm.operatorframework.io/owner-kind"

	// LabelOwnerName is the name of the ClusterExtension; where that has more than 63 characters,
	// the name of its package.
	LabelOwnerName = "olm.operatorframework.io/owner-name"

	// LabelOwner is as LabelOwnerName, on Revisions only.
	LabelOwner = "olm.operatorframework.io/owner"
)

// Annotations of the Revisions of a ClusterExtension: which bundle they hold.
const (
	// AnnotationPackageName is the name of the package in its catalog.
	AnnotationPackageName = "olm.operatorframework.io/package-name"

	// AnnotationBundleName is the name of the bundle.
	AnnotationBundleName = "olm.operatorframework.io/bundle-name"

	// AnnotationBundleVersion is the version of the bundle.
	AnnotationBundleVersion = "olm.operatorframework.io/bundle-version"

	// AnnotationBundleRelease is the release of the bundle, where it has one.
	AnnotationBundleRelease = "olm.operatorframework.io/bundle-release"

	// AnnotationBundleReference is the image of the bundle, by its digest.
	AnnotationBundleReference = "olm.operatorframework.io/bundle-reference"

	// AnnotationPinnedFor is what the digest of the image was looked up for: the image and the digest of
	// the catalog, and the value of strata.run/resolve. Unlike those of strata.run, a rollback copies it.
	AnnotationPinnedFor = "olm.strata.run/pinned-for"

	// AnnotationImported is on a Revision that was imported from a release of OLM's own controller:
	// a digest of the configuration that it stands for.
	AnnotationImported = "olm.strata.run/imported"

	// AnnotationWebhookCertificates is where the webhooks of the bundle get their certificates from:
	// cert-manager or service-ca. What was chosen first stays.
	AnnotationWebhookCertificates = "olm.strata.run/webhook-certificates"

	// AnnotationProperties are the properties of the bundle, as JSON, where it has any.
	AnnotationProperties = "olm.properties"
)
