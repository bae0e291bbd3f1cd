// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	masterminds "github.com/Masterminds/semver/v3"
	"github.com/blang/semver/v4"
)

// maxRelease is how long a release may be.
const maxRelease = 20

// version is a bundle's, apart from its release.
type version struct {
	semver.Version

	// release is empty for none, which is lower than any.
	release []semver.PRVersion
	// ranged is the same version as ranges take it.
	ranged *masterminds.Version
}

// parseVersion reads the version of a bundle. Without a release of its own, build metadata that is a
// release is the release and no part of the version.
func parseVersion(id Identity) (version, error) {
	parsed, err := semver.Parse(id.Version)
	if err != nil {
		return version{}, fmt.Errorf("parsing version %q: %w", id.Version, err)
	}
	v := version{Version: parsed, ranged: masterminds.New(parsed.Major, parsed.Minor, parsed.Patch, joined(parsed.Pre), "")}
	if id.Release != nil {
		if v.release, err = parseRelease(*id.Release); err != nil {
			return version{}, fmt.Errorf("parsing release %q: %w", *id.Release, err)
		}
		return v, nil
	}
	if v.release, err = parseRelease(strings.Join(parsed.Build, ".")); err == nil {
		v.Build = nil
	}
	return v, nil
}

func parseRelease(text string) ([]semver.PRVersion, error) {
	if text == "" {
		return nil, nil
	}
	if len(text) > maxRelease {
		return nil, fmt.Errorf("it has more than %d characters", maxRelease)
	}
	var release []semver.PRVersion
	for identifier := range strings.SplitSeq(text, ".") {
		parsed, err := semver.NewPRVersion(identifier)
		if err != nil {
			return nil, err
		}
		release = append(release, parsed)
	}
	return release, nil
}

// compare orders by version, then by release. Build metadata that is no release does not count.
func (v version) compare(o version) int {
	return cmp.Or(v.Compare(o.Version), compareReleases(v.release, o.release))
}

func compareReleases(a, b []semver.PRVersion) int {
	for i := range min(len(a), len(b)) {
		if order := a[i].Compare(b[i]); order != 0 {
			return order
		}
	}
	return cmp.Compare(len(a), len(b))
}

// versionRange is what an extension asks for. The zero value takes every version.
type versionRange struct{ constraints *masterminds.Constraints }

func parseRange(text string) (versionRange, error) {
	if strings.TrimSpace(text) == "" {
		return versionRange{}, nil
	}
	constraints, err := masterminds.NewConstraint(text)
	return versionRange{constraints}, err
}

// contains says whether a version is in the range. Its release does not count.
func (r versionRange) contains(v version) bool {
	return r.constraints == nil || (v.ranged != nil && r.constraints.Check(v.ranged))
}

func joined(identifiers []semver.PRVersion) string {
	texts := make([]string, len(identifiers))
	for i, identifier := range identifiers {
		texts[i] = identifier.String()
	}
	return strings.Join(texts, ".")
}

// namedIn is the first version that a range names, with zeros for what it leaves open.
func namedIn(text string) (version, bool) {
	first := strings.IndexAny(text, "0123456789")
	if first < 0 {
		return version{}, false
	}
	numbers := make([]uint64, 3)
	for i, part := range strings.SplitN(text[first:], ".", 3) {
		end := strings.IndexFunc(part, func(r rune) bool { return r < '0' || r > '9' })
		if end < 0 {
			end = len(part)
		}
		number, err := strconv.ParseUint(part[:end], 10, 64)
		if err != nil {
			break
		}
		numbers[i] = number
		if end < len(part) {
			break
		}
	}
	return version{Version: semver.Version{Major: numbers[0], Minor: numbers[1], Patch: numbers[2]}}, true
}
