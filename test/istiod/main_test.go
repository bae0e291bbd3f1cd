// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiod

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/front/gateway"
	"github.com/strata-run/strata/internal/localplane"
	"github.com/strata-run/strata/internal/localplane/egress"
	"github.com/strata-run/strata/test/setup"
)

const (
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
	// stopManager ends the manager that runs.
	stopManager func() error
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
	log, err := os.Create(plane.Log("strata-manager"))
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	setup.Log(log)
	if err := installCluster(ctx); err != nil {
		return 1, err
	}
	if stopManager, err = setup.StartManager(ctx, plane, setup.ManagerOptions()); err != nil {
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
	gatewayAPI, err := setup.GatewayAPI(ctx, "gateway.networking.k8s.io_*s.yaml")
	if err != nil {
		return err
	}
	module, err := setup.Module(ctx, istiodModule, "github.com/openshift/api")
	if err != nil {
		return err
	}
	root, openshift := filepath.Join("..", ".."), os.DirFS(module)
	sources := append(setup.Shipped(root), gatewayAPI, setup.Files{From: os.DirFS(root), Pattern: "config/samples/namespace.yaml"})
	for _, pattern := range []string{
		"operatoringress/v1/zz_generated.crd-manifests/*_dnsrecords-Default.crd.yaml",
		"config/v1/zz_generated.crd-manifests/*_dnses-Default.crd.yaml",
		"config/v1/zz_generated.crd-manifests/*_infrastructures-Default.crd.yaml",
	} {
		sources = append(sources, setup.Files{From: openshift, Pattern: pattern})
	}
	if err := setup.Apply(ctx, admin, sources...); err != nil {
		return err
	}
	// The kinds that the manager looks for when it starts.
	err = setup.Served(ctx, admin, v1alpha1.GroupVersion.WithKind("Revision"),
		schema.GroupVersionKind{Group: gatewayv1.GroupName, Version: "v1", Kind: "Gateway"}, gateway.RecordKind, gateway.DNSKind, gateway.InfrastructureKind)
	if err != nil {
		return err
	}
	return setup.Apply(ctx, admin, setup.Files{From: os.DirFS("testdata"), Pattern: "platform.yaml"})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
