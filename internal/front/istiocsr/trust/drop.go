// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"slices"
	"strings"
)

// Digest reads a digest that a user has written: at least the 16 digits of [CA.Digest],
// at most the whole SHA-256 of the certificate, in any case and with colons or without.
// It is empty when the text is none.
func Digest(text string) string {
	digest := strings.ToLower(strings.ReplaceAll(strings.TrimSpace(text), ":", ""))
	if len(digest) < digestLength || len(digest) > 2*32 || strings.Trim(digest, "0123456789abcdef") != "" {
		return ""
	}
	return digest
}

// drops says whether a CA is to go at once.
func (in Input) drops(ca CA) bool {
	return slices.ContainsFunc(in.Dropped, func(digest string) bool { return strings.HasPrefix(ca.fingerprint(), digest) })
}

// undropped says why something that is to go at once is still there, or never was.
func (in Input) undropped(bundle Bundle) []string {
	var all []string
	for _, digest := range in.Dropped {
		i := slices.IndexFunc(bundle, func(ca CA) bool { return strings.HasPrefix(ca.fingerprint(), digest) })
		if i < 0 {
			all = append(all, fmt.Sprintf("no CA that is served has the digest %s", digest))
			continue
		}
		remedy := in.Source.Name + " has it; remove it there"
		if bundle[i].Old {
			remedy = fmt.Sprintf("the istiod certificate leads to it, in %s; delete that Secret to have it issued again", in.Certificate)
		}
		all = append(all, fmt.Sprintf("CA %s (%s) is still served: %s", Name(bundle[i].Certificate), bundle[i].Digest(), remedy))
	}
	return all
}
