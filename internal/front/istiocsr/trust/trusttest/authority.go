// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package trusttest makes CAs and certificates for tests, each with a key of its own
// that never leaves the process.
package trusttest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"testing"
	"time"
)

// Now is the time at which the certificates of this package are valid.
var Now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// Authority is a certificate with its key.
type Authority struct {
	// Certificate is the authority's own.
	Certificate *x509.Certificate
	// PEM is its text.
	PEM string

	key *ecdsa.PrivateKey
}

// CA makes a CA that has signed itself, from an hour before Now to a year after it.
// What change sets is in its certificate instead; it may be nil.
func CA(t testing.TB, name string, change func(*x509.Certificate)) Authority {
	t.Helper()
	return sign(t, nil, template(name), change)
}

// Intermediate makes a CA that this one has signed.
func (a Authority) Intermediate(t testing.TB, name string) Authority {
	t.Helper()
	return sign(t, &a, template(name), nil)
}

// Issue makes a certificate that this CA has signed, valid for an hour from Now on.
// What change sets is in it instead; it may be nil.
func (a Authority) Issue(t testing.TB, name string, change func(*x509.Certificate)) Authority {
	t.Helper()
	leaf := template(name)
	leaf.NotBefore, leaf.NotAfter = Now, Now.Add(time.Hour)
	leaf.IsCA, leaf.BasicConstraintsValid, leaf.KeyUsage = false, true, x509.KeyUsageDigitalSignature
	leaf.DNSNames = []string{name}
	return sign(t, &a, leaf, change)
}

// Cross is a CA with the name and the key of this one that another one has signed, so
// that who trusts that one trusts this one, too.
func (a Authority) Cross(t testing.TB, by Authority) Authority {
	t.Helper()
	cross := template(a.Certificate.Subject.CommonName)
	cross.SerialNumber = serial(t)
	cross.NotBefore, cross.NotAfter = a.Certificate.NotBefore, a.Certificate.NotAfter
	return signKey(t, &by, cross, a.key)
}

// KeyPEM is the private key, for what has to refuse one.
func (a Authority) KeyPEM(t testing.TB) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(a.key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

func template(name string) *x509.Certificate {
	return &x509.Certificate{
		Subject:   pkix.Name{CommonName: name},
		NotBefore: Now.Add(-time.Hour), NotAfter: Now.AddDate(1, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
}

func sign(t testing.TB, by *Authority, of *x509.Certificate, change func(*x509.Certificate)) Authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	of.SerialNumber = serial(t)
	if change != nil {
		change(of)
	}
	return signKey(t, by, of, key)
}

func serial(t testing.TB) *big.Int {
	t.Helper()
	number, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatal(err)
	}
	return number
}

func signKey(t testing.TB, by *Authority, of *x509.Certificate, key *ecdsa.PrivateKey) Authority {
	t.Helper()
	if by == nil {
		by = &Authority{Certificate: of, key: key}
	}
	der, err := x509.CreateCertificate(rand.Reader, of, by.Certificate, key.Public(), by.key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return Authority{
		Certificate: certificate, key: key,
		PEM: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
	}
}
