// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package istiod

import (
	"context"
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
	plane   *localplane.Plane
	cluster *setup.Cluster
	// router lets the API server reach istiod.
	router *egress.Router
	// admin may do everything, and is neither the manager nor istiod.
	admin client.Client
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) (code int) {
	if _, err := os.Stat(binary); err != nil {
		fmt.Fprintf(os.Stderr, "%v; build istiod and run these tests with make test-istiod\n", err)
		return 1
	}
	var err error
	if router, err = egress.Listen(); err != nil {
		fmt.Fprintln(os.Stderr, "istiod tests:", err)
		return 1
	}
	defer func() {
		if err := router.Close(); err != nil {
			fmt.Fprintln(os.Stderr, "istiod tests:", err)
			code = max(code, 1)
		}
	}()
	options := setup.Options{
		Plane:   localplane.Options{APIServerArgs: router.APIServerArgs()},
		Schemes: []func(*runtime.Scheme) error{v1alpha1.AddToScheme, gatewayv1.Install, apiextensionsv1.AddToScheme},
	}
	return setup.Main(m.Run, options, func(ctx context.Context, c *setup.Cluster) error {
		plane, cluster, admin = c.Plane, c, c.Admin
		if err := installCluster(ctx); err != nil {
			return err
		}
		return c.StartManager(setup.ManagerOptions())
	})
}

// installCluster installs what a cluster has before the manager starts.
func installCluster(ctx context.Context) error {
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
