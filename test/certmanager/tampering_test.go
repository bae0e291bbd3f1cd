// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package certmanager

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/internal/front/istiocsr/cabundle"
	"github.com/strata-run/strata/internal/localplane/planetest"
)

// TestTampering changes the copy as an administrator would, on an API server that
// tracks who owns which field.
func TestTampering(t *testing.T) {
	m := newMesh(t)
	m.root("root")
	m.root("stranger")
	m.issuer("ca", "root")
	istiod := m.istiod("ca")
	m.becomes(istiod, "True", "")
	request := cabundle.Request{
		Namespace: m.namespace, Labels: map[string]string{"app": "cert-manager-istio-csr"},
		Certificate: types.NamespacedName{Namespace: m.namespace, Name: "istiod-tls"}, Overlap: overlap,
	}
	// A copy that another operator has left, with a label and a CA of its own.
	stranger := m.object(`{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: stranger, namespace: NS}, spec: {secretName: stranger}}`)
	must(t, admin.Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: cabundle.Name, Labels: map[string]string{"their": "label"}},
		Data:       map[string]string{cabundle.Key: m.secret(stranger, "ca.crt"), "their": "data"},
	}))
	stop := m.keeping(request)
	want := m.secret(istiod, "ca.crt")
	repaired := func(what string) {
		t.Helper()
		began := time.Now()
		planetest.Eventually(t, what, func() (bool, error) { return m.copied() == want, nil })
		t.Logf("%s: repaired after %s", what, time.Since(began).Round(time.Millisecond))
	}
	tamper := func(change func(*corev1.ConfigMap)) {
		t.Helper()
		var copied corev1.ConfigMap
		must(t, admin.Get(t.Context(), client.ObjectKey{Namespace: m.namespace, Name: cabundle.Name}, &copied))
		change(&copied)
		must(t, admin.Update(t.Context(), &copied, client.FieldOwner("kubectl-edit")))
	}
	repaired("a copy that another operator has left")
	tamper(func(c *corev1.ConfigMap) { c.Data[cabundle.Key] += m.secret(stranger, "ca.crt") })
	repaired("a CA that is added")
	tamper(func(c *corev1.ConfigMap) { c.Data = nil; c.Immutable = new(true) })
	repaired("a copy that is emptied and made immutable")
	tamper(func(c *corev1.ConfigMap) { c.Labels["their"] = "label" })
	must(t, admin.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: cabundle.Name}}))
	repaired("a copy that is deleted")
	stop()
	tamper(func(c *corev1.ConfigMap) {
		c.Labels["their"] = "label"
		c.Data[cabundle.Key] = m.secret(stranger, "ca.crt")
	})
	m.keeping(request)
	repaired("a copy that is changed while no manager runs")
	var copied corev1.ConfigMap
	must(t, admin.Get(t.Context(), client.ObjectKey{Namespace: m.namespace, Name: cabundle.Name}, &copied))
	if copied.Labels["their"] != "label" || copied.Labels["app"] != "cert-manager-istio-csr" {
		t.Errorf("a repair takes labels of other managers away, or does not bring ours: %v", copied.Labels)
	}

	// Nothing is written at rest.
	planetest.Stays(t, 2*time.Second, "the copy is not written while nothing changes", func() (bool, error) {
		var later corev1.ConfigMap
		must(t, admin.Get(t.Context(), client.ObjectKeyFromObject(&copied), &later))
		return later.ResourceVersion == copied.ResourceVersion, nil
	})
}
