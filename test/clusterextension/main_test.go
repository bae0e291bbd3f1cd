// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/test/setup"
)

var (
	cluster *setup.Cluster
	// admin may do everything, and is not the manager.
	admin client.Client
)

func TestMain(m *testing.M) {
	options := setup.Options{Schemes: []func(*runtime.Scheme) error{v1alpha1.AddToScheme, olmv1.AddToScheme}, Log: os.Stderr}
	os.Exit(setup.Main(m.Run, options, func(ctx context.Context, c *setup.Cluster) error {
		cluster, admin = c, c.Admin
		if err := setup.Apply(ctx, admin, setup.Shipped(filepath.Join("..", ".."))...); err != nil {
			return err
		}
		return setup.Served(ctx, admin, v1alpha1.GroupVersion.WithKind("Revision"),
			olmv1.GroupVersion.WithKind("ClusterExtension"), olmv1.GroupVersion.WithKind("ClusterCatalog"))
	}))
}
