// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import "strings"

// Pin records to which digest the image of a bundle was resolved.
type Pin struct {
	Identity

	// Reference is the image as the catalog has it, and CatalogDigest that of the content which it
	// stood in.
	Reference     string
	CatalogDigest string
	// Image is the same image by its digest.
	Image string
}

// Pinned is the image of the choice by its digest, and whether that is known without a question to
// the registry: the catalog has a digest, or what was recorded is of the same bundle, reference and
// content.
func (c Choice) Pinned(recorded ...Pin) (string, bool) {
	if strings.Contains(c.Image, "@") {
		return c.Image, true
	}
	for _, p := range recorded {
		if p.Reference == c.Image && p.CatalogDigest == c.CatalogDigest && p.equal(c.Identity) {
			return p.Image, true
		}
	}
	return "", false
}

// equal says whether two identities are the same.
func (i Identity) equal(o Identity) bool {
	return i.Name == o.Name && i.Version == o.Version && (i.Release == nil) == (o.Release == nil) && (i.Release == nil || *i.Release == *o.Release)
}
