// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package certmanager

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/internal/front/istiocsr/cabundle"
	"github.com/strata-run/strata/internal/localplane/planetest"
)

// copyObject names the copy.
func (a install) copyObject() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: a.ic.Namespace, Name: cabundle.Name}}
}

// TestIstioCSR_TamperedWithoutSource changes the copy while nothing is there that it could
// be made from, and no manager that could remember it: first without the issuer, then
// without the whole mesh.
func TestIstioCSR_TamperedWithoutSource(t *testing.T) {
	m := mesh{t: t, namespace: planetest.Namespace(t, plane) + "-mesh"}
	namespace := m.create(`{apiVersion: v1, kind: Namespace, metadata: {name: NS}}`)
	m.root("root")
	m.issuer("istio-ca", "root")
	a := newInstall(m, nil)
	a.ready()
	root, stranger := m.ofSecret("root", "ca.crt"), authority(t, "stranger", 1e12).PEM
	missing := func(why string) {
		t.Helper()
		a.condition("Ready", "False/Progressing: "+why, "does not exist")
		a.copyIs("the copy to be repaired without "+why, root)
		// As the manager that runs has never seen the source, it goes by what it has found.
		a.tamper(root + stranger)
		a.copyIs("a CA to be thrown out without "+why, root)
		must(t, admin.Delete(t.Context(), a.copyObject()))
		a.copyIs("the copy to be made again without "+why, root)
	}
	withoutManager(t, func() {
		must(t, admin.Delete(t.Context(), m.issuerObject()))
		a.tamper(stranger)
	})
	missing("Issuer " + m.namespace + "/istio-ca")
	withoutManager(t, func() {
		must(t, admin.Delete(t.Context(), namespace))
		planetest.Eventually(t, "the mesh to be gone", func() (bool, error) {
			err := admin.Get(t.Context(), client.ObjectKeyFromObject(namespace), namespace.DeepCopy())
			return apierrors.IsNotFound(err), err
		})
		must(t, admin.Delete(t.Context(), a.copyObject()))
	})
	missing("namespace " + m.namespace)

	// A mesh that is made again has another root. What the old one has signed is still in
	// use elsewhere.
	m.create(`{apiVersion: v1, kind: Namespace, metadata: {name: NS}}`)
	m.root("root")
	m.issuer("istio-ca", "root")
	began := time.Now()
	a.ready()
	t.Logf("ready again after %s", time.Since(began).Round(time.Second))
	a.copyIs("both roots", m.ofSecret("root", "ca.crt")+root)
}
