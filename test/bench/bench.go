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

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/internal/localplane"
)

// figures are what a run has measured, by the key of the row.
type figures map[string]float64

// bench is one run.
type bench struct {
	settings

	root     string
	progress io.Writer
	figures  figures
	// details tell what the counts of the table consist of.
	details strings.Builder

	plane *localplane.Plane
	admin client.Client
	// work is a folder for what is generated.
	work    string
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
	if err := b.startCluster(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.plane.Stop()) }()
	defer func() { err = errors.Join(err, b.stopManager()) }()
	if err := b.startManager(ctx); err != nil {
		return err
	}
	for _, part := range []func(context.Context) error{b.measureSteps, b.measurePeer, b.measureLarge, b.measureScale} {
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

// wait asks until the answer is yes. The last error says why it did not come.
func wait(ctx context.Context, what string, limit, every time.Duration, ask func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	last := errors.New("it is not so yet")
	for {
		done, err := ask(ctx)
		if done {
			return nil
		}
		if err != nil && ctx.Err() == nil {
			last = err
		}
		if err := pause(ctx, every); err != nil {
			return fmt.Errorf("waiting for %s: %w; last answer: %w", what, err, last)
		}
	}
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
