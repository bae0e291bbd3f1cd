// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package localplane

import "syscall"

// childAttributes puts a child into a process group of its own, so that Ctrl-C
// in a terminal reaches it only through Plane.Stop, in the right order, and has
// the kernel kill it when its parent dies.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
