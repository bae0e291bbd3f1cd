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

	// AnnotationFrontGroup stands on a Package that a front made for some of its
	// resources, and names these: a Gateway as namespace/name.
	AnnotationFrontGroup = "strata.run/front-group"

	// AnnotationFrontPause stands on a Package that a front has paused, and is the reason: a pause with
	// this reason ends when the front's resource no longer asks for it.
	AnnotationFrontPause = "strata.run/front-pause"

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

	// AnnotationAllowDeletion lets the policies of config/policy through what they refuse
	// otherwise: on a definition of Strata its deletion, and on a Package the removal of
	// its finalizer.
	AnnotationAllowDeletion = "strata.run/allow-deletion"

	// AnnotationRejectionLifted stands on a Package. It is the number of a Revision that is
	// a rollback and rejects nothing any more, because its own content was asked for since:
	// what it went back from is made again when that is asked for.
	AnnotationRejectionLifted = "strata.run/rejection-lifted"

	// AnnotationAutomaticRollback stands on a Revision that spec.onFailure has made. It
	// is when the deadline was found to have passed, in RFC 3339, so that a failure is
	// answered once even if its outcome could not be recorded at first.
	AnnotationAutomaticRollback = "strata.run/automatic-rollback-at"

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

	// AnnotationAllowVersion on a Package names the version that a rollback may go to
	// although its revision lies too many minor versions back, such as 1.28.2. A front that
	// bounds how far an upgrade may go takes it for that as well.
	AnnotationAllowVersion = "strata.run/allow-version"

	// AnnotationAwaitingApproval stands on a Revision that started Paused since the
	// Package's approval is Manual. It goes with the approval, and tells such a pause
	// from one that a person has asked for.
	AnnotationAwaitingApproval = "strata.run/awaiting-approval"

	// AnnotationPauseReason stands on a Revision whose lifecycleState a user has set
	// to Paused, and says why.
	AnnotationPauseReason = "strata.run/pause-reason"

	// AnnotationPausedBy stands on such a Revision and says who paused it. The policies of
	// config/policy refuse another name than that of the user who writes it.
	AnnotationPausedBy = "strata.run/paused-by"

	// AnnotationKeptAt stands on ObjectSlices and on the Secrets that hold manifests:
	// when a client has kept it last for a revision that is about to be made, in RFC
	// 3339. For an hour from then it is not collected.
	AnnotationKeptAt = "strata.run/kept-at"

	// AnnotationLeavingCAs stands on the ConfigMap with a mesh's CAs: when which of those
	// goes that their source no longer has, as DIGEST=TIME, separated by commas, and which
	// CA has signed nothing since it is there, as DIGEST=unused. The digest begins the
	// SHA-256 of the certificate, the time is in RFC 3339.
	AnnotationLeavingCAs = "strata.run/leaving-cas"

	// AnnotationCABundle stands on the pods of an istio-csr agent, and begins the SHA-256 of
	// the CAs that it was written for: a kubelet gives a pod that changes the newest content
	// of its ConfigMaps at once.
	AnnotationCABundle = "strata.run/ca-bundle"

	// SecretTypeManifests is the type of the Secrets that hold manifests of kind
	// Secret, see [SecretReference].
	SecretTypeManifests = "strata.run/manifests"

	// AnnotationPhase on a manifest that `strata apply` takes is the name of the phase
	// that it is put into: foundation, config, workloads or rest. This annotation and
	// those below are taken off before the manifest is stored.
	AnnotationPhase = "strata.run/phase"

	// AnnotationCollisionProtection on such a manifest is its collisionProtection.
	AnnotationCollisionProtection = "strata.run/collision-protection"

	// AnnotationDeletion on such a manifest is its deletion: Delete, Retain or DeleteUnused.
	AnnotationDeletion = "strata.run/deletion"

	// AnnotationOnImmutableChange on such a manifest is its onImmutableChange.
	AnnotationOnImmutableChange = "strata.run/on-immutable-change"

	// AnnotationCreateOnce on such a manifest, true or false, is its createOnce.
	AnnotationCreateOnce = "strata.run/create-once"

	// AnnotationUnmanagedFields on such a manifest are its unmanagedFields, separated by
	// commas, blanks or ends of lines.
	AnnotationUnmanagedFields = "strata.run/unmanaged-fields"

	// AnnotationExclusiveFields on such a manifest are its exclusiveFields, separated like
	// [AnnotationUnmanagedFields].
	AnnotationExclusiveFields = "strata.run/exclusive-fields"

	// AnnotationUpdatePhase on such a manifest is its updatePhase: a phase that comes
	// after its own.
	AnnotationUpdatePhase = "strata.run/update-phase"

	// AnnotationProbe on such a manifest is a probe for it, in YAML, as an entry of
	// spec.probes of a Revision without a selector; its name may be left out.
	AnnotationProbe = "strata.run/probe"

	// FinalizerTeardown holds a Package until its objects are torn down in
	// reverse phase order, or released; and a Revision that is deleted until its own
	// objects are torn down, or another revision has taken over from it.
	FinalizerTeardown = "strata.run/teardown"

	// FieldOwner is the field manager of every server-side apply of a managed
	// object. Drift is read from its managedFields entry.
	FieldOwner = "strata"
)
