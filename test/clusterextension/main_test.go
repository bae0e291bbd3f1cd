// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"context"
	"fmt"
	"os"
	"os/exec"
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

// kubectl runs a command that a user types in the repository's folder.
func kubectl(ctx context.Context, args ...string) error {
	typed := exec.CommandContext(ctx, cluster.Binaries.Path("kubectl"), args...)
	typed.Dir, typed.Env = filepath.Join("..", ".."), append(os.Environ(), "KUBECONFIG="+cluster.Kubeconfig())
	if out, err := typed.CombinedOutput(); err != nil {
		return fmt.Errorf("kubectl %v: %w\n%s", args, err, out)
	}
	return nil
}

func TestMain(m *testing.M) {
	options := setup.Options{Schemes: []func(*runtime.Scheme) error{v1alpha1.AddToScheme, olmv1.AddToScheme}, Log: os.Stderr}
	os.Exit(setup.Main(m.Run, options, func(ctx context.Context, c *setup.Cluster) error {
		cluster, admin = c, c.Admin
		if err := kubectl(ctx, "apply", "--server-side", "-k", "config/all"); err != nil {
			return err
		}
		return setup.Served(ctx, admin, v1alpha1.GroupVersion.WithKind("Revision"),
			olmv1.GroupVersion.WithKind("ClusterExtension"), olmv1.GroupVersion.WithKind("ClusterCatalog"))
	}))
}
