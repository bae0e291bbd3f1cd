// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/strata-run/strata/test/setup"
)

// process is a running manager.
type process struct {
	command *exec.Cmd
	ended   chan error
}

// startManager runs the manager, and returns when it acts. It dies with the context.
func (b *bench) startManager(ctx context.Context) error {
	kubeconfig := filepath.Join(b.work, "manager.kubeconfig")
	if err := b.WriteKubeconfig(kubeconfig, managerUser, setup.ManagerGroups...); err != nil {
		return err
	}
	log, err := os.OpenFile(b.Log("strata-manager"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("opening the manager's log: %w", err)
	}
	defer log.Close() // the process has its own
	command := exec.CommandContext(ctx, b.manager, append([]string{"--metrics-bind-address=0", "--health-probe-bind-address=0"}, b.flags...)...)
	command.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	command.Stdout, command.Stderr = log, log
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = 15 * time.Second
	if err := command.Start(); err != nil {
		return fmt.Errorf("starting the manager: %w", err)
	}
	b.process = &process{command: command, ended: make(chan error, 1)}
	go func(p *process) { p.ended <- p.command.Wait() }(b.process)
	return nil
}

// stopManager ends the manager, if it runs.
func (b *bench) stopManager() error {
	if b.process == nil {
		return nil
	}
	p := b.process
	b.process = nil
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stopping the manager: %w", err)
	}
	if err := <-p.ended; err != nil {
		return fmt.Errorf("the manager has ended: %w: -data keeps its log", err)
	}
	return nil
}

// isRunning is an error when the manager has ended by itself.
func (p *process) isRunning() error {
	select {
	case err := <-p.ended:
		p.ended <- err
		return fmt.Errorf("the manager has ended by itself (%w): -data keeps its log", errors.Join(err, os.ErrProcessDone))
	default:
		return nil
	}
}

// memory is a process's, in MB (1,000,000 bytes).
type memory struct {
	// resident is all that is in memory now, and peak the most that it has been.
	resident, peak float64
	// anonymous is the part that is not the program itself, whose pages the system
	// shares and may drop.
	anonymous float64
}

// memory is the manager's. It is not known on systems without /proc.
func (p *process) memory() (m memory, known bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.command.Process.Pid))
	if err != nil {
		return memory{}, false
	}
	m = memoryOf(string(text))
	return m, m.resident > 0 && m.peak > 0
}

// memoryOf reads /proc/PID/status.
func memoryOf(status string) memory {
	var m memory
	at := map[string]*float64{"VmRSS": &m.resident, "VmHWM": &m.peak, "RssAnon": &m.anonymous}
	for line := range strings.Lines(status) {
		name, value, _ := strings.Cut(line, ":")
		kibibytes, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 64)
		if into := at[name]; into != nil && err == nil {
			*into = kibibytes * 1024 / 1e6
		}
	}
	return m
}

// cpu is how much processor time the manager has used. It is 0 on systems without
// /proc.
func (p *process) cpu() time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.command.Process.Pid))
	if err != nil {
		return 0
	}
	return cpuOf(string(text))
}

// cpuOf reads the time in user and system mode from a line of /proc/PID/stat, where
// they stand in hundredths of a second after a name in parentheses.
func cpuOf(stat string) time.Duration {
	_, after, _ := strings.Cut(stat, ") ")
	columns := strings.Fields(after)
	if len(columns) < 13 {
		return 0
	}
	var used time.Duration
	for _, column := range columns[11:13] {
		ticks, err := strconv.ParseInt(column, 10, 64)
		if err != nil {
			return 0
		}
		used += time.Duration(ticks) * 10 * time.Millisecond
	}
	return used
}
