// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

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

	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/klog/v2/textlogger"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/config/crd"
	"github.com/strata-run/strata/internal/cli"
	"github.com/strata-run/strata/internal/controller"
	"github.com/strata-run/strata/internal/localplane"
)

// manager is who the manager is in the audit log. It has the rights of config/rbac.
const manager = "system:serviceaccount:strata-system:strata-manager"

var (
	plane    *localplane.Plane
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
	code, err := withCluster(o.tests.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, "command line tests:", err)
		return max(code, 1)
	}
	return code
}

// withCluster runs the tests against a plane and a manager. The manager ends first: it
// must not see the API server go.
func withCluster(tests func() int) (code int, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if binaries, err = localplane.Build(ctx, localplane.BuildOptions{Progress: os.Stderr}); err != nil {
		return 1, err
	}
	if plane, err = localplane.Start(ctx, localplane.Options{Binaries: binaries, Progress: os.Stderr}); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, plane.Stop()) }()
	if admin, err = client.New(plane.Config(), client.Options{}); err != nil {
		return 1, err
	}
	if err := v1alpha1.AddToScheme(admin.Scheme()); err != nil {
		return 1, err
	}
	if err := install(ctx); err != nil {
		return 1, err
	}
	ended, err := startManager(ctx)
	if err != nil {
		return 1, err
	}
	code = tests()
	cancel()
	return code, <-ended
}

// install installs what a cluster has before the manager starts, and the roles of the
// stories' users.
func install(ctx context.Context) error {
	root := os.DirFS(filepath.Join("..", ".."))
	for _, source := range []struct {
		files   fs.FS
		pattern string
	}{
		{crd.Files, "*.yaml"}, {root, "config/manager/manager.yaml"}, {root, "config/rbac/role*.yaml"}, {os.DirFS("testdata"), "users.yaml"},
	} {
		if err := applyFiles(ctx, source.files, source.pattern); err != nil {
			return err
		}
	}
	return nil
}

// applyFiles applies manifests, but no workload: the manager runs in this process.
func applyFiles(ctx context.Context, files fs.FS, pattern string) error {
	names, err := fs.Glob(files, pattern)
	if err != nil || len(names) == 0 {
		return fmt.Errorf("no files match %s: %w", pattern, errors.Join(err, fs.ErrNotExist))
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
			if err := admin.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("setup"), client.ForceOwnership); err != nil {
				return fmt.Errorf("applying %s: %w", name, err)
			}
		}
	}
	return nil
}

// startManager runs the manager in this process, with its shipped rights.
func startManager(ctx context.Context) (<-chan error, error) {
	config, err := plane.ConfigFor(manager, "system:serviceaccounts", "system:serviceaccounts:strata-system")
	if err != nil {
		return nil, err
	}
	for range 100 {
		if err = admin.List(ctx, &v1alpha1.RevisionList{}); err == nil {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(plane.DataDir(), "manager.log"))
	if err != nil {
		return nil, err
	}
	ctrl.SetLogger(textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(log))))
	options := controller.DefaultOptions()
	options.MetricsAddress, options.HealthAddress = "0", "0"
	ended := make(chan error, 1)
	go func() {
		err := controller.Run(ctx, config, options)
		if ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, "the manager has ended before the tests:", err)
			os.Exit(1)
		}
		ended <- err
	}()
	return ended, nil
}
