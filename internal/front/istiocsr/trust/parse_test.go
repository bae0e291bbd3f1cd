// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"bytes"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/strata-run/strata/internal/front/istiocsr/trust/trusttest"
)

var now = trusttest.Now

func TestParse(t *testing.T) {
	one, two := trusttest.CA(t, "one", nil), trusttest.CA(t, "two", nil)
	changed := func(change func(*x509.Certificate)) string { return trusttest.CA(t, "ca", change).PEM }
	cases := map[string]struct {
		reason string
		text   string
		want   []string
		err    string // a part of the error
	}{
		"One":          {reason: "a CA is taken", text: one.PEM, want: []string{`"one"`}},
		"Bundle":       {reason: "the order is the text's", text: two.PEM + one.PEM, want: []string{`"two"`, `"one"`}},
		"Twice":        {reason: "a CA is taken once", text: one.PEM + two.PEM + one.PEM, want: []string{`"one"`, `"two"`}},
		"Comments":     {reason: "tools write names between the blocks", text: "# one\n" + one.PEM + "\n# two\n" + two.PEM + "the end\n", want: []string{`"one"`, `"two"`}},
		"CarriageFeed": {reason: "editors change the ends of lines", text: strings.ReplaceAll(one.PEM, "\n", "\r\n"), want: []string{`"one"`}},
		"Intermediate": {reason: "a CA need not have signed itself", text: one.Intermediate(t, "below").PEM, want: []string{`"below"`}},
		"Future":       {reason: "a CA may be published before its time", text: changed(func(c *x509.Certificate) { c.NotBefore = now.Add(time.Hour) }), want: []string{`"ca"`}},
		"Mark":         {reason: "editors begin a file with a mark, also one that was put in the middle", text: "\uFEFF" + one.PEM + "\uFEFF" + two.PEM, want: []string{`"one"`, `"two"`}},
		"ExpiredToo":   {reason: "one that has expired takes the good ones nowhere", text: changed(func(c *x509.Certificate) { c.NotAfter = now.Add(-time.Second) }) + one.PEM, want: []string{`"one"`}},
		"LastSecond":   {reason: "the end of validity belongs to it", text: changed(func(c *x509.Certificate) { c.NotAfter = now }), want: []string{`"ca"`}},
		"NoName":       {reason: "a CA without a name is called by its number", text: changed(func(c *x509.Certificate) { c.Subject = pkix.Name{}; c.SerialNumber.SetInt64(7) }), want: []string{`"serial 7"`}},

		"Empty":            {reason: "nothing is no CA", text: " \n", err: "it is empty"},
		"NoPEM":            {reason: "text is no CA", text: "hello", err: "it contains no certificate in PEM"},
		"Leaf":             {reason: "a certificate that signs nothing is no CA", text: one.Issue(t, "leaf", nil).PEM, err: `block 1: certificate "leaf" is not a CA: its Basic Constraints say CA:FALSE`},
		"LeafSecond":       {reason: "every block counts", text: one.PEM + one.Issue(t, "leaf", nil).PEM, err: `block 2: certificate "leaf" is not a CA`},
		"CASecond":         {reason: "in either order", text: one.Issue(t, "leaf", nil).PEM + one.PEM, err: `block 1: certificate "leaf" is not a CA`},
		"NoConstraints":    {reason: "without the extension it is unknown", text: changed(func(c *x509.Certificate) { c.BasicConstraintsValid, c.IsCA = false, false }), err: "it has no Basic Constraints"},
		"NoCertSign":       {reason: "the key usage has to let it sign", text: changed(func(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageCRLSign }), err: "key usage lacks certSign"},
		"NoUsage":          {reason: "nor does no key usage", text: changed(func(c *x509.Certificate) { c.KeyUsage = 0 }), err: "key usage lacks certSign"},
		"Expired":          {reason: "an expired CA vouches for nothing", text: changed(func(c *x509.Certificate) { c.NotAfter = now.Add(-time.Second) }), err: `all of its CAs have expired ("ca")`},
		"Key":              {reason: "the copy is read by everyone, so a key is never copied", text: one.PEM + one.KeyPEM(t), err: "block 2: it is a private key"},
		"OldKey":           {reason: "of any format", text: block("RSA PRIVATE KEY", []byte("x")), err: "it is a private key"},
		"Request":          {reason: "only certificates", text: block("CERTIFICATE REQUEST", []byte("x")), err: `its type is "CERTIFICATE REQUEST"`},
		"Trusted":          {reason: "openssl's own format is no certificate", text: block("TRUSTED CERTIFICATE", one.Certificate.Raw), err: `its type is "TRUSTED CERTIFICATE"`},
		"Headers":          {reason: "Go's own pool leaves such a block out unsaid", text: "-----BEGIN CERTIFICATE-----\nname: x\n\n" + strings.TrimPrefix(one.PEM, "-----BEGIN CERTIFICATE-----\n"), err: "it has PEM headers"},
		"Garbage":          {reason: "a block has to hold a certificate", text: block("CERTIFICATE", []byte("x")), err: "block 1: reading the certificate"},
		"Longer":           {reason: "and nothing after it", text: block("CERTIFICATE", append(append([]byte{}, one.Certificate.Raw...), 0)), err: "block 1: reading the certificate"},
		"Cut":              {reason: "a block that is cut is not skipped", text: one.PEM + two.PEM[:len(two.PEM)/2], err: "block 2: it is not valid PEM"},
		"CutInTheMiddle":   {reason: "nor in the middle", text: two.PEM[:len(two.PEM)/2] + "\n" + one.PEM, err: "block 1: it is not valid PEM"},
		"Indented":         {reason: "nor one that is indented", text: one.PEM + "  " + strings.ReplaceAll(two.PEM, "\n", "\n  "), err: "block 2: it is not valid PEM"},
		"Joined":           {reason: "nor one whose lines are joined", text: strings.ReplaceAll(one.PEM, "\n", " "), err: "block 1: it is not valid PEM"},
		"TooLong":          {reason: "what goes everywhere is bounded", text: one.PEM + strings.Repeat("#", MaxBytes), err: "at most 131072 are accepted"},
		"TooMany":          {reason: "so is what is sent with each certificate", text: many(t, MaxCAs+1), err: "it contains 65 CAs, and at most 64 are accepted"},
		"NameWithControls": {reason: "a name cannot write on a terminal", text: trusttest.CA(t, "a\x1b[2Jb", func(c *x509.Certificate) { c.NotAfter = now.Add(-time.Second) }).PEM, err: `"a\x1b[2Jb"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			cas, _, err := Parse([]byte(tc.text), now)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Fatalf("%s: Parse() error is %v, want one with %q", tc.reason, err, tc.err)
				}
				return
			}
			var got []string
			for _, ca := range cas {
				got = append(got, Name(ca))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Errorf("%s: Parse() error %v, -want +got\n%s", tc.reason, err, diff)
			}
		})
	}
}

func block(kind string, content []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}))
}

func many(t *testing.T, n int) string {
	t.Helper()
	var text strings.Builder
	for range n {
		text.WriteString(trusttest.CA(t, "many", nil).PEM)
	}
	return text.String()
}

func TestTops(t *testing.T) {
	root := trusttest.CA(t, "root", nil)
	below := root.Intermediate(t, "below")
	lowest := below.Intermediate(t, "lowest")
	cases := map[string]struct {
		reason, text, want string
	}{
		"Root":     {reason: "a root is its own top", text: root.PEM, want: root.PEM},
		"Chain":    {reason: "the root is the top of its chain", text: lowest.PEM + below.PEM + root.PEM, want: root.PEM},
		"Rootless": {reason: "without a root it is the one that none there has signed", text: lowest.PEM + below.PEM, want: below.PEM},
		"Nothing":  {reason: "no chain has no top", text: "hello", want: ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, string(Tops([]byte(tc.text)))); diff != "" {
				t.Errorf("%s: -want +got\n%s", tc.reason, diff)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	one, two := trusttest.CA(f, "one", nil), trusttest.CA(f, "two", nil)
	for _, seed := range []string{"", "x", one.PEM, one.PEM + two.PEM, one.PEM + one.KeyPEM(f), one.Issue(f, "leaf", nil).PEM, "-----BEGIN CERTIFICATE-----\n", " " + one.PEM} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		cas, _, err := Parse(text, now)
		if err != nil {
			if len(cas) > 0 || len(err.Error()) > 500 {
				t.Fatalf("%d CAs beside an error of %d bytes", len(cas), len(err.Error()))
			}
			return
		}
		var bundle Bundle
		for _, ca := range cas {
			if !ca.IsCA || ca.KeyUsage&x509.KeyUsageCertSign == 0 || now.After(ca.NotAfter) {
				t.Fatalf("%s was taken", Name(ca))
			}
			bundle = append(bundle, CA{Certificate: ca})
		}
		written := bundle.PEM()
		if strings.Contains(string(written), "PRIVATE") {
			t.Fatal("a private key was taken")
		}
		if again := Read(written, ""); len(again) != len(bundle) || !bytes.Equal(again.PEM(), written) {
			t.Fatal("what was written does not read the same")
		}
		if pool := x509.NewCertPool(); !pool.AppendCertsFromPEM(written) {
			t.Fatal("an agent cannot read what was written")
		}
	})
}
