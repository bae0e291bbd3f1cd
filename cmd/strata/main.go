// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

// Command strata shows what Strata runs in a cluster, and rolls it back. It is
// also installed as kubectl-strata, a plugin of kubectl.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	cli "github.com/strata-run/strata/internal/cli/cmd"
	"github.com/strata-run/strata/internal/controller"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := cli.Run(ctx, cli.Config{
		Args: os.Args, In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv,
		RunManager: controller.Run,
	})
	stop()
	os.Exit(int(code))
}
