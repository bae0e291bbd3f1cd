// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Package version says which build of Strata a binary is. The Makefile stamps
// it with -ldflags -X; a build without the stamp says so.
package version

import (
	"fmt"
	"runtime"
)

var (
	version = "v0.0.0-unstamped"
	commit  = "unknown"
	date    = "unknown"
)

// Info is one build of Strata.
type Info struct {
	// Version is the release, such as v0.1.0, with commits since it if any.
	Version string `json:"version"`
	// Commit is the git commit it was built from.
	Commit string `json:"commit"`
	// Date is that of the commit, RFC 3339.
	Date string `json:"date"`
	// GoVersion is the compiler's.
	GoVersion string `json:"goVersion"`
	// Platform is GOOS/GOARCH.
	Platform string `json:"platform"`
}

// Get is the build of the running binary.
func Get() Info {
	return Info{Version: version, Commit: commit, Date: date, GoVersion: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
}

// String is the build on one line.
func (i Info) String() string {
	return fmt.Sprintf("%s (commit %s, %s, %s, %s)", i.Version, i.Commit, i.Date, i.GoVersion, i.Platform)
}
