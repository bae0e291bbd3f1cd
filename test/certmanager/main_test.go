// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package certmanager

import (
	"context"
	"fmt"
	"os"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/internal/localplane"
	rig "github.com/strata-run/strata/internal/localplane/certmanager"
	"github.com/strata-run/strata/test/setup"
)

var (
	plane   *localplane.Plane
	cluster *setup.Cluster
	// admin may do everything, and is not the manager.
	admin client.WithWatch
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	program, err := rig.Build(context.Background(), os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "tests with cert-manager:", err)
		return 1
	}
	return setup.Main(m.Run, setup.Options{Log: os.Stderr}, func(ctx context.Context, c *setup.Cluster) error {
		plane, cluster, admin = c.Plane, c, c.Admin
		_, err := rig.Start(ctx, c.Plane, program)
		return err
	})
}
