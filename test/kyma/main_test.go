// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package kyma

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/klog/v2/textlogger"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/strata-run/strata/api/operator.kyma-project.io/v1alpha2"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/config/crd"
	"github.com/strata-run/strata/internal/cli"
	"github.com/strata-run/strata/internal/controller"
	"github.com/strata-run/strata/internal/localplane"
	"github.com/strata-run/strata/internal/simulate"
)

// managerUser is who the manager is in the audit log. It has the rights of config/rbac.
const managerUser = "system:serviceaccount:strata-system:strata-manager"

var (
	plane    *localplane.Plane
	binaries localplane.Binaries
	// admin may do everything, and is not the manager.
	admin client.Client
	// stop ends the manager that runs, and returns its end.
	stop = func() error { return nil }
)

// TestMain runs the tests, or strata when the binary is called by that name.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "strata" {
		ctx, done := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		code := cli.Run(ctx, cli.Config{Args: os.Args, In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv})
		done()
		os.Exit(int(code))
	}
	code, err := withCluster(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, "tests of the kyma front:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// withCluster runs the tests against a plane. The manager ends first: it must not see the
// API server go.
func withCluster(tests func() int) (code int, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	stages, err := simulate.Istiod()
	if err != nil {
		return 1, err
	}
	if binaries, err = localplane.Build(ctx, localplane.BuildOptions{Progress: os.Stderr}); err != nil {
		return 1, err
	}
	if plane, err = localplane.Start(ctx, localplane.Options{Binaries: binaries, Stages: stages, Progress: os.Stderr}); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, plane.Err(), plane.Stop()) }()
	if admin, err = client.New(plane.Config(), client.Options{}); err != nil {
		return 1, err
	}
	if err := errors.Join(v1alpha1.AddToScheme(admin.Scheme()), v1alpha2.AddToScheme(admin.Scheme())); err != nil {
		return 1, err
	}
	root := os.DirFS(filepath.Join("..", ".."))
	for _, source := range []struct {
		files   fs.FS
		pattern string
	}{{crd.Files, "*.yaml"}, {root, "config/manager/manager.yaml"}, {root, "config/rbac/role*.yaml"}} {
		if err := applyFiles(ctx, source.files, source.pattern); err != nil {
			return 1, err
		}
	}
	if err := startManager(ctx, "1.28"); err != nil {
		return 1, err
	}
	code = tests()
	return code, stop()
}

// restartLimit is how many workloads the next manager restarts at a time.
var restartLimit = controller.DefaultOptions().Kyma.RestartLimit

// startManager ends the manager that runs, and starts one with another version of Istio, and
// with variables in its environment.
func startManager(ctx context.Context, version string, variables ...string) error {
	if err := stop(); err != nil {
		return err
	}
	config, err := plane.ConfigFor(managerUser, "system:serviceaccounts", "system:serviceaccounts:strata-system")
	if err != nil {
		return err
	}
	ctrl.SetLogger(textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(os.Stderr))))
	options := controller.DefaultOptions()
	options.Kyma.IstioVersion = version
	err = options.ReadImages(func(name string) string {
		for i := 0; i < len(variables); i += 2 {
			if variables[i] == name {
				return variables[i+1]
			}
		}
		return ""
	})
	if err != nil {
		return err
	}
	options.Kyma.RestartLimit = restartLimit
	options.LeaderElect, options.MetricsAddress, options.HealthAddress = false, "0", "0"
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		err := controller.Run(ctx, config, options)
		if ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, "the manager has ended before the tests:", err)
			os.Exit(1)
		}
		ended <- err
	}()
	stop = func() error {
		cancel()
		return <-ended
	}
	return nil
}

// applyFiles applies manifests, but no workload: the manager runs in this process.
func applyFiles(ctx context.Context, files fs.FS, pattern string) error {
	names, err := fs.Glob(files, pattern)
	if err != nil || len(names) == 0 {
		return fmt.Errorf("no files match %s: %w", pattern, fs.ErrNotExist)
	}
	for _, name := range names {
		content, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		for document := range strings.SplitSeq(string(content), "\n---") {
			object := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
				return fmt.Errorf("reading %s: %w", name, err)
			}
			if object.Object == nil || object.GetKind() == "Deployment" {
				continue
			}
			if err := apply(ctx, object); err != nil {
				return fmt.Errorf("applying %s: %w", name, err)
			}
		}
	}
	return nil
}

// apply applies a manifest as an administrator does. A kind that has just been defined may
// not be served yet.
func apply(ctx context.Context, object *unstructured.Unstructured) error {
	var err error
	for range 50 {
		if err = admin.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("admin"), client.ForceOwnership); err == nil {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return err
}
