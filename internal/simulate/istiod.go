// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	_ "embed" // for the template of the stages
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"
)

//go:embed istiod.yaml
var istiodStage string

// validity is that of the CA certificate which istiod makes for itself.
const validity = 10 * 365 * 24 * time.Hour

// Istiod are the stages that play istiod's part: its CA certificate, fresh with each
// call, in the webhook configurations of its revision. The validating webhooks allow
// everything, as no istiod answers them.
func Istiod() ([]byte, error) {
	bundle, err := caBundle()
	if err != nil {
		return nil, fmt.Errorf("simulating istiod: %w", err)
	}
	var stages []string
	for kind, policy := range map[string]string{
		"MutatingWebhookConfiguration":   "",
		"ValidatingWebhookConfiguration": `,{"op": "add", "path": "/{{ $i }}/failurePolicy", "value": "Ignore"}`,
	} {
		replacer := strings.NewReplacer("istiod-KIND", "istiod-"+strings.ToLower(kind), "KIND", kind, "CABUNDLE", bundle, "POLICY", policy)
		stages = append(stages, replacer.Replace(istiodStage))
	}
	slices.Sort(stages)
	return []byte(strings.Join(stages, "---\n")), nil
}

// caBundle is a self-signed CA certificate as it stands in a caBundle.
func caBundle() (string, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", fmt.Errorf("making a key: %w", err)
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "simulated istiod"},
		NotBefore: now.Add(-time.Minute), NotAfter: now.Add(validity),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return "", fmt.Errorf("making a certificate: %w", err)
	}
	return base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), nil
}
