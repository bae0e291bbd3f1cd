// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiod

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2/textlogger"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/config/crd"
	"github.com/strata-run/strata/internal/controller"
	"github.com/strata-run/strata/internal/localplane"
	"github.com/strata-run/strata/internal/localplane/egress"
	"github.com/strata-run/strata/internal/render/gateway"
)

const (
	// manager is who the manager is in the audit log. It has the rights of config/rbac.
	manager = "system:serviceaccount:strata-system:strata-manager"
	// istiodUser is who istiod is. It has the rights that the manager has rendered.
	istiodUser = "system:serviceaccount:openshift-ingress:istiod-openshift-gateway"
	// binary is the real istiod.
	binary = "../../bin/pilot-discovery"
	// istiodModule is what it is built from.
	istiodModule = "../../tools/istiod"
)

var (
	plane *localplane.Plane
	// router lets the API server reach istiod.
	router *egress.Router
	// admin may do everything, and is neither the manager nor istiod.
	admin client.Client
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	code, err := withCluster(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, "istiod tests:", err)
		return max(code, 1)
	}
	return code
}

// withCluster runs the tests against a plane and a manager. The manager ends first:
// it must not see the API server go.
func withCluster(tests func() int) (code int, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if _, err := os.Stat(binary); err != nil {
		return 1, fmt.Errorf("%w; build istiod and run these tests with make test-istiod", err)
	}
	binaries, err := localplane.Build(ctx, localplane.BuildOptions{Progress: os.Stderr})
	if err != nil {
		return 1, err
	}
	if router, err = egress.Listen(); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, router.Close()) }()
	plane, err = localplane.Start(ctx, localplane.Options{Binaries: binaries, APIServerArgs: router.APIServerArgs(), Progress: os.Stderr})
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, plane.Err(), plane.Stop()) }()
	if err := installCluster(ctx); err != nil {
		return 1, err
	}
	stopManager, err := startManager(ctx)
	if err != nil {
		return 1, err
	}
	code = tests()
	return code, stopManager()
}

// installCluster installs what a cluster has before the manager starts.
func installCluster(ctx context.Context) (err error) {
	if admin, err = client.New(plane.Config(), client.Options{}); err != nil {
		return err
	}
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, gatewayv1.Install, apiextensionsv1.AddToScheme} {
		if err := add(admin.Scheme()); err != nil {
			return err
		}
	}
	gatewayAPI, err := moduleFiles(ctx, ".", "sigs.k8s.io/gateway-api")
	if err != nil {
		return err
	}
	openshift, err := moduleFiles(ctx, istiodModule, "github.com/openshift/api")
	if err != nil {
		return err
	}
	root := os.DirFS(filepath.Join("..", ".."))
	for _, source := range []struct {
		files   fs.FS
		pattern string
	}{
		{crd.Files, "*.yaml"}, {gatewayAPI, "config/crd/standard/gateway.networking.k8s.io_*s.yaml"},
		{openshift, "operatoringress/v1/zz_generated.crd-manifests/*_dnsrecords-Default.crd.yaml"},
		{openshift, "config/v1/zz_generated.crd-manifests/*_dnses-Default.crd.yaml"},
		{openshift, "config/v1/zz_generated.crd-manifests/*_infrastructures-Default.crd.yaml"},
		{root, "config/manager/manager.yaml"}, {root, "config/rbac/role*.yaml"}, {root, "config/samples/namespace.yaml"},
	} {
		if err := applyFiles(ctx, source.files, source.pattern); err != nil {
			return err
		}
	}
	if err := waitServed(ctx); err != nil {
		return err
	}
	return applyFiles(ctx, os.DirFS("testdata"), "platform.yaml")
}

// moduleFiles are the files of a Go module that the module in dir requires.
func moduleFiles(ctx context.Context, dir, path string) (fs.FS, error) {
	found, err := exec.CommandContext(ctx, "go", "-C", dir, "list", "-m", "-f", "{{.Dir}}", path).Output()
	if err != nil {
		return nil, fmt.Errorf("finding the module %s: %w", path, err)
	}
	return os.DirFS(strings.TrimSpace(string(found))), nil
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
			status := object.DeepCopy()
			if err := admin.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("setup"), client.ForceOwnership); err != nil {
				return fmt.Errorf("applying %s: %w", name, err)
			}
			if _, has := status.Object["status"]; !has || object.GetKind() == "CustomResourceDefinition" {
				continue
			}
			if err := admin.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(status), client.FieldOwner("setup"), client.ForceOwnership); err != nil {
				return fmt.Errorf("applying the status in %s: %w", name, err)
			}
		}
	}
	return nil
}

// startManager runs the manager in this process, with its shipped rights. What is
// returned ends it.
func startManager(ctx context.Context) (stop func() error, err error) {
	config, err := plane.ConfigFor(manager, "system:serviceaccounts", "system:serviceaccounts:strata-system")
	if err != nil {
		return nil, err
	}
	log, err := os.Create(plane.Log("strata-manager"))
	if err != nil {
		return nil, err
	}
	ctrl.SetLogger(textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(log))))
	options := controller.DefaultOptions()
	options.MetricsAddress, options.HealthAddress = "0", "0"
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		err := controller.Run(ctx, config, options)
		if ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, "the manager has ended before the tests:", err)
			os.Exit(1)
		}
		ended <- err
	}()
	return func() error {
		cancel()
		return errors.Join(<-ended, log.Close())
	}, nil
}

// waitServed waits until the API server serves the kinds that the manager looks for
// when it starts.
func waitServed(ctx context.Context) error {
	var err error
	for range 100 {
		err = nil
		for _, kind := range []schema.GroupVersionKind{
			v1alpha1.GroupVersion.WithKind("Revision"), {Group: gatewayv1.GroupName, Version: "v1", Kind: "Gateway"},
			gateway.RecordKind, gateway.DNSKind, gateway.InfrastructureKind,
		} {
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(kind)
			err = errors.Join(err, admin.List(ctx, list))
		}
		if err == nil {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return err
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
