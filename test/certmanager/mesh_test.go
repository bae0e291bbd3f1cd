// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package certmanager

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/strata-run/strata/internal/localplane/planetest"
	"github.com/strata-run/strata/revisions/probes"
)

// mesh is a namespace with issuers and certificates.
type mesh struct {
	t         *testing.T
	namespace string
}

func newMesh(t *testing.T) mesh {
	t.Helper()
	return mesh{t: t, namespace: planetest.Namespace(t, plane)}
}

// object reads a manifest, in which NS stands for the namespace.
func (m mesh) object(manifest string) *unstructured.Unstructured {
	m.t.Helper()
	object := &unstructured.Unstructured{}
	must(m.t, yaml.Unmarshal([]byte(strings.ReplaceAll(manifest, "NS", m.namespace)), &object.Object))
	return object
}

// create makes an object, which goes when the test ends.
func (m mesh) create(manifest string) *unstructured.Unstructured {
	m.t.Helper()
	object := m.object(manifest)
	must(m.t, admin.Create(m.t.Context(), object))
	if object.GetNamespace() != m.namespace {
		m.t.Cleanup(func() { _ = client.IgnoreNotFound(admin.Delete(context.Background(), object)) })
	}
	return object
}

// define makes a CustomResourceDefinition, and waits until its kind is served. When the test
// ends it waits until the definition is gone: another test may make it again.
func (m mesh) define(manifest string) *unstructured.Unstructured {
	m.t.Helper()
	definition := m.object(manifest)
	must(m.t, admin.Create(m.t.Context(), definition))
	m.t.Cleanup(func() {
		must(m.t, client.IgnoreNotFound(admin.Delete(context.Background(), definition)))
		awaitNone(m.t, definition)
	})
	planetest.Eventually(m.t, definition.GetName()+" to be served", func() (bool, error) {
		m.get(definition)
		return isEstablished(definition.Object), nil
	})
	return definition
}

// awaitNone waits until there is no such object any more. It works when a test is over, too.
func awaitNone(t *testing.T, object client.Object) {
	t.Helper()
	planetest.Eventually(t, object.GetName()+" to be gone", func() (bool, error) {
		gone, ok := object.DeepCopyObject().(client.Object)
		if !ok {
			return false, fmt.Errorf("%T is no object", object)
		}
		err := admin.Get(context.Background(), client.ObjectKeyFromObject(object), gone)
		return apierrors.IsNotFound(err), err
	})
}

// root makes a CA that signs itself, in the Secret of its name.
func (m mesh) root(name string) {
	m.t.Helper()
	m.create(`{apiVersion: cert-manager.io/v1, kind: Issuer, metadata: {name: self-` + name + `, namespace: NS}, spec: {selfSigned: {}}}`)
	certificate := m.create(`
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: ` + name + `, namespace: NS}
spec:
  isCA: true
  commonName: ` + name + `
  secretName: ` + name + `
  privateKey: {algorithm: ECDSA, rotationPolicy: Always}
  issuerRef: {name: self-` + name + `, kind: Issuer, group: cert-manager.io}
`)
	m.becomes(certificate, probes.True, "")
}

// issuer makes an issuer that signs with what is in a Secret.
func (m mesh) issuer(name, secret string) *unstructured.Unstructured {
	m.t.Helper()
	return m.create(`{apiVersion: cert-manager.io/v1, kind: Issuer, metadata: {name: ` + name + `, namespace: NS}, spec: {ca: {secretName: ` + secret + `}}}`)
}

// istiod makes a certificate as the mesh's control plane has one.
func (m mesh) istiod(issuer string) *unstructured.Unstructured {
	m.t.Helper()
	return m.create(istiodCertificate(issuer))
}

// istiodCertificate is the Certificate that istiod serves with.
func istiodCertificate(issuer string) string {
	return `
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: istiod, namespace: NS}
spec:
  commonName: istiod.NS.svc
  dnsNames: [istiod.NS.svc]
  uris: [spiffe://cluster.local/ns/NS/sa/istiod-service-account]
  secretName: istiod-tls
  duration: 1h
  renewBefore: 30m
  revisionHistoryLimit: 1
  privateKey: {algorithm: ECDSA, size: 256, rotationPolicy: Always}
  issuerRef: {name: ` + issuer + `, kind: Issuer, group: cert-manager.io}
`
}

// renew has a certificate issued again at once, as cert-manager's command line does.
func (m mesh) renew(name string) {
	m.t.Helper()
	certificate := m.object(`{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: ` + name + `, namespace: NS}}`)
	m.awaitIssued(certificate)
	before := m.secret(certificate, "tls.crt")
	must(m.t, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		m.get(certificate)
		original := certificate.DeepCopy()
		conditions, _, err := unstructured.NestedSlice(certificate.Object, "status", "conditions")
		must(m.t, err)
		conditions = append(slices.DeleteFunc(conditions, isIssuing), map[string]any{
			"type": "Issuing", "status": "True", "reason": "ManuallyTriggered", "message": "renewed by a test",
			"lastTransitionTime": time.Now().UTC().Format(time.RFC3339),
		})
		must(m.t, unstructured.SetNestedSlice(certificate.Object, conditions, "status", "conditions"))
		return admin.Status().Patch(m.t.Context(), certificate, client.MergeFromWithOptions(original, client.MergeFromWithOptimisticLock{}))
	}))
	planetest.Eventually(m.t, name+" to be issued again", func() (bool, error) {
		return m.secret(certificate, "tls.crt") != before, nil
	})
	m.awaitIssued(certificate)
	m.becomes(certificate, probes.True, "")
}

// awaitIssued waits until a certificate is not being issued, which cert-manager says a
// moment after it has written the Secret.
func (m mesh) awaitIssued(certificate *unstructured.Unstructured) {
	m.t.Helper()
	planetest.Eventually(m.t, "the end of issuing "+certificate.GetName(), func() (bool, error) {
		m.get(certificate)
		conditions, _, err := unstructured.NestedSlice(certificate.Object, "status", "conditions")
		must(m.t, err)
		return !slices.ContainsFunc(conditions, func(c any) bool {
			condition, _ := c.(map[string]any)
			return isIssuing(c) && condition["status"] == "True"
		}), fmt.Errorf("its conditions are %v", conditions)
	})
}

// isIssuing says whether a condition is that of a certificate that is being issued.
func isIssuing(item any) bool {
	condition, ok := item.(map[string]any)
	return ok && condition["type"] == "Issuing"
}

// get reads an object anew.
func (m mesh) get(object client.Object) {
	m.t.Helper()
	must(m.t, admin.Get(m.t.Context(), client.ObjectKeyFromObject(object), object))
}

// secret reads a key of the Secret of a certificate. It is empty when there is none.
func (m mesh) secret(certificate *unstructured.Unstructured, key string) string {
	m.t.Helper()
	name, _, err := unstructured.NestedString(certificate.Object, "spec", "secretName")
	must(m.t, err)
	var secret corev1.Secret
	must(m.t, client.IgnoreNotFound(admin.Get(m.t.Context(), client.ObjectKey{Namespace: certificate.GetNamespace(), Name: name}, &secret)))
	return string(secret.Data[key])
}

// becomes waits until the default probe of an object's kind gives an answer with a
// text in its message.
func (m mesh) becomes(object *unstructured.Unstructured, want probes.Status, text string) {
	m.t.Helper()
	probe, ok := probes.Default(object.GroupVersionKind().GroupKind())
	if !ok {
		m.t.Fatalf("%s has no default probe", object.GetKind())
	}
	planetest.Eventually(m.t, fmt.Sprintf("%s %s to be %s %q", object.GetKind(), object.GetName(), want, text), func() (bool, error) {
		if err := admin.Get(m.t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			return false, err
		}
		got := probe.Probe(object)
		return got.Status == want && strings.Contains(got.Message, text), fmt.Errorf("it is %s: %s", got.Status, got.Message)
	})
}

// edit changes a field of an object's spec.
func (m mesh) edit(object *unstructured.Unstructured, value any, path ...string) {
	m.t.Helper()
	m.get(object)
	before := object.DeepCopy()
	must(m.t, unstructured.SetNestedField(object.Object, runtime.DeepCopyJSONValue(value), append([]string{"spec"}, path...)...))
	must(m.t, admin.Patch(m.t.Context(), object, client.MergeFrom(before)))
}

// verify checks a chain in PEM against roots in PEM.
func verify(certificates, roots string, at time.Time) error {
	pool, between := x509.NewCertPool(), x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(roots))
	first, rest := pem.Decode([]byte(certificates))
	if first == nil {
		return fmt.Errorf("there is no certificate")
	}
	between.AppendCertsFromPEM(rest)
	leaf, err := x509.ParseCertificate(first.Bytes)
	if err != nil {
		return err
	}
	_, err = leaf.Verify(x509.VerifyOptions{Roots: pool, Intermediates: between, CurrentTime: at})
	return err
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
