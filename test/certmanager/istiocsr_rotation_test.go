// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package certmanager

import (
	"crypto/x509"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
	"github.com/strata-run/strata/internal/front/istiocsr/trust/trusttest"
	"github.com/strata-run/strata/internal/localplane/planetest"
	"github.com/strata-run/strata/revisions/probes"
)

// agent is one that reads what is kept for an install.
func (a install) agent() *agent {
	return &agent{mesh: a.mesh, issuer: "istio-ca", copies: a.ic.Namespace}
}

// ofSecret is a key of a Secret in the namespace of the mesh.
func (m mesh) ofSecret(name, key string) string {
	m.t.Helper()
	var secret corev1.Secret
	must(m.t, admin.Get(m.t.Context(), client.ObjectKey{Namespace: m.namespace, Name: name}, &secret))
	return string(secret.Data[key])
}

// signs has a Secret hold what an issuer of type CA signs with.
func (m mesh) signs(name, ca, certificates, key string) {
	m.t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: name}, Type: corev1.SecretTypeTLS}
	secret.Data = map[string][]byte{"ca.crt": []byte(ca), "tls.crt": []byte(certificates), "tls.key": []byte(key)}
	if err := admin.Update(m.t.Context(), secret); err != nil {
		must(m.t, admin.Create(m.t.Context(), secret))
	}
}

// issuerObject is the issuer of an install.
func (m mesh) issuerObject() *unstructured.Unstructured {
	return m.object(`{apiVersion: cert-manager.io/v1, kind: Issuer, metadata: {name: istio-ca, namespace: NS}}`)
}

// authority is a CA of today.
func authority(t *testing.T, name string, lifetime time.Duration) trusttest.Authority {
	t.Helper()
	return trusttest.CA(t, name, func(c *x509.Certificate) {
		c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(lifetime)
	})
}

// TestIstioCSR_RotationTwiceAtOnce replaces root and istiod certificate twice, without a
// pause in which anybody could follow. What is in use stays in use all the time; what is
// new is trusted at once, as far as watches are at once.
func TestIstioCSR_RotationTwiceAtOnce(t *testing.T) {
	a := working(t, nil)
	g, w := a.agent(), a.witness(a.ic.Namespace)
	g.round()
	for range 2 {
		a.renew("root")
		a.renew("istiod")
	}
	root := a.ofSecret("root", "ca.crt")
	planetest.Eventually(t, "the newest root to be first", func() (bool, error) { return strings.HasPrefix(g.cas(), root), nil })
	for range 3 {
		g.round()
	}
	a.ready()
	w.check(g.handed, 20*time.Second)
}

// TestIstioCSR_RotationWithoutManager replaces the root while no manager runs. The next
// one finds its way, and no workload loses its certificate.
func TestIstioCSR_RotationWithoutManager(t *testing.T) {
	a := working(t, nil)
	g, w := a.agent(), a.witness(a.ic.Namespace)
	old := g.cas()
	g.round()
	began := time.Now()
	withoutManager(t, func() {
		a.renew("root")
		a.renew("istiod")
	})
	both := a.ofSecret("root", "ca.crt") + old
	a.copyIs("both roots", both)
	late := time.Since(began)
	a.ready()
	for range 3 {
		g.round()
	}
	w.check(g.handed, late)

	// The same, in the midst of a rotation that has begun before.
	a.renew("root")
	a.copyIs("three roots", a.ofSecret("root", "ca.crt")+both)
	w = a.witness(a.ic.Namespace)
	withoutManager(t, func() { a.renew("istiod") })
	a.ready()
	g.round()
	a.copyBegins(a.ofSecret("root", "ca.crt"))
	w.check(g.handed, 0)
}

// TestIstioCSR_ForeignRoot: a root that a user puts beside what the issuer signs with is
// refused. One that the issuer signs with is served beside the old one, since what it
// signs has to be trusted from the first moment on; that one stays until the istiod
// certificate has been issued again.
func TestIstioCSR_ForeignRoot(t *testing.T) {
	m := newMesh(t)
	own, stranger := authority(t, "own", time.Hour*24), authority(t, "stranger", time.Hour*24)
	m.signs("mine", own.PEM, own.PEM, own.KeyPEM(t))
	m.issuer("istio-ca", "mine")
	a := newInstall(m, nil)
	a.ready()
	g, w := a.agent(), a.witness(a.ic.Namespace)
	g.round()
	m.signs("mine", stranger.PEM, own.PEM, own.KeyPEM(t))
	a.condition("Degraded", "True/Failed: Secret "+m.namespace+"/mine of the issuer", `none of its CAs ("stranger") has signed the istiod certificate`, "put the CA that its tls.crt leads to into its ca.crt", `the last good copy ("own") stays in use`)
	a.copyIs("the root of before", own.PEM)
	m.signs("mine", own.PEM, own.PEM, own.KeyPEM(t))
	a.ready()
	g.round()
	a.copyIs("the root of before, as if nothing had been", own.PEM)

	m.signs("mine", stranger.PEM, stranger.PEM, stranger.KeyPEM(t))
	a.copyIs("both", stranger.PEM+own.PEM)
	a.ready()
	g.round()
	m.renew("istiod")
	a.ready()
	g.round()
	a.copyIs("both for as long as certificates of the old root are in use", stranger.PEM+own.PEM)
	w.check(g.handed, 0)
}

// TestIstioCSR_Intermediate: an issuer below a root. Another certificate in the middle
// changes nothing; another root is served as soon as the one in the middle is below it.
func TestIstioCSR_Intermediate(t *testing.T) {
	m := newMesh(t)
	m.root("root")
	m.issuer("above", "root")
	middle := m.create(`
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: middle, namespace: NS}
spec:
  isCA: true
  commonName: middle
  secretName: middle
  privateKey: {algorithm: ECDSA, rotationPolicy: Always}
  issuerRef: {name: above, kind: Issuer, group: cert-manager.io}
`)
	m.becomes(middle, probes.True, "")
	m.issuer("istio-ca", "middle")
	a := newInstall(m, nil)
	a.ready()
	root := m.ofSecret("root", "ca.crt")
	a.copyIs("the root alone", root)
	g, w := a.agent(), a.witness(a.ic.Namespace)
	g.round()
	if got := countCAs(g.handed[0].certificates); got != 2 {
		t.Errorf("a chain has %d certificates, want 2", got)
	}
	for _, name := range []string{"middle", "istiod", "root"} {
		m.renew(name)
		g.round()
		a.copyIs("the root alone after the renewal of "+name, root)
	}
	m.renew("middle")
	next := m.ofSecret("root", "ca.crt")
	a.copyIs("both roots", next+root)
	g.round()
	m.renew("istiod")
	g.round()
	a.ready()
	a.copyIs("both roots for a while", next+root)
	w.check(g.handed, 0)
}

// TestIstioCSR_CrossSigned: a new root that the old one has signed is in use before
// anybody has to trust it, and is trusted alone in the end.
func TestIstioCSR_CrossSigned(t *testing.T) {
	m := newMesh(t)
	old, next := authority(t, "old", time.Hour*24), authority(t, "next", time.Hour*24)
	cross := next.Cross(t, old)
	m.signs("mine", old.PEM, old.PEM, old.KeyPEM(t))
	m.issuer("istio-ca", "mine")
	a := newInstall(m, nil)
	a.ready()
	g, w := a.agent(), a.witness(a.ic.Namespace)
	g.round()
	m.signs("mine", old.PEM, cross.PEM, next.KeyPEM(t))
	m.renew("istiod")
	g.round()
	a.copyIs("the old root alone, to which all of them lead", old.PEM)
	a.ready()
	m.signs("mine", next.PEM, next.PEM, next.KeyPEM(t))
	a.copyIs("both roots", next.PEM+old.PEM)
	g.round()
	m.renew("istiod")
	g.round()
	a.ready()
	w.check(g.handed, 0)
	for i, c := range g.handed[1:] {
		if err := verify(c.certificates, next.PEM, time.Now()); err != nil {
			t.Errorf("certificate %d needs the old root: %v", i+2, err)
		}
	}
}

// TestIstioCSR_ExpiredRoot: a chosen root that expires is left out without any event, with a
// warning, and keeps the others from nothing.
func TestIstioCSR_ExpiredRoot(t *testing.T) {
	a := working(t, nil)
	root, short := a.ofSecret("root", "ca.crt"), authority(t, "short", 30*time.Second)
	chosen := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: "mine"}, Data: map[string]string{"roots": root + short.PEM}}
	must(t, admin.Create(t.Context(), chosen))
	a.update(func(ic *operatorv1alpha1.IstioCSR) {
		ic.Spec.IstioCSRConfig.CertManager.IstioCACertificate = &operatorv1alpha1.ConfigMapReference{Namespace: a.namespace, Name: "mine", Key: "roots"}
	})
	a.copyIs("both roots", root+short.PEM)
	a.condition("Ready", "True/Ready", `CA "short" expires soon`)
	a.copyIs("the root that is valid", root)
	a.condition("Ready", "True/Ready", `CA "short" of ConfigMap `+a.namespace+`/mine, key roots has expired and is left out: remove it there`)
	a.condition("Degraded", "False/Ready")
	chosen.Data["roots"] = "\uFEFF" + root
	must(t, admin.Update(t.Context(), chosen))
	a.readyWithoutWarning("the warning to go")
	a.copyIs("the root", root)
}
