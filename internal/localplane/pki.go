// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package localplane

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"
)

// authority is a certificate authority that lives in the data folder. Its key
// never leaves this machine and signs for one plane only.
type authority struct {
	cert    *x509.Certificate
	key     *ecdsa.PrivateKey
	certPEM []byte
}

// keyPair is a certificate and its key, both PEM.
type keyPair struct {
	cert, key []byte
}

// openAuthority reads <name>.crt and <name>.key from dir or creates them.
func openAuthority(dir, name string) (*authority, error) {
	certPath, keyPath := filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key")
	key, err := openKey(keyPath)
	if err != nil {
		return nil, err
	}
	certPEM, err := os.ReadFile(certPath)
	if errors.Is(err, fs.ErrNotExist) {
		if certPEM, err = selfSign(key, "local Kubernetes "+name); err == nil {
			err = os.WriteFile(certPath, certPEM, 0o600)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("opening the authority %s: %w", name, err)
	}
	cert, err := parseCertificate(certPEM)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", certPath, err)
	}
	return &authority{cert: cert, key: key, certPEM: certPEM}, nil
}

// selfSign makes the certificate of an authority, valid for ten years.
func selfSign(key *ecdsa.PrivateKey, name string) ([]byte, error) {
	template := certificate(pkix.Name{CommonName: name}, 10*365*24*time.Hour)
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}

// issue signs a certificate that is valid for a year. One with hosts may serve
// under those names; every one may be used by a client.
func (a *authority) issue(subject pkix.Name, hosts ...string) (keyPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return keyPair{}, err
	}
	template := certificate(subject, 365*24*time.Hour)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if len(hosts) > 0 {
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return keyPair{}, fmt.Errorf("issuing a certificate to %s: %w", subject.CommonName, err)
	}
	keyPEM, err := encodeKey(key)
	return keyPair{cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), key: keyPEM}, err
}

// certificate is what all certificates have in common; x509 numbers them. The hour in the past is
// for clocks that are set back.
func certificate(subject pkix.Name, validFor time.Duration) *x509.Certificate {
	return &x509.Certificate{
		Subject:   subject,
		NotBefore: time.Now().Add(-time.Hour),
		NotAfter:  time.Now().Add(validFor),
	}
}

// openKey reads an ECDSA key or creates it.
func openKey(path string) (*ecdsa.PrivateKey, error) {
	content, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return nil, err
		}
		if content, err = encodeKey(key); err != nil {
			return nil, err
		}
		return key, os.WriteFile(path, content, 0o600)
	case err != nil:
		return nil, err
	}
	block, _ := pem.Decode(content)
	if block == nil {
		return nil, fmt.Errorf("reading %s: it contains no PEM block; remove the data folder to start afresh", path)
	}
	key, err := x509.ParseECPrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w; remove the data folder to start afresh", path, err)
	}
	return key, nil
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}

func parseCertificate(content []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(content)
	if block == nil {
		return nil, errors.New("it contains no PEM block; remove the data folder to start afresh")
	}
	return x509.ParseCertificate(block.Bytes)
}
