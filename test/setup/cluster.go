// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/internal/controller"
	"github.com/strata-run/strata/internal/localplane"
)

// Options say how a cluster differs from others.
type Options struct {
	Plane localplane.Options
	// Schemes are the kinds that Admin knows besides those of Kubernetes.
	Schemes []func(*runtime.Scheme) error
	// Log is where managers of this process and clients log to; a file of the plane's when
	// there is none. See [Log].
	Log io.Writer
}

// Cluster is a local Kubernetes, and the manager that runs beside it.
type Cluster struct {
	*localplane.Plane

	// Binaries are those that the plane runs, and kubectl.
	Binaries localplane.Binaries
	// Admin may do everything, and is not the manager.
	Admin client.WithWatch

	stopManager func() error
	log         io.Closer
}

// Main starts a cluster, prepares it, runs tests, and returns the code for the process. What
// goes wrong beside the tests is printed, and makes the code 1.
func Main(tests func() int, o Options, prepare func(context.Context, *Cluster) error) int {
	code, err := run(tests, o, prepare)
	if err != nil {
		fmt.Fprintln(os.Stderr, "the cluster of the tests:", err)
		return max(code, 1)
	}
	return code
}

func run(tests func() int, o Options, prepare func(context.Context, *Cluster) error) (code int, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c, err := Start(ctx, o)
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	if err := prepare(ctx, c); err != nil {
		return 1, fmt.Errorf("preparing it: %w", err)
	}
	return tests(), nil
}

// Start starts a cluster without a manager.
func Start(ctx context.Context, o Options) (c *Cluster, err error) {
	c = &Cluster{stopManager: func() error { return nil }}
	if c.Binaries, err = localplane.Build(ctx, localplane.BuildOptions{Progress: os.Stderr}); err != nil {
		return nil, err
	}
	o.Plane.Binaries, o.Plane.Progress = c.Binaries, os.Stderr
	if c.Plane, err = localplane.Start(ctx, o.Plane); err != nil {
		return nil, err
	}
	if err := c.connect(o); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

func (c *Cluster) connect(o Options) (err error) {
	if o.Log == nil {
		file, err := os.Create(c.Log("strata-manager"))
		if err != nil {
			return fmt.Errorf("opening the manager's log: %w", err)
		}
		o.Log, c.log = file, file
	}
	Log(o.Log)
	if c.Admin, err = client.NewWithWatch(c.Config(), client.Options{}); err != nil {
		return err
	}
	for _, add := range o.Schemes {
		if err := add(c.Admin.Scheme()); err != nil {
			return err
		}
	}
	return nil
}

// StartManager runs a manager in this process, with its shipped rights, in place of the one
// that runs. A manager that ends by itself ends the process.
func (c *Cluster) StartManager(options controller.Options) error {
	config, err := c.ConfigFor(Manager, ManagerGroups...)
	if err != nil {
		return fmt.Errorf("connecting as the manager: %w", err)
	}
	return c.RunManager(config, options)
}

// RunManager does the same over a connection of the test's.
func (c *Cluster) RunManager(config *rest.Config, options controller.Options) error {
	if err := c.StopManager(); err != nil {
		return err
	}
	c.stopManager = runManager(config, options)
	return nil
}

// StopManager ends the manager, if one runs, and returns the error that it ended with.
func (c *Cluster) StopManager() error {
	stop := c.stopManager
	c.stopManager = func() error { return nil }
	return stop()
}

// Stop ends the manager, which must not see the API server go, and the plane.
func (c *Cluster) Stop() error {
	err := errors.Join(c.StopManager(), c.Err(), c.Plane.Stop())
	if c.log != nil {
		err = errors.Join(err, c.log.Close())
	}
	return err
}
