// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin

package cmd

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
)

// The lock is one of fcntl, not of flock: the system tells who holds it, so that
// no process number has to be believed that a dead holder may have left behind.
// It goes with the process, however that ends.

// lockFile takes an exclusive lock on an open file, or returns errHeld.
func lockFile(f *os.File) error {
	err := syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart})
	if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) {
		return errHeld
	}
	if err != nil {
		return fmt.Errorf("locking %s: %w", f.Name(), err)
	}
	return nil
}

// holderOf is the process that holds the lock on an open file, 0 when none does.
func holderOf(f *os.File) (int, error) {
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart}
	if err := syscall.FcntlFlock(f.Fd(), syscall.F_GETLK, &lock); err != nil {
		return 0, fmt.Errorf("looking at the lock on %s: %w", f.Name(), err)
	}
	if lock.Type == syscall.F_UNLCK {
		return 0, nil
	}
	return int(lock.Pid), nil
}

// detach gives a command that is about to start a session of its own, so that it
// outlives the terminal.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
}

func terminate(pid int) error {
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		return fmt.Errorf("signalling process %d: %w", pid, err)
	}
	return nil
}
