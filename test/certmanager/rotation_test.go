// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package certmanager

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/internal/controller/cacopy"
	"github.com/strata-run/strata/internal/localplane/planetest"
)

// overlap is for how long a workload uses its certificate.
const overlap = 5 * time.Second

// keeping runs a keeper of the CAs on the events of what concerns it, and on its
// clock, until the test ends or the function that is returned is called.
func (m mesh) keeping(request cacopy.Request) (stop func()) {
	m.t.Helper()
	ctx, cancel := context.WithCancel(m.t.Context())
	metadata, err := cache.New(plane.Config(), cache.Options{})
	must(m.t, err)
	keeper := &cacopy.Keeper{Cache: metadata, Live: admin, Writer: admin}
	wake := make(chan struct{}, 1)
	for _, kind := range []string{"ConfigMap", "Secret"} {
		informer, err := metadata.GetInformer(ctx, &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: kind}}, cache.BlockUntilSynced(false))
		must(m.t, err)
		notice := func(event any) {
			if gone, ok := event.(toolscache.DeletedFinalStateUnknown); ok {
				event = gone.Obj
			}
			object, ok := event.(client.Object)
			if ok && keeper.Concerns(kind, object.GetNamespace(), object.GetName()) {
				select {
				case wake <- struct{}{}:
				default:
				}
			}
		}
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc: notice, UpdateFunc: func(_, event any) { notice(event) }, DeleteFunc: notice,
		})
		must(m.t, err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := metadata.Start(ctx); err != nil {
			m.t.Errorf("the cache of metadata: %v", err)
		}
	}()
	go func() {
		metadata.WaitForCacheSync(ctx)
		for ctx.Err() == nil {
			state, err := keeper.Keep(ctx, request)
			again := time.Hour
			switch {
			case err != nil && ctx.Err() == nil && !apierrors.IsConflict(err):
				m.t.Errorf("keeping the CAs: %v", err)
			case err != nil:
				again = 10 * time.Millisecond
			case state.Again(time.Now()) > 0:
				again = state.Again(time.Now())
			}
			select {
			case <-wake:
			case <-time.After(again):
			case <-ctx.Done():
			}
		}
	}()
	stop = func() { cancel(); <-ended }
	m.t.Cleanup(stop)
	return stop
}

// copied are the CAs in the copy, when it stands in the namespace of the mesh.
func (m mesh) copied() string {
	m.t.Helper()
	return copiedIn(m.t, m.namespace)
}

// copiedIn are the CAs in the copy in a namespace.
func copiedIn(t *testing.T, namespace string) string {
	t.Helper()
	var copied corev1.ConfigMap
	must(t, client.IgnoreNotFound(admin.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: cacopy.Name}, &copied)))
	return copied.Data[cacopy.Key]
}

// countCAs counts the CAs in a copy.
func countCAs(cas string) int { return strings.Count(cas, "BEGIN CERTIFICATE") }

// agent plays the mesh's agent for workloads: it has their certificates signed by the
// real issuer, and hands out those that lead to the CAs in its file.
type agent struct {
	mesh

	// issuer signs, and copies is the namespace with the CAs.
	issuer, copies string
	// inUse are the certificates that workloads have, count how many ever were.
	inUse []handed
	count int
}

type handed struct {
	certificates string
	until        time.Time
}

// round has one more certificate signed, and checks all that are in use before and
// after: the CAs of each moment verify the certificates of that moment.
func (a *agent) round() {
	a.t.Helper()
	a.check()
	for {
		certificates := a.sign()
		if verify(certificates, a.cas(), time.Now()) == nil {
			a.inUse = append(a.inUse, handed{certificates, time.Now().Add(overlap)})
			a.count++
			break
		}
		// As the agent does: the issuer was faster than the copy.
		a.check()
	}
	a.check()
}

// cas are those that the agent reads.
func (a *agent) cas() string {
	a.t.Helper()
	return copiedIn(a.t, a.copies)
}

func (a *agent) check() {
	a.t.Helper()
	var rest []handed
	cas := a.cas()
	for _, c := range a.inUse {
		if time.Now().After(c.until) {
			continue
		}
		if err := verify(c.certificates, cas, time.Now()); err != nil {
			a.t.Fatalf("a certificate in use until %s is not trusted: %v; there are %d CAs", c.until, err, countCAs(cas))
		}
		rest = append(rest, c)
	}
	a.inUse = rest
	var istiod corev1.Secret
	must(a.t, admin.Get(a.t.Context(), client.ObjectKey{Namespace: a.namespace, Name: "istiod-tls"}, &istiod))
	if err := verify(string(istiod.Data["tls.crt"]), cas, time.Now()); err != nil {
		a.t.Fatalf("the istiod certificate is not trusted: %v; there are %d CAs", err, countCAs(cas))
	}
}

// sign has a certificate signed, through a request of the kind that the agent makes.
func (a *agent) sign() string {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(a.t, err)
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "workload"}, DNSNames: []string{"workload"}}, key)
	must(a.t, err)
	request := a.object(`
apiVersion: cert-manager.io/v1
kind: CertificateRequest
metadata: {generateName: istio-csr-, namespace: NS}
spec:
  duration: 1h
  usages: [client auth, server auth]
  issuerRef: {name: ` + a.issuer + `, kind: Issuer, group: cert-manager.io}
`)
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
	must(a.t, unstructured.SetNestedField(request.Object, base64.StdEncoding.EncodeToString(text), "spec", "request"))
	must(a.t, admin.Create(a.t.Context(), request))
	var certificate string
	planetest.Eventually(a.t, "a certificate for a workload", func() (bool, error) {
		a.get(request)
		certificate, _, err = unstructured.NestedString(request.Object, "status", "certificate")
		return certificate != "", err
	})
	decoded, err := base64.StdEncoding.DecodeString(certificate)
	must(a.t, err)
	return string(decoded)
}

// until makes rounds until a number of CAs is in the copy, and some more then.
func (a *agent) until(cas int, what string) {
	a.t.Helper()
	for deadline := time.Now().Add(time.Minute); countCAs(a.cas()) != cas; a.round() {
		if time.Now().After(deadline) {
			a.t.Fatalf("%s: there are %d CAs, want %d", what, countCAs(a.cas()), cas)
		}
	}
	for range 3 {
		a.round()
	}
}

// TestTrustThroughRotations replaces the CA of a mesh again and again, while workloads
// get certificates all the time.
func TestTrustThroughRotations(t *testing.T) {
	m := newMesh(t)
	m.root("root")
	issuer := m.issuer("ca", "root")
	m.becomes(issuer, "True", "")
	istiod := m.istiod("ca")
	m.becomes(istiod, "True", "")
	request := cacopy.Request{
		Namespace: m.namespace, Labels: map[string]string{"app": "cert-manager-istio-csr"},
		IssuerSecret: types.NamespacedName{Namespace: m.namespace, Name: "root"},
		Certificate:  types.NamespacedName{Namespace: m.namespace, Name: "istiod-tls"},
		Overlap:      overlap,
	}
	stop := m.keeping(request)
	planetest.Eventually(t, "the copy", func() (bool, error) { return countCAs(m.copied()) == 1, nil })
	a := &agent{mesh: m, issuer: "ca", copies: m.namespace}
	a.round()

	m.renew("root")
	a.until(2, "the new CA is served beside the old one")
	m.renew("istiod")
	a.until(1, "the old CA goes when nobody uses its certificates any more")

	// The same with a restart in each state.
	m.renew("root")
	a.until(2, "in a second rotation, too")
	stop()
	stop = m.keeping(request)
	a.until(2, "after a restart before the istiod certificate is renewed")
	m.renew("istiod")
	stop()
	stop = m.keeping(request)
	a.until(1, "after a restart, the old CA goes in the end")

	// The user takes over, with both CAs before the issuer changes.
	must(t, admin.Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: "mine"}, Data: map[string]string{"roots": m.copied()},
	}))
	stop()
	request.Reference = &cacopy.Reference{Name: "mine", Key: "roots"}
	m.keeping(request)
	a.until(1, "a choice of the same CA changes nothing")
	t.Logf("%d certificates were issued to workloads", a.count)
	if a.count < 20 {
		t.Errorf("only %d certificates were issued, which proves little", a.count)
	}
}
