// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/config/policy"
	cli "github.com/strata-run/strata/internal/cli/cmd"
	"github.com/strata-run/strata/internal/localplane"
	"github.com/strata-run/strata/test/setup"
)

var (
	plane *localplane.Plane

	binaries localplane.Binaries
	// admin may do everything, and is not the manager.
	admin client.Client
)

// TestMain runs the tests, or strata when the binary is called by that name.
func TestMain(m *testing.M) {
	testscript.Main(onPlane{m}, map[string]func(){"strata": strata})
}

// strata is the program itself.
func strata() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := cli.Run(ctx, cli.Config{Args: os.Args, In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv})
	stop()
	os.Exit(int(code))
}

// onPlane runs the tests with a cluster and a manager.
type onPlane struct{ tests *testing.M }

// Run returns the code for the process.
func (o onPlane) Run() int {
	return setup.Main(o.tests.Run, setup.Options{Schemes: []func(*runtime.Scheme) error{v1alpha1.AddToScheme}}, func(ctx context.Context, c *setup.Cluster) error {
		plane, binaries, admin = c.Plane, c.Binaries, c.Admin
		if err := install(ctx); err != nil {
			return err
		}
		return c.StartManager(setup.ManagerOptions())
	})
}

// install installs what a cluster has before the manager starts, the policies, and the
// roles of the stories' users.
func install(ctx context.Context) error {
	users := setup.Files{From: os.DirFS("testdata"), Pattern: "users.yaml"}
	policies := setup.Files{From: policy.Files, Pattern: "*.yaml"}
	if err := setup.Apply(ctx, admin, append(setup.Shipped(filepath.Join("..", "..")), policies, users)...); err != nil {
		return err
	}
	return setup.Served(ctx, admin, v1alpha1.GroupVersion.WithKind("Revision"))
}
