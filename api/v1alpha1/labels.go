// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

const (
	// LabelPackage stands on every managed object, Revision and ObjectSlice and
	// names the Package it belongs to. Informers select by it; ownership is never
	// proven by it alone.
	LabelPackage = "strata.run/package"

	// LabelFront stands on a Package that a front made and names the front.
	LabelFront = "strata.run/front"

	// AnnotationResourcePolicy is Helm's annotation for objects that an
	// uninstall leaves in place. With the value [ResourcePolicyKeep] an object is
	// retained, whatever its kind.
	AnnotationResourcePolicy = "helm.sh/resource-policy"

	// ResourcePolicyKeep is the value of [AnnotationResourcePolicy] that retains.
	ResourcePolicyKeep = "keep"

	// AnnotationRequestedAt stands on a Revision that a rollback has made. It is the
	// requestedAt of the request, in RFC 3339, so that a request is answered once
	// even if its outcome could not be recorded at first.
	AnnotationRequestedAt = "strata.run/rollback-requested-at"

	// AnnotationAllowPrune on a Package lets a revision be rolled out that has no
	// objects, or less than half of those of the current one. Its value is the
	// digest of the content, so that it is no standing permission.
	AnnotationAllowPrune = "strata.run/allow-prune"

	// AnnotationCRDUpgradeSafety on a Package, with the value
	// [CRDUpgradeSafetyNone], lets a revision change CustomResourceDefinitions in a
	// way that may break custom resources.
	AnnotationCRDUpgradeSafety = "strata.run/crd-upgrade-safety"

	// CRDUpgradeSafetyNone is the value of [AnnotationCRDUpgradeSafety] that turns
	// the checks off.
	CRDUpgradeSafetyNone = "None"

	// AnnotationAwaitingApproval stands on a Revision that started Paused since the
	// Package's approval is Manual. It goes with the approval, and tells such a pause
	// from one that a person has asked for.
	AnnotationAwaitingApproval = "strata.run/awaiting-approval"

	// SecretTypeManifests is the type of the Secrets that hold manifests of kind
	// Secret, see [SecretReference].
	SecretTypeManifests = "strata.run/manifests"

	// FinalizerTeardown holds a Package until its objects are torn down in
	// reverse phase order, or released.
	FinalizerTeardown = "strata.run/teardown"

	// FieldOwner is the field manager of every server-side apply of a managed
	// object. Drift is read from its managedFields entry.
	FieldOwner = "strata"
)
