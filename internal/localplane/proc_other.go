// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package localplane

import "syscall"

// childAttributes has nothing to offer here: no other platform kills children
// with their parent. They stay when the parent is killed, and end with
// Plane.Stop or with the terminal's own signals.
func childAttributes() *syscall.SysProcAttr { return nil }
