// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// settings are the bench's flags.
type settings struct {
	// manager and helm are the programs.
	manager, helm string
	// packages is how many packages the large part has; 0 leaves it out.
	packages int
	// data keeps the cluster's data and logs; empty removes them.
	data string
}

// fullScale is the number of packages that the budget is for.
const fullScale = 1000

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out, progress io.Writer) error {
	s, err := parse(args, progress)
	if err != nil {
		return err
	}
	rows, err := readBudget(budgetFile)
	if err != nil {
		return err
	}
	root, err := repository(ctx)
	if err != nil {
		return err
	}
	b := &bench{settings: s, root: root, progress: progress, figures: figures{}}
	if err := b.measure(ctx); err != nil {
		return err
	}
	verdicts := judge(rows, b.figures, conditions{scale: s.packages > 0, full: s.packages == fullScale, linux: runtime.GOOS == "linux"})
	fmt.Fprintln(out, b.details.String())
	if err := printTable(out, verdicts, b.figures); err != nil {
		return err
	}
	return failure(verdicts)
}

func parse(args []string, usage io.Writer) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(usage)
	flags.StringVar(&s.manager, "manager", "bin/strata-manager", "the manager's binary")
	flags.StringVar(&s.helm, "helm", "bin/helm", "Helm's binary, to compare with")
	flags.IntVar(&s.packages, "packages", fullScale, "packages of the large part; memory is judged with the default only, 0 leaves the part out")
	flags.StringVar(&s.data, "data", "", "an empty folder that keeps the cluster's data and logs; default none is kept")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if s.packages < 0 {
		return s, fmt.Errorf("-packages is %d: it must not be negative", s.packages)
	}
	var err error
	for _, path := range []*string{&s.manager, &s.helm} {
		if *path, err = filepath.Abs(*path); err != nil {
			return s, err
		}
		if _, err := os.Stat(*path); err != nil {
			return s, fmt.Errorf("finding a program: %w: make bench builds it", err)
		}
	}
	return s, nil
}

// repository is the folder of our module.
func repository(ctx context.Context) (string, error) {
	file, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("finding the repository: %w", err)
	}
	return filepath.Dir(strings.TrimSpace(string(file))), nil
}
