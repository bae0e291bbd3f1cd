// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package certmanager

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1alpha1 "github.com/strata-run/strata/api/operator.openshift.io/v1alpha1"
	"github.com/strata-run/strata/internal/front/istiocsr/cabundle"
	rig "github.com/strata-run/strata/internal/localplane/certmanager"
	"github.com/strata-run/strata/internal/localplane/planetest"
)

// TestIstioCSR_Rotation replaces the root of a mesh while workloads get certificates:
// each moment's CAs verify each moment's certificates. The agent is not restarted.
func TestIstioCSR_Rotation(t *testing.T) {
	a := working(t, nil)
	g := &agent{mesh: a.mesh, issuer: "istio-ca", copies: a.ic.Namespace}
	pods, revision := a.pods(), a.revision()
	w := a.witness(a.ic.Namespace)
	g.round()
	for _, certificate := range []string{"root", "istiod", "root", "istiod"} {
		before := g.cas()
		a.renew(certificate)
		if certificate == "root" {
			planetest.Eventually(t, "the new root beside the old one", func() (bool, error) {
				g.round()
				return countCAs(g.cas()) == countCAs(before)+1, nil
			})
		}
		for range 3 {
			g.round()
			a.get(a.ic)
			if !meta.IsStatusConditionTrue(a.ic.Status.Conditions, "Ready") {
				t.Errorf("after the renewal of %s it is not ready: %v", certificate, a.ic.Status.Conditions)
			}
		}
	}
	if got := countCAs(g.cas()); got != 3 {
		t.Errorf("after two rotations within the lifetime of a certificate there are %d CAs, want 3", got)
	}
	if diff := cmp.Diff(pods, a.pods()); diff != "" || a.revision() != revision {
		t.Errorf("a rotation restarts the agent, or makes revision %d out of %d; pods: -before +after\n%s", a.revision(), revision, diff)
	}
	w.check(g.handed, 0)
}

// TestIstioCSR_CA is about what the user chooses: what is wrong with it is reported, nothing
// of it is taken, and it heals at once.
func TestIstioCSR_CA(t *testing.T) {
	a := working(t, nil)
	a.root("stranger")
	secret := func(name, key string) string {
		return a.secret(a.object(`{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: x, namespace: NS}, spec: {secretName: `+name+`}}`), key)
	}
	root, stranger := secret("root", "ca.crt"), secret("stranger", "ca.crt")
	chosen := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: "mine"}}
	choose := func(reference *operatorv1alpha1.ConfigMapReference) {
		a.update(func(ic *operatorv1alpha1.IstioCSR) { ic.Spec.IstioCSRConfig.CertManager.IstioCACertificate = reference })
	}
	set := func(data map[string]string) {
		t.Helper()
		next := chosen.DeepCopy()
		next.Data = data
		err := admin.Update(t.Context(), next)
		if apierrors.IsNotFound(err) {
			err = admin.Create(t.Context(), next)
		}
		must(t, err)
	}
	pods := a.pods()
	choose(&operatorv1alpha1.ConfigMapReference{Namespace: a.namespace, Name: "mine", Key: "roots"})
	a.condition("Degraded", "True/Failed", "ConfigMap "+a.namespace+"/mine, key roots: the ConfigMap does not exist", `the last good copy ("root") stays in use`)
	for _, row := range []struct {
		name string
		data map[string]string
		want string
	}{
		{name: "no key", data: map[string]string{"other": root}, want: "the ConfigMap has no such key"},
		{name: "empty", data: map[string]string{"roots": ""}, want: "it is empty"},
		{name: "no PEM", data: map[string]string{"roots": "hello"}, want: "it contains no certificate in PEM"},
		{name: "another block", data: map[string]string{"roots": strings.ReplaceAll(root, "CERTIFICATE", "PUBLIC KEY")}, want: "block 1: its type is"},
		{name: "cut", data: map[string]string{"roots": root + root[:len(root)/2]}, want: "block 2: it is not valid PEM"},
		{name: "no CA", data: map[string]string{"roots": secret("istiod-tls", "tls.crt")}, want: "is not a CA"},
		{name: "CA, then none", data: map[string]string{"roots": root + secret("istiod-tls", "tls.crt")}, want: "block 2: certificate"},
		{name: "a key", data: map[string]string{"roots": root + secret("root", "tls.key")}, want: "block 2: it is a private key"},
		{name: "unrelated", data: map[string]string{"roots": stranger}, want: `none of its CAs ("stranger") has signed the istiod certificate`},
	} {
		set(row.data)
		a.condition("Degraded", "True/Failed", row.want)
		if got := copiedIn(t, a.ic.Namespace); got != root {
			t.Errorf("%s: the copy is\n%s\nwant the last good one\n%s", row.name, got, root)
		}
	}
	// While the source is wrong, a copy that is changed is repaired all the same.
	a.tamper(stranger)
	a.copyIs("the copy to be repaired", root)

	set(map[string]string{"roots": stranger + root})
	a.condition("Degraded", "False/Ready")
	a.copyIs("the chosen CAs", stranger+root)
	a.ready()
	must(t, admin.Delete(t.Context(), chosen.DeepCopy()))
	a.condition("Degraded", "True/Failed", "the ConfigMap does not exist")
	choose(nil)
	a.condition("Degraded", "False/Ready")
	a.ready()
	a.copyBegins(root)
	if diff := cmp.Diff(pods, a.pods()); diff != "" {
		t.Errorf("the agent was restarted: -before +after\n%s", diff)
	}
	var users corev1.Secret
	must(t, admin.Get(t.Context(), client.ObjectKey{Namespace: a.namespace, Name: "root"}, &users))
	if diff := cmp.Diff(map[string]string{"controller.cert-manager.io/fao": "true"}, users.Labels); diff != "" {
		t.Errorf("the labels of the user's Secret are not cert-manager's alone: -want +got\n%s", diff)
	}
}

// TestIstioCSR_Tampering changes the copy in steady state.
func TestIstioCSR_Tampering(t *testing.T) {
	a := working(t, nil)
	root := copiedIn(t, a.ic.Namespace)
	a.tamper(root + root[:10])
	began := time.Now()
	a.copyIs("the copy to be repaired", root)
	t.Logf("repaired after %s", time.Since(began).Round(time.Millisecond))
	must(t, admin.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: a.ic.Namespace, Name: cabundle.Name}}))
	a.copyIs("the copy to be made again", root)
	a.ready()

	// So it is while it is unknown what is wanted.
	issuer := a.object(`{apiVersion: cert-manager.io/v1, kind: Issuer, metadata: {name: istio-ca, namespace: NS}}`)
	must(t, admin.Delete(t.Context(), issuer))
	a.condition("Ready", "False/Progressing: Issuer "+a.namespace+"/istio-ca does not exist")
	a.tamper(root + root[:10])
	a.copyIs("the copy to be repaired without an issuer", root)
	a.issuer("istio-ca", "root")
	a.ready()
}

// TestIstioCSR_ClusterIssuer has its CA in cert-manager's own namespace, under a name
// that means something else in the namespace of the mesh.
func TestIstioCSR_ClusterIssuer(t *testing.T) {
	m := newMesh(t)
	m.root("root")
	var root corev1.Secret
	must(t, admin.Get(t.Context(), client.ObjectKey{Namespace: m.namespace, Name: "root"}, &root))
	name := "all-" + m.namespace
	copied := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: rig.Namespace, Name: name}, Type: root.Type, Data: root.Data}
	must(t, admin.Create(t.Context(), copied))
	must(t, admin.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: name}, Data: map[string][]byte{"ca.crt": []byte("nothing to do with it")}}))
	m.create(`{apiVersion: cert-manager.io/v1, kind: ClusterIssuer, metadata: {name: ` + name + `}, spec: {ca: {secretName: ` + name + `}}}`)
	a := newInstall(m, func(ic *operatorv1alpha1.IstioCSR) {
		ic.Spec.IstioCSRConfig.CertManager.IssuerRef.Kind, ic.Spec.IstioCSRConfig.CertManager.IssuerRef.Name = "ClusterIssuer", name
	})
	a.ready()
	a.copyIs("the CA of the ClusterIssuer", string(root.Data["ca.crt"]))
}

// tamper writes something else into the copy.
func (a install) tamper(cas string) {
	a.t.Helper()
	patch := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": cabundle.Name, "namespace": a.ic.Namespace},
		"data": map[string]any{cabundle.Key: cas},
	}}
	must(a.t, admin.Apply(a.t.Context(), client.ApplyConfigurationFromUnstructured(patch), client.FieldOwner("other-manager"), client.ForceOwnership))
}

func (a install) copyIs(what, want string) {
	a.t.Helper()
	planetest.Eventually(a.t, what, func() (bool, error) { return copiedIn(a.t, a.ic.Namespace) == want, nil })
}

// copyBegins checks the CAs that the source has; old ones may follow.
func (a install) copyBegins(want string) {
	a.t.Helper()
	if got := copiedIn(a.t, a.ic.Namespace); !strings.HasPrefix(got, want) {
		a.t.Errorf("the copy is\n%s\nwant it to begin with\n%s", got, want)
	}
}
