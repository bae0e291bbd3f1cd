// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/strata-run/strata/test/setup"
)

// figures are what a run has measured, by the key of the row.
type figures map[string]float64

// bench is one run.
type bench struct {
	settings
	*setup.Cluster

	root     string
	progress io.Writer
	figures  figures
	// details tell what the counts of the table consist of.
	details strings.Builder

	// work is a folder for what is generated.
	work string
	// flags are those of the manager besides the ones that it always has.
	flags   []string
	process *process
}

// measure fills the figures.
func (b *bench) measure(ctx context.Context) (err error) {
	if b.work, err = os.MkdirTemp("", "strata-bench-"); err != nil {
		return fmt.Errorf("making a folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.work)) }()
	if err := b.measureFunctions(ctx); err != nil {
		return err
	}
	if err := b.onCluster(ctx, "packages", b.measureSteps, b.measurePeer, b.measureLarge, b.measureScale); err != nil || b.packages == 0 {
		return err
	}
	return b.onCluster(ctx, "extensions", b.measureExtensions)
}

// onCluster measures on a cluster of its own, with a manager that has just been started.
func (b *bench) onCluster(ctx context.Context, name string, parts ...func(context.Context) error) (err error) {
	if err := b.startCluster(ctx, name); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Stop()) }()
	defer func() { err = errors.Join(err, b.stopManager()) }()
	if err := b.startManager(ctx); err != nil {
		return err
	}
	for _, part := range parts {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return nil
}

// say writes a line of progress.
func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(b.progress, "%s  %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}

// await asks until the answer is yes. The last error says why it did not come.
func await(ctx context.Context, what string, limit, every time.Duration, ask func(context.Context) (bool, error)) error {
	last := errors.New("it is not so yet")
	err := wait.PollUntilContextTimeout(ctx, every, limit, true, func(ctx context.Context) (bool, error) {
		done, err := ask(ctx)
		if err != nil && ctx.Err() == nil {
			last = err
		}
		return done, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for %s: %w; last answer: %w", what, err, last)
	}
	return nil
}

// pause lets time pass.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
