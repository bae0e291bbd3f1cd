// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package localplane

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
)

// launcher starts processes from one OS thread, which lives until close: Linux
// sends the parent death signal when the thread that forked ends, and Go ends
// threads as it likes.
type launcher struct {
	requests chan launchRequest
	closed   chan struct{}
}

type launchRequest struct {
	cmd    *exec.Cmd
	result chan error
}

func newLauncher() *launcher {
	l := &launcher{requests: make(chan launchRequest), closed: make(chan struct{})}
	go l.run()
	return l
}

func (l *launcher) run() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for {
		select {
		case r := <-l.requests:
			r.result <- r.cmd.Start()
		case <-l.closed:
			return
		}
	}
}

func (l *launcher) start(cmd *exec.Cmd) error {
	r := launchRequest{cmd: cmd, result: make(chan error, 1)}
	l.requests <- r
	return <-r.result
}

// close ends the thread. Every process must have ended before.
func (l *launcher) close() { close(l.closed) }

// component is one running program of a plane.
type component struct {
	name    string
	cmd     *exec.Cmd
	logPath string
	// dismissed is set before the program is ended while the plane goes on.
	dismissed atomic.Bool
	// exited is closed when the process has ended; exitErr is set before.
	exited  chan struct{}
	exitErr error
}

// startComponent runs a program. Its output goes to a log file, which is emptied
// first.
func startComponent(l *launcher, dataDir string, program Program) (*component, error) {
	c := &component{
		name:    program.Name,
		logPath: filepath.Join(dataDir, "logs", program.Name+".log"),
		exited:  make(chan struct{}),
	}
	log, err := os.Create(c.logPath)
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", program.Name, err)
	}
	defer log.Close()
	// No context ends it: etcd must outlive those who write to it, see stop.
	c.cmd = exec.CommandContext(context.Background(), program.Path, program.Args...)
	c.cmd.Dir = cmp.Or(program.Dir, dataDir)
	c.cmd.Stdout, c.cmd.Stderr = log, log
	// Every one of these programs also takes settings from its environment or
	// from the home folder; a user's must not reach them.
	c.cmd.Env = append([]string{"HOME=" + dataDir, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir()}, program.Env...)
	c.cmd.SysProcAttr = childAttributes()
	if err := l.start(c.cmd); err != nil {
		return nil, fmt.Errorf("starting %s: %w", program.Name, err)
	}
	go func() {
		c.exitErr = c.cmd.Wait()
		close(c.exited)
	}()
	return c, nil
}

// failure describes an exit that the caller has not requested, with the end of the log.
func (c *component) failure() error {
	state := "it ended by itself"
	if c.exitErr != nil {
		state = c.exitErr.Error()
	}
	return fmt.Errorf("%s exited (%s); the last lines of its log:\n%s", c.name, state, c.logTail())
}

// logTail returns the last lines of the log.
func (c *component) logTail() string {
	const window = 8 << 10
	file, err := os.Open(c.logPath)
	if err != nil {
		return err.Error()
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err.Error()
	}
	buffer := make([]byte, window)
	n, _ := file.ReadAt(buffer, max(0, info.Size()-window))
	return lastLines(string(buffer[:n]), 8)
}

// stop ends the process: politely first, by force after the grace period.
func (c *component) stop(grace time.Duration) error {
	select {
	case <-c.exited:
		return nil
	default:
	}
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err == nil {
		select {
		case <-c.exited:
			return nil
		case <-time.After(grace):
		}
	}
	if err := c.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stopping %s: %w", c.name, err)
	}
	select {
	case <-c.exited:
		return nil
	case <-time.After(killTimeout):
		return fmt.Errorf("stopping %s: process %d still runs %s after it was killed", c.name, c.cmd.Process.Pid, killTimeout)
	}
}

// killTimeout bounds the wait for a killed process to be gone. That is a moment, unless
// the disk is so busy that the process still waits for it.
const killTimeout = 30 * time.Second
