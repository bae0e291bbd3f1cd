// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package localplane_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"k8s.io/client-go/kubernetes"

	"github.com/strata-run/strata/internal/localplane"
	"github.com/strata-run/strata/internal/localplane/planetest"
)

var (
	plane  *localplane.Plane
	client *kubernetes.Clientset
)

// parentEnv makes the test binary a process that starts a plane and waits to be
// killed; see TestChildrenDieWithTheParent.
const parentEnv = "LOCALPLANE_TEST_PARENT"

func TestMain(m *testing.M) {
	if os.Getenv(parentEnv) != "" {
		os.Exit(runParent())
	}
	stages, err := os.ReadFile("testdata/stages/webhook-ca.yaml")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(planetest.Main(m, localplane.Options{Stages: stages, Progress: os.Stderr}, func(p *localplane.Plane) (err error) {
		plane = p
		client, err = kubernetes.NewForConfig(p.Config())
		return err
	}))
}

// runParent starts a plane, says where, and waits for its death.
func runParent() int {
	binaries, err := localplane.Build(context.Background(), localplane.BuildOptions{})
	if err == nil {
		_, err = localplane.Start(context.Background(), localplane.Options{Binaries: binaries, DataDir: os.Getenv(parentEnv)})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("ready")
	select {}
}
