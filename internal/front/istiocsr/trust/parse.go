// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	// MaxBytes bounds the text of a source. The agent writes it into every namespace
	// of the mesh. The old CAs of a bundle take as much again at most.
	MaxBytes = 128 << 10
	// MaxCAs bounds the CAs of a source. The agent sends all of them along with each
	// certificate. A bundle has as many old ones at most.
	MaxCAs = 64
	// maxChain bounds the certificates of a chain.
	maxChain = 16
)

// certificateBlock is the only type of PEM block that is taken.
const certificateBlock = "CERTIFICATE"

// Parse reads a bundle of CAs in PEM, without duplicates, in their
// order, and apart from them those that have expired. Text between the blocks is ignored,
// as tools write names there, and so are byte order marks. The error says which block
// cannot be taken, and why; it quotes nothing but a certificate's name. A text of which
// every CA has expired is an error, too.
func Parse(text []byte, now time.Time) (cas, expired []*x509.Certificate, err error) {
	if cas, err = parse(text, 1); err != nil {
		return nil, nil, err
	}
	for _, ca := range cas {
		if now.After(ca.NotAfter) {
			expired = append(expired, ca)
		}
	}
	if len(expired) == len(cas) {
		return nil, nil, fmt.Errorf("all of its CAs have expired (%s): add one that is valid", names(expired))
	}
	return slices.DeleteFunc(cas, func(ca *x509.Certificate) bool { return now.After(ca.NotAfter) }), expired, nil
}

// byteOrderMark is what editors put at the beginning of a file, and so in the middle of
// one that was put together of several. It is part of no PEM.
var byteOrderMark = []byte("\uFEFF")

// parse takes some times the size of a source: a bundle also contains old CAs.
func parse(text []byte, times int) ([]*x509.Certificate, error) {
	text = bytes.ReplaceAll(text, byteOrderMark, nil)
	if len(text) > MaxBytes*times {
		return nil, fmt.Errorf("it contains %d bytes, and at most %d are accepted", len(text), MaxBytes*times)
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, errors.New("it is empty")
	}
	var cas []*x509.Certificate
	for number := 1; ; number++ {
		block, rest, err := nextBlock(text)
		if err != nil {
			return nil, fmt.Errorf("block %d: %w", number, err)
		}
		if block == nil {
			break
		}
		ca, err := parseCA(block)
		if err != nil {
			return nil, fmt.Errorf("block %d: %w", number, err)
		}
		if !contains(cas, ca) {
			cas = append(cas, ca)
		}
		text = rest
	}
	switch {
	case len(cas) == 0:
		return nil, errors.New("it contains no certificate in PEM")
	case len(cas) > MaxCAs*times:
		return nil, fmt.Errorf("it contains %d CAs, and at most %d are accepted", len(cas), MaxCAs*times)
	}
	return cas, nil
}

// nextBlock reads one PEM block, nil at the end. The standard library skips what it
// cannot read; here that is an error, since a CA that is left out unsaid is missed
// only when certificates are refused.
func nextBlock(text []byte) (block *pem.Block, rest []byte, err error) {
	block, rest = pem.Decode(text)
	read := text
	blocks := 0
	if block != nil {
		read = text[:len(text)-len(rest)]
		blocks = 1
	}
	if bytes.Count(read, []byte("-----BEGIN")) != blocks || bytes.Count(read, []byte("-----END")) != blocks {
		return nil, nil, errors.New("it is not valid PEM: check for lines that are cut, indented or joined")
	}
	return block, rest, nil
}

// parseCA reads one block, which has to be a CA.
func parseCA(block *pem.Block) (*x509.Certificate, error) {
	switch {
	case strings.HasSuffix(block.Type, "PRIVATE KEY"):
		return nil, errors.New("it is a private key, which only its owner may have: remove it there, and replace the key, as it was readable")
	case block.Type != certificateBlock:
		return nil, fmt.Errorf("its type is %s, and only %s is accepted", quote(block.Type), certificateBlock)
	case len(block.Headers) > 0:
		return nil, errors.New("it has PEM headers, and other programs ignore certificates with headers")
	}
	ca, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("reading the certificate: %w", err)
	}
	switch {
	case !ca.BasicConstraintsValid:
		return nil, fmt.Errorf("certificate %s is not a CA: it has no Basic Constraints", Name(ca))
	case !ca.IsCA:
		return nil, fmt.Errorf("certificate %s is not a CA: its Basic Constraints say CA:FALSE", Name(ca))
	case ca.KeyUsage&x509.KeyUsageCertSign == 0:
		return nil, fmt.Errorf("certificate %s may not sign certificates: its key usage lacks certSign", Name(ca))
	}
	return ca, nil
}

// chain is a certificate followed by those that lead from it towards a CA.
type chain []*x509.Certificate

// parseChain reads what an issuer has issued, without judging it.
func parseChain(text []byte) (chain, error) {
	var certificates chain
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			break
		}
		if block.Type != certificateBlock {
			continue
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("reading the certificate: %w", err)
		}
		if certificates = append(certificates, certificate); len(certificates) > maxChain {
			return nil, fmt.Errorf("it contains more than %d certificates", maxChain)
		}
	}
	if len(certificates) == 0 {
		return nil, errors.New("it contains no certificate in PEM")
	}
	return certificates, nil
}

// Tops are the certificates of a chain that no other one of it has signed, in PEM:
// the CA, where the issuer keeps it nowhere else. It is empty when there is no chain.
func Tops(text []byte) []byte {
	certificates, err := parseChain(text)
	if err != nil {
		return nil
	}
	var tops Bundle
	for _, certificate := range certificates {
		signed := slices.ContainsFunc(certificates, func(other *x509.Certificate) bool {
			return !other.Equal(certificate) && certificate.CheckSignatureFrom(other) == nil
		})
		if !signed {
			tops = append(tops, CA{Certificate: certificate})
		}
	}
	return tops.PEM()
}

// leadsTo says whether one of the CAs has signed a chain. The question is about
// keys, so it is asked for a time at which the certificate was valid.
func (c chain) leadsTo(now time.Time, cas ...*x509.Certificate) bool {
	if len(c) == 0 {
		return false
	}
	roots, between := x509.NewCertPool(), x509.NewCertPool()
	for _, ca := range cas {
		roots.AddCert(ca)
	}
	for _, certificate := range c[1:] {
		between.AddCert(certificate)
	}
	if now.Before(c[0].NotBefore) {
		now = c[0].NotBefore
	}
	if now.After(c[0].NotAfter) {
		now = c[0].NotAfter
	}
	_, err := c[0].Verify(x509.VerifyOptions{
		Roots: roots, Intermediates: between, CurrentTime: now,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
	})
	return err == nil
}

// contains says whether a certificate is in a list, to the byte.
func contains(list []*x509.Certificate, certificate *x509.Certificate) bool {
	return slices.ContainsFunc(list, certificate.Equal)
}

// Name is a certificate's name for messages: quoted and short, whatever is in it.
func Name(certificate *x509.Certificate) string {
	name := certificate.Subject.CommonName
	if name == "" {
		name = certificate.Subject.String()
	}
	if name == "" {
		name = "serial " + certificate.SerialNumber.String()
	}
	return quote(name)
}

// quote shows text that a user has written, at most 64 bytes of it.
func quote(text string) string {
	const most = 64
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return fmt.Sprintf("%q", text)
}
