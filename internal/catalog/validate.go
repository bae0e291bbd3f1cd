// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	blang "github.com/blang/semver/v4"
	"github.com/google/go-containerregistry/pkg/name"
	"k8s.io/apimachinery/pkg/util/validation"
)

// validate checks the blobs of a package. Only what makes the answer to "which bundle is meant?"
// ambiguous is fatal; catalogs in use break the other rules, and resolve.
func (b *blobs) validate() {
	channels := b.validateChannels()
	b.validatePackage(channels)
	bundles := b.validateBundles()
	b.validateMembers(bundles)
	b.validateDeprecations(channels, bundles)
	if b.more > 0 {
		b.problems = append(b.problems, Problem{Package: b.name, Rule: "more", Message: fmt.Sprintf("%d more problems are not listed", b.more)})
	}
}

func (b *blobs) validatePackage(channels map[string]bool) {
	if len(b.packages) == 0 {
		b.warn(b.firstPlace(), "package-missing", "package %q has no blob of the schema %s", b.name, SchemaPackage)
		return
	}
	blob := b.packages[0]
	if len(validation.IsDNS1123Label(b.name)) > 0 {
		b.warn(blob.place, "package-name", "package name %q: it has to be lower case letters, digits and hyphens, 63 at most", brief(b.name))
	}
	for _, other := range b.packages[1:] {
		b.warn(other.place, "duplicate-package", "package %q is defined a second time; the first definition counts", b.name)
	}
	switch {
	case blob.DefaultChannel == "":
		b.warn(blob.place, "default-channel", "package %q has no default channel", b.name)
	case !channels[blob.DefaultChannel]:
		b.warn(blob.place, "default-channel", "the default channel %q of package %q does not exist", brief(blob.DefaultChannel), b.name)
	}
}

func (b *blobs) firstPlace() place {
	switch {
	case len(b.channels) > 0:
		return b.channels[0].place
	case len(b.bundles) > 0:
		return b.bundles[0].place
	case len(b.deprecations) > 0:
		return b.deprecations[0].place
	}
	return place{}
}

func (b *blobs) validateChannels() map[string]bool {
	names := map[string]bool{}
	for _, channel := range b.channels {
		switch {
		case channel.Name == "":
			b.warn(channel.place, "channel-name", "a channel has no name")
		case names[channel.Name]:
			b.reject(channel.place, "duplicate-channel", "channel %q is defined a second time", brief(channel.Name))
		}
		names[channel.Name] = true
		if len(channel.Entries) == 0 {
			b.warn(channel.place, "channel-empty", "channel %q has no entries", brief(channel.Name))
			continue
		}
		if b.validateEntries(channel) {
			b.validateGraph(channel)
		}
	}
	return names
}

// validateEntries is whether each entry of a channel has a name of its own.
func (b *blobs) validateEntries(channel channelBlob) bool {
	distinct := true
	names := map[string]bool{}
	for _, entry := range channel.Entries {
		switch {
		case entry.Name == "":
			b.warn(channel.place, "entry-name", "channel %q has an entry without a name", brief(channel.Name))
		case names[entry.Name]:
			b.reject(channel.place, "duplicate-entry", "channel %q has the entry %q twice", brief(channel.Name), brief(entry.Name))
			distinct = false
		}
		names[entry.Name] = true
		if entry.SkipRange != "" {
			if _, err := blang.ParseRange(entry.SkipRange); err != nil {
				b.warn(channel.place, "skip-range", "channel %q, entry %q: the skipRange %q does not parse: %v", brief(channel.Name), brief(entry.Name), brief(entry.SkipRange), err)
			}
		}
	}
	return distinct
}

// validateGraph follows a channel from its head: the entry that no other replaces or skips.
func (b *blobs) validateGraph(channel channelBlob) {
	replaces, skipped, replaced := map[string]string{}, map[string]bool{}, map[string]bool{}
	for _, entry := range channel.Entries {
		replaces[entry.Name] = entry.Replaces
		replaced[entry.Replaces] = true
		for _, skip := range entry.Skips {
			skipped[skip] = true
		}
	}
	heads := slices.DeleteFunc(slices.Sorted(maps.Keys(replaces)), func(entry string) bool { return replaced[entry] || skipped[entry] })
	switch {
	case len(heads) == 0:
		b.warn(channel.place, "channel-head", "channel %q has no head: each entry is replaced or skipped by another", brief(channel.Name))
		return
	case len(heads) > 1:
		b.warn(channel.place, "channel-head", "channel %q has %d heads, and may have one: %s", brief(channel.Name), len(heads), listed(heads))
		return
	}
	reached := map[string]bool{}
	for at := heads[0]; ; at = replaces[at] {
		if reached[at] {
			b.warn(channel.place, "channel-cycle", "channel %q: what %q replaces leads back to it", brief(channel.Name), brief(at))
			return
		}
		if _, known := replaces[at]; !known {
			break
		}
		reached[at] = true
	}
	stranded := slices.DeleteFunc(slices.Sorted(maps.Keys(replaces)), func(entry string) bool { return reached[entry] || skipped[entry] })
	if len(stranded) > 0 {
		b.warn(channel.place, "channel-stranded", "channel %q: no upgrade leads from %s to its head %q", brief(channel.Name), listed(stranded), brief(heads[0]))
	}
}

func (b *blobs) validateBundles() map[string]bool {
	names, versions := map[string]bool{}, map[string]string{}
	for i := range b.bundles {
		bundle := &b.bundles[i]
		if names[bundle.Name] {
			b.reject(bundle.place, "duplicate-bundle", "bundle %q is defined a second time", brief(bundle.Name))
		}
		names[bundle.Name] = true
		if bundle.Image == "" {
			b.warn(bundle.place, "bundle-image", "bundle %q has no image", brief(bundle.Name))
		} else if _, err := name.ParseReference(bundle.Image); err != nil {
			b.warn(bundle.place, "bundle-image", "bundle %q: the image %q is no reference to one", brief(bundle.Name), brief(bundle.Image))
		}
		if len(bundle.identities) != 1 {
			b.warn(bundle.place, "bundle-package-property", "bundle %q has %d properties %s, and needs one", brief(bundle.Name), len(bundle.identities), PropertyPackage)
			continue
		}
		b.validateIdentity(bundle, versions)
	}
	return names
}

func (b *blobs) validateIdentity(bundle *bundleBlob, versions map[string]string) {
	is := bundle.identities[0]
	if is.PackageName != b.name {
		b.warn(bundle.place, "bundle-package-property", "bundle %q says that it is of the package %q", brief(bundle.Name), brief(is.PackageName))
	}
	version, err := blang.Parse(is.Version)
	if err != nil {
		b.warn(bundle.place, "bundle-version", "bundle %q: the version %q is no semantic version: %v", brief(bundle.Name), brief(is.Version), err)
		return
	}
	full, key := version.String(), version.String()
	if is.Release != nil && *is.Release != "" {
		full += "-" + *is.Release
		key += " " + *is.Release
		if wanted := fmt.Sprintf("%s-v%s", b.name, full); bundle.Name != wanted || len(version.Build) > 0 {
			b.warn(bundle.place, "bundle-release", "bundle %q has a release: its name has to be %q, and its version may have no build metadata", brief(bundle.Name), brief(wanted))
		}
	}
	if other, twice := versions[key]; twice {
		b.warn(bundle.place, "duplicate-version", "the bundles %q and %q have the same version %s", brief(other), brief(bundle.Name), brief(full))
	}
	versions[key] = bundle.Name
}

// validateMembers compares the entries of channels with the bundles that there are.
func (b *blobs) validateMembers(bundles map[string]bool) {
	entries := map[string]bool{}
	for _, channel := range b.channels {
		for _, entry := range channel.Entries {
			if entry.Name != "" && !bundles[entry.Name] {
				b.warn(channel.place, "entry-without-bundle", "channel %q has the entry %q, and there is no bundle of that name", brief(channel.Name), brief(entry.Name))
			}
			entries[entry.Name] = true
		}
	}
	for i := range b.bundles {
		if !entries[b.bundles[i].Name] {
			b.warn(b.bundles[i].place, "bundle-without-channel", "bundle %q is in no channel", brief(b.bundles[i].Name))
		}
	}
}

func (b *blobs) validateDeprecations(channels, bundles map[string]bool) {
	seen := map[[2]string]bool{}
	for i, blob := range b.deprecations {
		if i > 0 {
			b.warn(blob.place, "duplicate-deprecations", "package %q has a second blob of the schema %s; the entries of all count", b.name, SchemaDeprecations)
		}
		for _, entry := range blob.Entries {
			to := entry.Reference
			known := to.Schema == SchemaPackage && to.Name == "" || to.Schema == SchemaChannel && channels[to.Name] || to.Schema == SchemaBundle && bundles[to.Name]
			switch key := [2]string{to.Schema, to.Name}; {
			case seen[key]:
				b.warn(blob.place, "deprecation-duplicate", "%s %q is deprecated twice", brief(to.Schema), brief(to.Name))
			case !known:
				b.warn(blob.place, "deprecation-reference", "what is deprecated does not exist in the package: %s %q", brief(to.Schema), brief(to.Name))
			case entry.Message == "":
				b.warn(blob.place, "deprecation-message", "the deprecation of %s %q has no message", to.Schema, brief(to.Name))
			}
			seen[[2]string{to.Schema, to.Name}] = true
		}
	}
}

// listed is the beginning of a list, as a text.
func listed(names []string) string {
	const most = 5
	var quoted []string
	for _, n := range names[:min(len(names), most)] {
		quoted = append(quoted, fmt.Sprintf("%q", brief(n)))
	}
	if len(names) > most {
		quoted = append(quoted, fmt.Sprintf("%d more", len(names)-most))
	}
	return strings.Join(quoted, ", ")
}
