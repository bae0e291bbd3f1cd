// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// place is where a blob begins.
type place struct {
	file string
	line int
}

// The blobs of a package as they are decoded, each with its place.
type (
	packageBlob struct {
		place

		Name           string `json:"name"`
		DefaultChannel string `json:"defaultChannel"`
		Description    string `json:"description"`
	}
	channelBlob struct {
		place

		Channel
	}
	bundleBlob struct {
		place

		Name          string         `json:"name"`
		Image         string         `json:"image"`
		Properties    []Property     `json:"properties"`
		RelatedImages []RelatedImage `json:"relatedImages"`
		// identities are the values of properties of the type olm.package.
		identities []identity
	}
	deprecationsBlob struct {
		place

		Entries []struct {
			Reference struct {
				Schema string `json:"schema"`
				Name   string `json:"name"`
			} `json:"reference"`
			Message string `json:"message"`
		} `json:"entries"`
	}
)

// identity is the value of a property olm.package.
type identity struct {
	PackageName string  `json:"packageName"`
	Version     string  `json:"version"`
	Release     *string `json:"release"`
}

// blobs are all blobs of one package, with the problems that were found in them.
type blobs struct {
	name         string
	packages     []packageBlob
	channels     []channelBlob
	bundles      []bundleBlob
	deprecations []deprecationsBlob
	// size is how many bytes of them are kept, about, and room how many may be.
	size, room int
	problems   []Problem
	// fatal is how many of them are, and more how many are not kept.
	fatal, more int
}

// mostProblems is how many are kept of one package, and of what belongs to none; the first that is
// fatal is always among them.
const mostProblems = 100

func (b *blobs) report(fatal bool, at place, rule, format string, args ...any) {
	if fatal {
		b.fatal++
	}
	if len(b.problems) >= mostProblems && b.fatal != 1 {
		b.more++
		return
	}
	b.problems = append(b.problems, Problem{
		Package: b.name, File: at.file, Line: at.line, Rule: rule, Fatal: fatal, Message: fmt.Sprintf(format, args...),
	})
}

func (b *blobs) reject(at place, rule, format string, args ...any) {
	b.report(true, at, rule, format, args...)
}

func (b *blobs) warn(at place, rule, format string, args ...any) {
	b.report(false, at, rule, format, args...)
}

// add decodes a blob; one of an unknown schema is left alone. It returns whether there is room.
func (b *blobs) add(schema string, raw []byte, at place) bool {
	if known(schema) && schema != SchemaBundle {
		// Of a list of short entries there would be no room for the decoded form.
		if b.size += len(raw) + overhead*bytes.Count(raw, []byte("{")); b.size > b.room {
			return false
		}
	}
	var err error
	switch schema {
	case SchemaPackage:
		decoded := packageBlob{}
		err = json.Unmarshal(raw, &decoded)
		decoded.place = at
		b.packages = append(b.packages, decoded)
	case SchemaChannel:
		decoded := channelBlob{}
		err = json.Unmarshal(raw, &decoded)
		decoded.place = at
		b.channels = append(b.channels, decoded)
	case SchemaBundle:
		decoded := bundleBlob{}
		err = json.Unmarshal(raw, &decoded)
		decoded.place = at
		b.readProperties(&decoded)
		b.size += decoded.size()
		b.bundles = append(b.bundles, decoded)
	case SchemaDeprecations:
		decoded := deprecationsBlob{}
		err = json.Unmarshal(raw, &decoded)
		decoded.place = at
		b.deprecations = append(b.deprecations, decoded)
	}
	if err != nil {
		b.reject(at, "parse", "the %s does not have the form of its schema: %s", schema, formError(err))
	}
	return b.size <= b.room
}

// formError names the field that has a value of another type.
func formError(err error) string {
	wrong := &json.UnmarshalTypeError{}
	if !errors.As(err, &wrong) {
		return err.Error()
	}
	if wrong.Field == "" {
		return "it is a " + wrong.Value
	}
	return fmt.Sprintf("%s is a %s", strings.TrimPrefix(wrong.Field, "Channel."), wrong.Value)
}

// overhead is how many bytes an element of a list takes besides its texts, about.
const overhead = 64

// size is how many bytes of a bundle are kept, about.
func (b *bundleBlob) size() int {
	size := len(b.Name) + len(b.Image) + overhead*(1+len(b.Properties)+len(b.RelatedImages))
	for _, property := range b.Properties {
		size += len(property.Type) + len(property.Value)
	}
	for _, image := range b.RelatedImages {
		size += len(image.Name) + len(image.Image)
	}
	return size
}

// readProperties reads who a bundle says it is, and drops what is large and decides nothing.
func (b *blobs) readProperties(bundle *bundleBlob) {
	var kept []Property
	for _, property := range bundle.Properties {
		switch property.Type {
		case "":
			b.warn(bundle.place, "property", "bundle %q has a property without a type", brief(bundle.Name))
		case PropertyCSVMetadata, PropertyBundleObject:
			continue
		case PropertyPackage:
			is := identity{}
			if err := json.Unmarshal(property.Value, &is); err != nil {
				b.warn(bundle.place, "bundle-package-property", "bundle %q: the property %s does not have the form of its type: %s", brief(bundle.Name), PropertyPackage, formError(err))
				break
			}
			bundle.identities = append(bundle.identities, is)
		}
		if len(bytes.TrimSpace(property.Value)) == 0 {
			b.warn(bundle.place, "property", "bundle %q: the property %q has no value", brief(bundle.Name), brief(property.Type))
			property.Value = json.RawMessage("null")
		}
		kept = append(kept, property)
	}
	bundle.Properties = kept
}

// assemble is the package that the blobs make up.
func (b *blobs) assemble() Package {
	result := Package{Name: b.name}
	if len(b.packages) > 0 {
		result.DefaultChannel, result.Description = b.packages[0].DefaultChannel, b.packages[0].Description
	}
	for _, channel := range b.channels {
		result.Channels = append(result.Channels, channel.Channel)
	}
	for i := range b.bundles {
		blob := &b.bundles[i]
		bundle := Bundle{Name: blob.Name, Image: blob.Image, Properties: blob.Properties, RelatedImages: blob.RelatedImages}
		if len(blob.identities) > 0 {
			bundle.Version, bundle.Release = blob.identities[0].Version, blob.identities[0].Release
		}
		result.Bundles = append(result.Bundles, bundle)
	}
	for _, blob := range b.deprecations {
		for _, entry := range blob.Entries {
			result.Deprecations = append(result.Deprecations, Deprecation{Schema: entry.Reference.Schema, Name: entry.Reference.Name, Message: entry.Message})
		}
	}
	return result
}
