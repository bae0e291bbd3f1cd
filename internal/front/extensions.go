// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/internal/catalog"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/oci"
)

// Extensions is how the command line asks a front that installs bundles of catalogs. It answers with
// the code that the front's own passes run, and writes nothing.
type Extensions struct {
	// Catalogs are those of a cluster, by name.
	Catalogs func(ctx context.Context, reader client.Reader) ([]Catalog, error)
	// Describe sorts what a catalog has of a package. No channels stand for all.
	Describe func(pkg *catalog.Package, channels []string) PackageDetails
	// Upgrades are the bundles that may follow on an installed one, given by its version or its name,
	// the best first, and the versions that upgrades through the channels install one after the other.
	Upgrades func(pkg *catalog.Package, channels []string, installed string) (next []Upgrade, path []string, err error)
	// Resource is an empty resource of the front, to decode one into.
	Resource func() client.Object
	// Propose says what the front would publish for a resource.
	Propose func(ctx context.Context, in Inquiry, resource client.Object) (Proposal, error)
}

// Catalog is a catalog of a cluster, and where its content is.
type Catalog struct {
	// Name is the catalog's.
	Name string `json:"name"`
	// Priority decides between catalogs that have a package both.
	Priority int32 `json:"priority"`
	// State is Serving, NotServing, or Unavailable as its spec asks for.
	State string `json:"state"`
	// Message says why it is not served, or not current.
	Message string `json:"message,omitempty"`
	// Image is what it is read from: by digest once that is known.
	Image string `json:"image,omitempty"`
	// Server is the address that catalogd serves it at, empty when the manager reads the image.
	Server string `json:"server,omitempty"`
	// Folder is one of the manager's machine that it is read from instead.
	Folder string `json:"folder,omitempty"`
	// UnpackedAt is when its content was read last.
	UnpackedAt *metav1.Time `json:"unpackedAt,omitempty"`
}

// PackageDetails are what a catalog has of a package, sorted.
type PackageDetails struct {
	// Deprecated is the notice of the package, empty for none.
	Deprecated string `json:"deprecated,omitempty"`
	// Channels are by name.
	Channels []ChannelDetails `json:"channels"`
	// Versions are the best first.
	Versions []VersionDetails `json:"versions,omitempty"`
}

// ChannelDetails are those of a channel.
type ChannelDetails struct {
	// Name is the channel's.
	Name string `json:"name"`
	// Default is true for the channel that the package names as its default.
	Default bool `json:"default,omitempty"`
	// Latest is its best version, and entries how many bundles it has.
	Latest  string `json:"latest,omitempty"`
	Entries int    `json:"entries"`
	// Deprecated is its notice, empty for none.
	Deprecated string `json:"deprecated,omitempty"`
}

// VersionDetails are those of a bundle.
type VersionDetails struct {
	// Version is that of the bundle, with its release if the catalog states one.
	Version string `json:"version"`
	Release string `json:"release,omitempty"`
	// Bundle is its name, and image what is installed.
	Bundle string `json:"bundle"`
	Image  string `json:"image,omitempty"`
	// Channels are those that have it.
	Channels []string `json:"channels,omitempty"`
	// Deprecated is its notice, empty for none.
	Deprecated string `json:"deprecated,omitempty"`
	// Refused is why it cannot be installed, empty when nothing that the catalog says forbids it.
	Refused string `json:"refused,omitempty"`
}

// Upgrade is a bundle that may follow on an installed one.
type Upgrade struct {
	// Version and bundle are what an upgrade installs.
	Version string `json:"version"`
	Bundle  string `json:"bundle"`
	// Edge is why it may follow: replaces, skips or skipRange, and the channel.
	Edge string `json:"edge"`
	// Deprecated is true when the catalog deprecates the bundle.
	Deprecated bool `json:"deprecated,omitempty"`
}

// Inquiry is what a front may ask to propose something.
type Inquiry struct {
	// Reader reads from the API server.
	Reader client.Reader
	Mapper meta.RESTMapper
	// Version asks for the version of Kubernetes.
	Version func(ctx context.Context) (string, error)
	// Content reads the content of a catalog.
	Content func(ctx context.Context, of Catalog) (*catalog.Content, error)
	// Registries gets the bundle, into a folder that is empty. Without it the bundle is not rendered.
	Registries *oci.Client
	Scratch    string
}

// Proposal is what a front would publish for a resource.
type Proposal struct {
	// Owner is whose package it would be.
	Owner Owner
	// Resolution says which bundle it has.
	Resolution Resolution
	// Package is what would be published. It may be blocked.
	Package content.Package
	// Warnings are those of the bundle.
	Warnings []string
}

// Resolution is which bundle of a package a resource gets, and why no other one.
type Resolution struct {
	// Resource is the resource, such as ClusterExtension/argocd.
	Resource string `json:"resource"`
	// Package is what it asks for, with the range of versions and the channels, empty for all.
	Package  string   `json:"package"`
	Version  string   `json:"version,omitempty"`
	Channels []string `json:"channels,omitempty"`
	// Installed is the bundle that is installed, unset for none.
	Installed *InstalledBundle `json:"installed,omitempty"`
	// Outcome is Resolved; Kept when what is installed stays although no bundle was found; Retrying
	// when a change of a catalog may bring one; or Blocked until the resource is changed.
	Outcome string `json:"outcome"`
	// Message is why nothing can be installed, empty when something can.
	Message string `json:"message,omitempty"`
	// Bundle is the one to install, which may be the installed one.
	Bundle *ChosenBundle `json:"bundle,omitempty"`
	// LeftOut are the other bundles of the package, by catalog, the best first.
	LeftOut []LeftOutBundle `json:"leftOut,omitempty"`
	// Ignored are the catalogs that do not count, and why.
	Ignored []string `json:"ignored,omitempty"`
	// Warnings are what did not change the outcome.
	Warnings []string `json:"warnings,omitempty"`
	// Deprecations are the notices of the package, its channels and the installed bundle.
	Deprecations []string `json:"deprecations,omitempty"`
}

// InstalledBundle is a bundle that is installed.
type InstalledBundle struct {
	// Name and Version are those of the bundle.
	Name    string `json:"name"`
	Version string `json:"version"`
}

// ChosenBundle is the bundle that a resource gets.
type ChosenBundle struct {
	// Name and Version are those of the bundle, Release that of the catalog if it states one.
	Name    string `json:"name"`
	Version string `json:"version"`
	Release string `json:"release,omitempty"`
	// Catalog is the one that has it, and channels those of the wanted ones that do.
	Catalog  string   `json:"catalog"`
	Channels []string `json:"channels,omitempty"`
	// Image is the reference as the catalog has it, and pinned the same by digest once it is known.
	Image  string `json:"image"`
	Pinned string `json:"pinned,omitempty"`
	// Edge is why it may follow on what is installed, empty when nothing is, or when it is that.
	Edge string `json:"edge,omitempty"`
	// Deprecated is true when the catalog deprecates it.
	Deprecated bool `json:"deprecated,omitempty"`
}

// LeftOutBundle is a bundle that was not chosen.
type LeftOutBundle struct {
	// Name and Version are those of the bundle, Catalog the one that has it.
	Name    string `json:"name"`
	Version string `json:"version"`
	Catalog string `json:"catalog"`
	// Rule is what left it out, such as NotInRange, and reason the same in words.
	Rule   string `json:"rule"`
	Reason string `json:"reason"`
	// Deprecated is true when the catalog deprecates it.
	Deprecated bool `json:"deprecated,omitempty"`
}
