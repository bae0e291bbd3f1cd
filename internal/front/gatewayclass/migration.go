// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayclass

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kinds of the Sail operator, with which OLM-based operators before this one have
// installed their control plane: an Istio named [IstioRevision] is the request, an
// IstioRevision of the same name what the Sail operator has made of it.
var (
	KindIstio         = schema.GroupVersionKind{Group: "sailoperator.io", Version: "v1", Kind: "Istio"}
	KindIstioRevision = schema.GroupVersionKind{Group: "sailoperator.io", Version: "v1", Kind: "IstioRevision"}
)

// MigrationPatience is how long the Sail operator may take to remove a control plane
// before the status says how to help.
const MigrationPatience = 5 * time.Minute

// Migration is what is left of an OLM-based installation.
type Migration struct {
	// Pending says that there is something left, and that the control plane has to
	// wait until it is gone.
	Pending bool
	// Delete says that the Istio is still to be deleted.
	Delete bool
	// Since is when the deletion was asked for, zero before.
	Since time.Time

	waitsFor []*unstructured.Unstructured
}

// MigrationOf reads the state from the Istio and the IstioRevision named
// [IstioRevision], which are nil where there are none. An object of that name that
// belongs to another user is not touched.
func MigrationOf(istio, revision *unstructured.Unstructured) Migration {
	m := Migration{}
	if isOurs(istio) {
		m.waitsFor = append(m.waitsFor, istio)
		m.Delete = istio.GetDeletionTimestamp().IsZero()
	}
	// An IstioRevision outlives its Istio by its finalizer. One whose Istio is not
	// ours is its own.
	if isOurs(revision) && (istio == nil || isOurs(istio)) {
		m.waitsFor = append(m.waitsFor, revision)
	}
	m.Pending = len(m.waitsFor) > 0
	for _, o := range m.waitsFor {
		if at := o.GetDeletionTimestamp(); !at.IsZero() && (m.Since.IsZero() || at.Time.Before(m.Since)) {
			m.Since = at.Time
		}
	}
	return m
}

// isOurs recognises what operators before this one have made: by its name, and by an
// owner of kind GatewayClass or its namespace. The name alone could be anybody's.
func isOurs(o *unstructured.Unstructured) bool {
	if o == nil || o.GetName() != IstioRevision {
		return false
	}
	for _, owner := range o.GetOwnerReferences() {
		if owner.Kind == "GatewayClass" && strings.HasPrefix(owner.APIVersion, "gateway.networking.k8s.io/") {
			return true
		}
	}
	namespace, _, _ := unstructured.NestedString(o.Object, "spec", "namespace")
	return namespace == Namespace
}

// IsLate says that it takes longer than it should, and a person may have to help.
func (m Migration) IsLate(now time.Time) bool {
	return m.Pending && !m.Since.IsZero() && now.Sub(m.Since) >= MigrationPatience
}

// Message says what is waited for, empty when nothing is. It changes with what it is
// about and once when that is late, not with every look at the clock.
func (m Migration) Message(now time.Time) string {
	if !m.Pending {
		return ""
	}
	parts := make([]string, 0, len(m.waitsFor))
	for _, o := range m.waitsFor {
		part := o.GetKind() + " " + o.GetName()
		if finalizers := o.GetFinalizers(); len(finalizers) > 0 && !o.GetDeletionTimestamp().IsZero() {
			part += " (finalizer " + strings.Join(finalizers, ", ") + ")"
		}
		parts = append(parts, part)
	}
	text := "waiting for the Sail operator to remove the OLM-based control plane: " + strings.Join(parts, " and ") + " to be gone"
	if !m.IsLate(now) {
		return text
	}
	last := m.waitsFor[len(m.waitsFor)-1]
	return text + fmt.Sprintf(". The Sail operator has not removed it within %s: check that the operator runs. If it is uninstalled, remove the finalizer by hand: "+
		`kubectl patch %s.sailoperator.io %s --type=merge -p '{"metadata":{"finalizers":null}}'`,
		MigrationPatience, strings.ToLower(last.GetKind()), last.GetName())
}

// Again is when to look again for want of an event: when it becomes late. 0 is never.
func (m Migration) Again(now time.Time) time.Duration {
	if !m.Pending || m.Since.IsZero() || m.IsLate(now) {
		return 0
	}
	return m.Since.Add(MigrationPatience).Sub(now) + time.Second
}
