// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package localplane

import "os"

// lockFile does nothing: this platform has no advisory lock that ends with the
// process. Two processes may build at once; the rename at the end keeps the
// result whole.
func lockFile(*os.File) error { return nil }
