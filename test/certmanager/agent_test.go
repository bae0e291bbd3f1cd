// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package certmanager

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/internal/front/istiocsr/cabundle"
	"github.com/strata-run/strata/internal/localplane/planetest"
)

// overlap is for how long a workload uses its certificate.
const overlap = 5 * time.Second

// agent plays the mesh's agent for workloads: it has their certificates signed by the
// real issuer, and hands out those that lead to the CAs in its file.
type agent struct {
	mesh

	// issuer signs, and copies is the namespace with the CAs.
	issuer, copies string
	// handed are the certificates that workloads have got. Those of the last overlap are
	// in use.
	handed []handed
}

// handed is a certificate that is in use for a time.
type handed struct {
	certificates string
	// version is that of the CAs that it was found to lead to.
	version     uint64
	from, until time.Time
}

// round has one more certificate signed, and hands it out when it leads to the CAs.
func (a *agent) round() {
	a.t.Helper()
	for {
		certificates := a.sign()
		cas, version := a.read()
		if verify(certificates, cas, time.Now()) == nil {
			a.handed = append(a.handed, handed{certificates, version, time.Now(), time.Now().Add(overlap)})
			return
		}
		// As the agent does: the issuer was faster than the copy.
	}
}

// read are the CAs that the agent reads, and their version.
func (a *agent) read() (cas string, version uint64) {
	a.t.Helper()
	var copied corev1.ConfigMap
	must(a.t, admin.Get(a.t.Context(), client.ObjectKey{Namespace: a.copies, Name: cabundle.Name}, &copied))
	return copied.Data[cabundle.Key], number(a.t, copied.ResourceVersion)
}

func (a *agent) cas() string {
	a.t.Helper()
	cas, _ := a.read()
	return cas
}

// number is a version of an object. Those of one etcd are in the order of the writes.
func number(t failer, version string) uint64 {
	t.Helper()
	parsed, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		t.Errorf("version %q: %v", version, err)
	}
	return parsed
}

// failer reports problems to a test, from any goroutine.
type failer interface {
	Helper()
	Errorf(format string, arguments ...any)
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
	for deadline := time.Now().Add(2 * time.Minute); countCAs(a.cas()) != cas; a.round() {
		if time.Now().After(deadline) {
			a.t.Fatalf("%s: there are %d CAs, want %d", what, countCAs(a.cas()), cas)
		}
	}
	for range 3 {
		a.round()
	}
}
