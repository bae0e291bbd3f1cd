// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/wait"
)

const stopTimeout = 90 * time.Second

func (a *app) downCommand() *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Stop the local cluster and remove its data",
		Long: `Stop the local cluster that "strata up" has started in the same folder, and
remove its data. What was built stays, so that the next start is quick. When
nothing runs, this says so.`,
		Args: cobra.NoArgs,
		RunE: a.run(func(ctx context.Context, _ []string) error {
			dir, err := openLocalDir(path)
			if err != nil {
				return err
			}
			return a.down(ctx, dir)
		}),
	}
	cmd.Flags().StringVar(&path, "dir", defaultLocalDir(a.Getenv), "folder of the cluster")
	return cmd
}

func (a *app) down(ctx context.Context, dir localDir) error {
	if _, err := os.Stat(string(dir)); errors.Is(err, fs.ErrNotExist) {
		a.note("No local cluster runs in %s.", dir)
		return nil
	}
	holder, err := dir.holder()
	if err != nil {
		return err
	}
	if holder != 0 {
		if err := a.stopSupervisor(ctx, dir); err != nil {
			return err
		}
	}
	found, err := dir.clear()
	if err != nil {
		return err
	}
	switch {
	case holder != 0:
		a.note("The local cluster is stopped and its data removed.")
	case found:
		a.note("No local cluster runs in %s; what one had left behind is removed.", dir)
	default:
		a.note("No local cluster runs in %s.", dir)
	}
	return nil
}

func (a *app) stopSupervisor(ctx context.Context, dir localDir) error {
	asked, holder := 0, 0
	err := wait.PollUntilContextTimeout(ctx, pollInterval, stopTimeout, true, func(context.Context) (isFree bool, err error) {
		if holder, err = dir.holder(); err != nil || holder == 0 {
			return true, err
		}
		l, err := dir.read()
		// Another `down` holds the folder too, while it removes the data.
		if err != nil || holder != l.PID || holder == asked {
			return false, err
		}
		a.note("Stopping the local cluster (process %d).", holder)
		asked = holder
		return false, terminate(holder)
	})
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("waiting for process %d: %w", holder, ctx.Err())
	case wait.Interrupted(err):
		return exitf(CodeTimeout, "process %d has not ended within %s; its log is %s", holder, stopTimeout, dir.logFile())
	}
	return err
}
