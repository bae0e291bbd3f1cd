// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import "encoding/json"

// The schemas of blobs that matter here, which are the kinds that a deprecation refers to, too.
const (
	SchemaPackage      = "olm.package"
	SchemaChannel      = "olm.channel"
	SchemaBundle       = "olm.bundle"
	SchemaDeprecations = "olm.deprecations"
)

// The types of properties that decide which bundle is installed.
const (
	PropertyPackage         = "olm.package"
	PropertyPackageRequired = "olm.package.required"
	PropertyGVKRequired     = "olm.gvk.required"
	PropertyConstraint      = "olm.constraint"
	PropertyCSVMetadata     = "olm.csv.metadata"
	PropertyBundleObject    = "olm.bundle.object"
)

// Package is what a catalog has about one package, in the catalog's order.
type Package struct {
	Name           string        `json:"name"`
	DefaultChannel string        `json:"defaultChannel,omitempty"`
	Description    string        `json:"description,omitempty"`
	Channels       []Channel     `json:"channels,omitempty"`
	Bundles        []Bundle      `json:"bundles,omitempty"`
	Deprecations   []Deprecation `json:"deprecations,omitempty"`
	// Warnings are the rules that the package breaks and that do not keep it from being used.
	Warnings []Problem `json:"warnings,omitempty"`
}

// Channel is a line of upgrades through bundles.
type Channel struct {
	Name    string  `json:"name"`
	Entries []Entry `json:"entries"`
}

// Entry places a bundle in a channel, and says from which installed ones it may follow.
type Entry struct {
	// Name is that of a bundle.
	Name     string   `json:"name"`
	Replaces string   `json:"replaces,omitempty"`
	Skips    []string `json:"skips,omitempty"`
	// SkipRange is a range of versions in the syntax of blang/semver, as written: it may not parse.
	SkipRange string `json:"skipRange,omitempty"`
}

// Bundle is one version of a package.
type Bundle struct {
	Name string `json:"name,omitempty"`
	// Image is a reference as the catalog has it, with a tag or a digest, or empty.
	Image string `json:"image,omitempty"`
	// Version is that of the property olm.package, as written: it may not parse.
	Version string `json:"version,omitempty"`
	// Release is that of the property olm.package; nil when the property has no such key.
	Release *string `json:"release,omitempty"`
	// Properties are all but those of the types [PropertyCSVMetadata] and [PropertyBundleObject],
	// which are large and only for lists: [Content.Blob] has them.
	Properties    []Property     `json:"properties,omitempty"`
	RelatedImages []RelatedImage `json:"relatedImages,omitempty"`
}

// Property is a statement about a bundle, with its value kept as it is.
type Property struct {
	Type  string          `json:"type"`
	Value json.RawMessage `json:"value"`
}

// RelatedImage is an image that a bundle uses.
type RelatedImage struct {
	Name  string `json:"name,omitempty"`
	Image string `json:"image"`
}

// Deprecation says that a package, a channel or a bundle is not to be used any more.
type Deprecation struct {
	// Schema is [SchemaPackage], [SchemaChannel] or [SchemaBundle].
	Schema string `json:"schema,omitempty"`
	// Name is that of the channel or bundle, and empty for the package.
	Name string `json:"name,omitempty"`
	// Message may be empty.
	Message string `json:"message,omitempty"`
}
