// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiocsr

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front"
)

// annotationCertificateName is cert-manager's, on a Secret that it has issued.
const annotationCertificateName = "cert-manager.io/certificate-name"

// annotationReplaces stands on the Certificate of istiod, and names the one in whose place it is.
const annotationReplaces = "operator.openshift.io/istio-csr-replaces"

// holderAgain is how long it may take to see that an agent has ended that makes a Certificate.
const holderAgain = 5 * time.Second

var secretKind = schema.GroupVersionKind{Version: "v1", Kind: "Secret"}

// observeConflict looks whether the Secret of istiod is issued for another Certificate than that
// of istiod, and deletes that if an agent has left it, such as one of the Helm chart that made
// the certificate itself. It waits until the Certificate of istiod is there, so that the Secret
// has a Certificate at any time.
func (o *observer) observeConflict(ctx context.Context, ic *operatorv1alpha1.IstioCSR, facts *observed) error {
	mesh := ic.Spec.IstioCSRConfig.Istio.Namespace
	secret := front.Metadata(secretKind)
	if _, err := front.Read(ctx, o.objects, mesh, CertificateTarget, secret); err != nil {
		return err
	}
	name := secret.Annotations[annotationCertificateName]
	if name == "" || name == CertificateName {
		return nil
	}
	own, found, err := o.read(ctx, certificateKind, types.NamespacedName{Namespace: mesh, Name: CertificateName})
	if err != nil || !found || !holdsSecret(own) {
		return err
	}
	holder, found, err := o.read(ctx, certificateKind, types.NamespacedName{Namespace: mesh, Name: name})
	switch {
	case err != nil || found && holder.GetDeletionTimestamp() != nil:
		return err
	case !found || !holdsSecret(holder):
		return o.markReplaced(ctx, own, name)
	}
	certificate := types.NamespacedName{Namespace: mesh, Name: name}
	maker, err := o.makerOf(ctx, ic, certificate, facts)
	if err != nil {
		return err
	}
	return o.observeHolding(ctx, certificate, maker, secret, facts)
}

// observeHolding deletes the Certificate that has the Secret of istiod, or says why not.
func (o *observer) observeHolding(ctx context.Context, key types.NamespacedName, maker string, secret *metav1.PartialObjectMetadata, facts *observed) error {
	// What is watched has no managedFields.
	certificate := front.Untyped(certificateKind)
	found, err := front.Read(ctx, o.live, key.Namespace, key.Name, certificate)
	if err != nil || !found || !holdsSecret(certificate) {
		return err
	}
	holder := &Conflict{Name: key.Name, ByAgent: isByAgent(certificate), Maker: maker}
	switch {
	case !holder.ByAgent:
		facts.Conflict = holder
		return nil
	case maker != "":
		facts.Conflict = holder
		facts.waitFor(holderAgain)
		return nil
	}
	return o.deleteHolder(ctx, certificate, secret)
}

// deleteHolder deletes a Certificate, and not its Secret, with which istiod serves: where
// cert-manager has the Secret go with its Certificate, what belongs to it is orphaned.
func (o *observer) deleteHolder(ctx context.Context, certificate *unstructured.Unstructured, secret *metav1.PartialObjectMetadata) error {
	propagation := client.PropagationPolicy(metav1.DeletePropagationBackground)
	if slices.ContainsFunc(secret.OwnerReferences, func(r metav1.OwnerReference) bool { return r.UID == certificate.GetUID() }) {
		propagation = client.PropagationPolicy(metav1.DeletePropagationOrphan)
	}
	err := o.writer.Delete(ctx, certificate, propagation, client.Preconditions{UID: new(certificate.GetUID()), ResourceVersion: new(certificate.GetResourceVersion())})
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil // it has changed since, which is seen
	}
	if err != nil {
		return fmt.Errorf("deleting Certificate %s, which an agent has left: %w", client.ObjectKeyFromObject(certificate), err)
	}
	logr.FromContextOrDiscard(ctx).Info("Deleted a Certificate that an agent has left", "Certificate", client.ObjectKeyFromObject(certificate).String())
	return nil
}

// markReplaced notes on the Certificate of istiod in whose place it is. It has cert-manager look
// at it at once, which it otherwise does some minutes after it has seen two for one Secret.
func (o *observer) markReplaced(ctx context.Context, own *unstructured.Unstructured, name string) error {
	if own.GetAnnotations()[annotationReplaces] == name {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{annotationReplaces: name}}})
	if err != nil {
		return fmt.Errorf("encoding: %w", err)
	}
	if err := o.writer.Patch(ctx, own, client.RawPatch(types.MergePatchType, patch), front.FieldOwner); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("noting on Certificate %s what it replaces: %w", client.ObjectKeyFromObject(own), err)
	}
	return nil
}

// makerOf says which agent makes a Certificate: by its Deployment, and by its pod if that leads
// the agents of the mesh, as only that one makes Certificates. A pod outlives its Deployment for
// a while, and would make again what is deleted before it has ended.
func (o *observer) makerOf(ctx context.Context, ic *operatorv1alpha1.IstioCSR, certificate types.NamespacedName, facts *observed) (string, error) {
	for _, namespace := range agentsOf(ic, facts) {
		deployment, found, err := o.read(ctx, deploymentKind, types.NamespacedName{Namespace: namespace, Name: AgentName})
		if err != nil {
			return "", err
		}
		if found && givenTo(deployment.Object, "spec", "template", "spec").mayMake(certificate) {
			return "the agent in namespace " + namespace, nil
		}
	}
	lease, err := o.leader(ctx, ic, facts)
	switch {
	case apierrors.IsNotFound(err):
		return "", nil
	case err != nil:
		return "", err
	case lease.pod != nil && givenTo(lease.pod.Object, "spec").mayMake(certificate):
		return fmt.Sprintf("pod %s/%s", lease.pod.GetNamespace(), lease.pod.GetName()), nil
	case lease.pod == nil && isHeld(lease.object, o.now()):
		return fmt.Sprintf("the unknown agent that holds Lease %s/%s", certificate.Namespace, LeaseName), nil
	}
	return "", nil
}

// mayMake says whether an agent makes a Certificate, for all that can be read.
func (c commandLine) mayMake(certificate types.NamespacedName) bool {
	return c == nil || c.certificate() == certificate
}

// isHeld says whether the holder of a Lease has renewed it in time.
func isHeld(lease *unstructured.Unstructured, now time.Time) bool {
	// What is not as it should be is as if it were missing.
	holder, _, _ := unstructured.NestedString(lease.Object, "spec", "holderIdentity")
	renewed, _, _ := unstructured.NestedString(lease.Object, "spec", "renewTime")
	seconds, _, _ := unstructured.NestedInt64(lease.Object, "spec", "leaseDurationSeconds")
	at, err := time.Parse(time.RFC3339, renewed)
	return holder != "" && err == nil && now.Before(at.Add(time.Duration(seconds)*time.Second))
}

// holdsSecret says whether a Certificate that stays is issued into the Secret of istiod.
func holdsSecret(certificate *unstructured.Unstructured) bool {
	name, _, _ := unstructured.NestedString(certificate.Object, "spec", "secretName") // what is no text is no name
	return name == CertificateTarget && certificate.GetDeletionTimestamp() == nil
}

// isByAgent says whether an agent has made a Certificate, and no other client has written its
// spec: agents label nothing, and the field manager of what they write has the name of their
// program. What has an owner, or is of a package, is not left behind.
func isByAgent(certificate *unstructured.Unstructured) bool {
	if len(certificate.GetOwnerReferences()) > 0 || certificate.GetLabels()[v1alpha1.LabelPackage] != "" || releaseOf(certificate) != "" {
		return false
	}
	entries := certificate.GetManagedFields()
	others := slices.ContainsFunc(entries, func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager != AgentName && front.Owns(e.Manager, []metav1.ManagedFieldsEntry{e}, "f:spec")
	})
	return !others && front.Owns(AgentName, entries, "f:spec", "f:secretName")
}
