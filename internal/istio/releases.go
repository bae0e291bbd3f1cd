// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istio

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	manifests128 "alias.strata.run/istio-1-28/manifests"
	manifests129 "alias.strata.run/istio-1-29/manifests"
	manifests131 "istio.io/istio/manifests"
	utilversion "k8s.io/apimachinery/pkg/util/version"
)

// releases are the Istio versions in this binary, oldest first. The modules tell
// only their minor (in a file VERSION that is not embedded); the patch is the
// release that each module's commit belongs to.
var releases = []*Release{
	newRelease("1.28", "1.28.2", manifests128.FS),
	newRelease("1.29", "1.29.1", manifests129.FS),
	newRelease("1.31", "1.31.0", manifests131.FS),
}

// Releases are the releases in this binary, oldest first.
func Releases() []*Release { return slices.Clone(releases) }

// Newest is the newest release in this binary.
func Newest() *Release { return releases[len(releases)-1] }

// Resolve finds a release by its minor or full version, with or without a v and white
// space around it.
func Resolve(version string) (*Release, bool) {
	version = strings.TrimPrefix(strings.TrimSpace(version), "v")
	for _, r := range releases {
		if version == r.minor || version == r.app {
			return r, true
		}
	}
	return nil, false
}

// Release is one Istio version. It never changes, and may be used concurrently.
type Release struct {
	minor string
	app   string
	files fs.FS

	// The charts that have been asked for, by their folders, and the CRDs.
	parsed parsed
}

func newRelease(minor, app string, files fs.FS) *Release {
	return &Release{minor: minor, app: app, files: files}
}

// Minor is the release's minor version, such as 1.29.
func (r *Release) Minor() string { return r.minor }

// Version is the release's full version, such as 1.29.1.
func (r *Release) Version() string { return r.app }

// Minors are the minor versions of the releases, oldest first.
func Minors() []string {
	var all []string
	for _, r := range releases {
		all = append(all, r.minor)
	}
	return all
}

// CRDRelease is the release whose CRDs go with wanted when those of the version in place
// must not be downgraded: the oldest that is as new as both. In place is empty when there
// are none. It is not ok when the ones in place are newer than all of this binary; the
// error says that inPlace is no version.
func CRDRelease(wanted *Release, inPlace string) (r *Release, ok bool, err error) {
	if inPlace == "" {
		return wanted, true, nil
	}
	least, err := utilversion.ParseGeneric(inPlace)
	if err != nil {
		return nil, false, fmt.Errorf("reading the version of the CRDs in place: %w", err)
	}
	for _, r := range releases[slices.Index(releases, wanted):] {
		v, err := utilversion.ParseGeneric(r.app)
		if err != nil {
			return nil, false, fmt.Errorf("reading a version in this binary: %w", err)
		}
		if v.AtLeast(least) {
			return r, true, nil
		}
	}
	return nil, false, nil
}

// Newer is the newer of two versions. What is no version counts as none.
func Newer(a, b string) string {
	va, errA := utilversion.ParseGeneric(a)
	vb, errB := utilversion.ParseGeneric(b)
	switch {
	case errA != nil && errB != nil:
		return ""
	case errA != nil || errB == nil && va.LessThan(vb):
		return b
	default:
		return a
	}
}
