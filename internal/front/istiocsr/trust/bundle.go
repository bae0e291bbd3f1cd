// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"slices"
	"strings"
	"time"
)

// CA is one CA in a bundle.
type CA struct {
	// Certificate is the CA's.
	Certificate *x509.Certificate
	// Old says that the source no longer has the CA.
	Old bool
	// Until is when an old CA goes. Zero while the istiod certificate leads to it,
	// and for a CA that the source has.
	Until time.Time
	// Unused says that neither the istiod certificate nor what the issuer signs with has
	// led to the CA since it is served: no certificate of the mesh can be of it, and it
	// goes with its source.
	Unused bool
}

// Digest tells CAs apart: the first 16 hexadecimal digits of the SHA-256 of the
// certificate.
func (c CA) Digest() string { return c.fingerprint()[:digestLength] }

// digestLength is that of a [CA.Digest].
const digestLength = 16

// fingerprint is the whole SHA-256 of the certificate.
func (c CA) fingerprint() string {
	sum := sha256.Sum256(c.Certificate.Raw)
	return hex.EncodeToString(sum[:])
}

// late is described at [Root].
func (c CA) late() time.Time {
	const most = 30 * 24 * time.Hour
	lifetime := c.Certificate.NotAfter.Sub(c.Certificate.NotBefore)
	return c.Certificate.NotAfter.Add(-min(lifetime/10, most))
}

// Bundle is what a mesh trusts. Those that the source has come first, in its order,
// then the old ones, the newest first.
type Bundle []CA

// PEM is the text of the bundle, as agents read it. It contains nothing but the
// certificates. It is empty for an empty bundle.
func (b Bundle) PEM() []byte {
	var text bytes.Buffer
	for _, ca := range b {
		// Writing into memory cannot fail.
		_ = pem.Encode(&text, &pem.Block{Type: certificateBlock, Bytes: ca.Certificate.Raw})
	}
	return text.Bytes()
}

// unused stands in a record instead of a time.
const unused = "unused"

// Record says what PEM does not: when which old CA goes, and which CA has signed nothing
// yet. It is empty when there is no such CA.
func (b Bundle) Record() string {
	var entries []string
	for _, ca := range b {
		switch {
		case !ca.Until.IsZero():
			entries = append(entries, ca.Digest()+"="+ca.Until.UTC().Format(time.RFC3339))
		case ca.Unused:
			entries = append(entries, ca.Digest()+"="+unused)
		}
	}
	return strings.Join(entries, ",")
}

// Join is a bundle with the CAs of another one that it lacks. Of a CA in both it has
// the later end.
func (b Bundle) Join(other Bundle) Bundle {
	joined := slices.Clone(b)
	for _, ca := range other {
		i := slices.IndexFunc(joined, func(own CA) bool { return own.Certificate.Equal(ca.Certificate) })
		if i < 0 {
			joined = append(joined, ca)
			continue
		}
		own := &joined[i]
		own.Unused = own.Unused && ca.Unused
		if ca.Until.IsZero() || ca.Until.After(own.Until) && !own.Until.IsZero() {
			own.Until = ca.Until
		}
	}
	return joined
}

// Read is the bundle that PEM and Record were made from, but for who is old, which
// Decide finds out anew. What cannot be read in the record is forgotten: the old CA
// then gets its whole time again. It returns nil when the text is not that of a
// bundle.
func Read(text []byte, record string) Bundle {
	cas, err := parse(text, 2)
	if err != nil {
		return nil
	}
	until, isUnused := map[string]time.Time{}, map[string]bool{}
	for entry := range strings.SplitSeq(record, ",") {
		digest, when, _ := strings.Cut(entry, "=")
		if at, err := time.Parse(time.RFC3339, when); err == nil {
			until[digest] = at
		}
		isUnused[digest] = when == unused
	}
	var bundle Bundle
	for _, certificate := range cas {
		ca := CA{Certificate: certificate}
		ca.Until, ca.Unused = until[ca.Digest()], isUnused[ca.Digest()]
		bundle = append(bundle, ca)
	}
	return bundle
}

// Signers are the CAs of a text that have signed a chain, and nothing else of it. So
// a bundle that another client has written can be continued: the holder of the key
// of such a CA signs for the mesh already.
func Signers(text, certificates []byte, now time.Time) Bundle {
	issued, err := parseChain(certificates)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(Read(text, ""), func(ca CA) bool {
		return !issued.leadsTo(now, ca.Certificate)
	})
}

// certificates are those of the CAs.
func (b Bundle) certificates() []*x509.Certificate {
	list := make([]*x509.Certificate, len(b))
	for i, ca := range b {
		list[i] = ca.Certificate
	}
	return list
}
