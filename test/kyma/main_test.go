// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package kyma

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/api/v1alpha1"
	cli "github.com/strata-run/strata/internal/cli/cmd"
	"github.com/strata-run/strata/internal/front/kyma"
	"github.com/strata-run/strata/internal/localplane"
	"github.com/strata-run/strata/internal/simulate"
	"github.com/strata-run/strata/test/setup"
)

var (
	plane    *localplane.Plane
	cluster  *setup.Cluster
	binaries localplane.Binaries
	// admin may do everything, and is not the manager.
	admin client.Client
)

// TestMain runs the tests, or strata when the binary is called by that name.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "strata" {
		ctx, done := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		code := cli.Run(ctx, cli.Config{Args: os.Args, In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv})
		done()
		os.Exit(int(code))
	}
	stages, err := simulate.Istiod()
	if err != nil {
		fmt.Fprintln(os.Stderr, "tests of the kyma front:", err)
		os.Exit(1)
	}
	options := setup.Options{
		Plane: localplane.Options{Stages: stages}, Log: io.MultiWriter(os.Stderr, &managerLog),
		Schemes: []func(*runtime.Scheme) error{v1alpha1.AddToScheme, v1alpha2.AddToScheme},
	}
	os.Exit(setup.Main(m.Run, options, func(ctx context.Context, c *setup.Cluster) error {
		plane, cluster, binaries, admin = c.Plane, c, c.Binaries, c.Admin
		if err := setup.Apply(ctx, admin, setup.Shipped(filepath.Join("..", ".."))...); err != nil {
			return err
		}
		if err := setup.Served(ctx, admin, v1alpha1.GroupVersion.WithKind("Revision"), v1alpha2.GroupVersion.WithKind("Istio")); err != nil {
			return err
		}
		return startManager(ctx, "1.28")
	}))
}

// restartLimit is how many workloads the next manager restarts at a time, and restartDeadline
// how long it waits for one.
var restartLimit, restartDeadline = kyma.DefaultOptions().RestartLimit, kyma.DefaultOptions().RestartDeadline

// withoutFront lets the next manager do nothing about Istio resources.
var withoutFront bool

// allowExperimental lets resources set spec.experimental with the next manager.
var allowExperimental bool

// managerLog is what managers have logged.
var managerLog logged

// logged keeps what is written to it.
type logged struct {
	lock sync.Mutex
	text strings.Builder
}

// Write implements io.Writer.
func (l *logged) Write(line []byte) (int, error) {
	l.lock.Lock()
	defer l.lock.Unlock()
	return l.text.Write(line)
}

// String is all of it.
func (l *logged) String() string {
	l.lock.Lock()
	defer l.lock.Unlock()
	return l.text.String()
}

// startManager ends the manager that runs, and starts one with another version of Istio, and
// with variables in its environment.
func startManager(_ context.Context, version string, variables ...string) error {
	options := setup.ManagerOptions()
	settings := kyma.DefaultOptions()
	settings.IstioVersion, settings.Experimental = version, allowExperimental
	settings.RestartLimit, settings.RestartDeadline = restartLimit, restartDeadline
	options.Settings["kyma"] = &settings
	options.Getenv = func(name string) string {
		for i := 0; i < len(variables); i += 2 {
			if variables[i] == name {
				return variables[i+1]
			}
		}
		return ""
	}
	if withoutFront {
		options.Fronts = slices.DeleteFunc(options.Fronts, func(front string) bool { return front == "kyma" })
	}
	return cluster.StartManager(options)
}

// apply applies a manifest as an administrator does. A kind that has just been defined may
// not be served yet.
func apply(ctx context.Context, object *unstructured.Unstructured) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		last = admin.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("admin"), client.ForceOwnership)
		return last == nil, nil
	})
	if err != nil {
		return errors.Join(err, last)
	}
	return nil
}
