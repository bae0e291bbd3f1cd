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
	"github.com/strata-run/strata/internal/localplane/planetest"
	"github.com/strata-run/strata/test/setup"
)

var (
	plane *localplane.Plane
	// admin may do everything, and is not the manager.
	admin client.WithWatch
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	setup.Log(os.Stderr)
	program, err := rig.Build(ctx, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "tests with cert-manager:", err)
		return 1
	}
	return planetest.Main(m, localplane.Options{Progress: os.Stderr}, func(p *localplane.Plane) error {
		plane = p
		if admin, err = client.NewWithWatch(p.Config(), client.Options{}); err != nil {
			return err
		}
		_, err := rig.Start(ctx, p, program)
		return err
	})
}
