// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package certmanager

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rig "github.com/strata-run/strata/internal/localplane/certmanager"
	"github.com/strata-run/strata/revisions/probes"
)

// TestIssuance walks from nothing to a certificate of the control plane, and asks the
// default probes on the way.
func TestIssuance(t *testing.T) {
	m := newMesh(t)
	// Before there is an issuer, and before its CA is there.
	istiod := m.istiod("ca")
	m.becomes(istiod, probes.False, "")
	issuer := m.issuer("ca", "root")
	m.becomes(issuer, probes.False, "root")
	m.root("root")
	m.becomes(issuer, probes.True, "")
	m.becomes(istiod, probes.True, "")
	if err := verify(m.secret(istiod, "tls.crt"), m.secret(istiod, "ca.crt"), time.Now()); err != nil {
		t.Errorf("what was issued does not verify: %v", err)
	}
	if m.secret(istiod, "tls.key") == "" {
		t.Error("the Secret holds no key")
	}

	// A change makes the answer old until it is checked again; then there is a new
	// certificate.
	first := m.secret(istiod, "tls.crt")
	m.edit(istiod, []any{"istiod." + m.namespace + ".svc", "istiod-canary." + m.namespace + ".svc"}, "dnsNames")
	m.becomes(istiod, probes.True, "")
	if m.secret(istiod, "tls.crt") == first {
		t.Error("the probe says True, and the certificate is the old one")
	}
}

// TestRotationOfACA has a CA replaced under an issuer: certificates are of the old one
// until they are renewed.
func TestRotationOfACA(t *testing.T) {
	m := newMesh(t)
	m.root("one")
	m.root("two")
	issuer := m.issuer("ca", "one")
	istiod := m.istiod("ca")
	m.becomes(istiod, probes.True, "")
	one := m.secret(istiod, "ca.crt")
	m.edit(issuer, "two", "ca", "secretName")
	m.becomes(issuer, probes.True, "")
	if err := verify(m.secret(istiod, "tls.crt"), one, time.Now()); err != nil {
		t.Errorf("the certificate does not verify before its renewal: %v", err)
	}
	m.renew("istiod")
	two := m.secret(istiod, "ca.crt")
	if two == one || verify(m.secret(istiod, "tls.crt"), two, time.Now()) != nil || verify(m.secret(istiod, "tls.crt"), one, time.Now()) == nil {
		t.Errorf("after its renewal the certificate is not of the new CA alone: ca.crt is\n%s", two)
	}
}

// TestClusterIssuer has its Secret in cert-manager's own namespace.
func TestClusterIssuer(t *testing.T) {
	m := newMesh(t)
	m.root("root")
	name := "all-" + m.namespace
	issuer := m.create(`{apiVersion: cert-manager.io/v1, kind: ClusterIssuer, metadata: {name: ` + name + `}, spec: {ca: {secretName: ` + name + `}}}`)
	m.becomes(issuer, probes.False, name)
	var root corev1.Secret
	must(t, admin.Get(t.Context(), client.ObjectKey{Namespace: m.namespace, Name: "root"}, &root))
	secret := &corev1.Secret{Type: root.Type, Data: root.Data}
	secret.Name, secret.Namespace = name, rig.Namespace
	must(t, admin.Create(t.Context(), secret))
	m.becomes(issuer, probes.True, "")
}

// TestAdmission shows that cert-manager's own webhook answers.
func TestAdmission(t *testing.T) {
	m := newMesh(t)
	cases := map[string]struct {
		reason, spec, want string
	}{
		"ShortDuration": {reason: "the shortest duration is an hour", spec: `{secretName: a, dnsNames: [a.b], duration: 30m, issuerRef: {name: a}}`, want: "spec.duration"},
		"LateRenewal":   {reason: "a renewal comes before the end", spec: `{secretName: a, dnsNames: [a.b], duration: 1h, renewBefore: 2h, issuerRef: {name: a}}`, want: "spec.renewBefore"},
		"UnknownKind":   {reason: "there are two kinds of issuer", spec: `{secretName: a, dnsNames: [a.b], issuerRef: {name: a, kind: issuer}}`, want: "spec.issuerRef.kind"},
		"NoName":        {reason: "a certificate has a subject", spec: `{secretName: a, issuerRef: {name: a}}`, want: "at least one of"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := admin.Create(t.Context(), m.object(`{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: a, namespace: NS}, spec: `+tc.spec+`}`))
			if err == nil || !strings.Contains(err.Error(), "webhook.cert-manager.io") || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: the answer is %v, want a refusal by the webhook with %s", tc.reason, err, tc.want)
			}
		})
	}
}
