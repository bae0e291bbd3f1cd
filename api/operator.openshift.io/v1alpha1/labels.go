// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

const (
	// Name is what every IstioCSR has to be called.
	Name = "default"

	// Finalizer holds an IstioCSR until its objects are released or torn down. It is
	// that of the cert-manager operator.
	Finalizer = "istiocsr.openshift.operator.io/cert-manager-istio-csr-controller"

	// AnnotationDeletionPolicy on an IstioCSR says what becomes of the agent when the
	// IstioCSR is deleted. With the value Delete it is removed; with Orphan, and without
	// the annotation, it keeps running, and its objects have no owner. Any other value
	// counts as Orphan, with a warning.
	AnnotationDeletionPolicy = "operator.openshift.io/istio-csr-deletion-policy"

	// AnnotationDropCAs on an IstioCSR names CA certificates that are leaving and that go at
	// once, without the time in which certificates of them are in use: by their digests in
	// status.caCertificates, separated by commas. Certificates of such a CA are refused from
	// then on. A CA that its source has, or that has signed the istiod certificate, is not
	// dropped, with a warning.
	AnnotationDropCAs = "operator.openshift.io/istio-csr-drop-cas"

	// DeletionPolicyDelete is the value of [AnnotationDeletionPolicy] that removes.
	DeletionPolicyDelete = "Delete"

	// DeletionPolicyOrphan is the value of [AnnotationDeletionPolicy] that lets the agent
	// run on.
	DeletionPolicyOrphan = "Orphan"
)
