// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Request is what to resolve.
type Request struct {
	// Package is the name of the package.
	Package string
	// Version is the range of versions, empty for any.
	Version string
	// Channels are those that count, empty for all.
	Channels []string
	// Selector says which catalogs count, nil for all.
	Selector *metav1.LabelSelector
	// SelfCertified lets any version follow on what is installed, also a lower one.
	SelfCertified bool
	// Installed is the bundle of the newest revision that has succeeded, nil while there is none.
	Installed *Identity
	// Catalogs are all that exist.
	Catalogs []Catalog
}

// Identity tells a bundle of a package from all others.
type Identity struct {
	Name string `json:"name"`
	// Version is that of the catalog as it is written there, with build metadata.
	Version string `json:"version"`
	// Release is nil when the catalog states none. The build metadata of the version may be the release
	// then.
	Release *string `json:"release,omitempty"`
}

// Catalog is a source of bundles, as far as it is known.
type Catalog struct {
	Name     string
	Labels   map[string]string
	Priority int32
	// Unavailable catalogs count as if they did not exist.
	Unavailable bool
	// Package is nil when the catalog does not have it.
	Package *Package
	// Digest is another one when what the catalog has of the package is.
	Digest string
	// Err is why nothing is known of the package: there is no content, not even an older one, or the
	// package in it cannot be read.
	Err error
	// Stale is why the content is older than it should be, empty when it is not, and Since the time that
	// it was read at.
	Stale string
	Since time.Time
}
