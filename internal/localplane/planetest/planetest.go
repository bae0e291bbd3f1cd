// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package planetest

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/strata-run/strata/internal/localplane"
)

// Main starts a plane with the given options, calls setup (which may be nil)
// once, runs the tests, stops the plane, and returns the code for os.Exit. The
// binaries are taken from the cache unless the options hold them, and are built
// if need be. Anything that goes wrong is printed and makes the code 1.
func Main(m *testing.M, o localplane.Options, setup func(*localplane.Plane) error) int {
	code, err := run(m, o, setup)
	if err != nil {
		fmt.Fprintf(os.Stderr, "local Kubernetes for the tests: %v\n", err)
		return max(code, 1)
	}
	return code
}

func run(m *testing.M, o localplane.Options, setup func(*localplane.Plane) error) (code int, err error) {
	ctx := context.Background()
	if o.Binaries.Dir == "" {
		if o.Binaries, err = localplane.Build(ctx, localplane.BuildOptions{Progress: os.Stderr}); err != nil {
			return 1, err
		}
	}
	plane, err := localplane.Start(ctx, o)
	if err != nil {
		return 1, err
	}
	defer func() {
		died := plane.Err()
		if stopErr := plane.Stop(); err == nil {
			err = stopErr
		}
		if died != nil {
			err = fmt.Errorf("it broke while the tests ran: %w", died)
		}
	}()
	if setup != nil {
		if err := setup(plane); err != nil {
			return 1, fmt.Errorf("setting up: %w", err)
		}
	}
	return m.Run(), nil
}

// Namespace creates a namespace for one test, with the service account that
// pods need, and deletes it, without waiting, when the test ends.
func Namespace(t *testing.T, plane *localplane.Plane) string {
	t.Helper()
	client, err := kubernetes.NewForConfig(plane.Config())
	if err != nil {
		t.Fatal(err)
	}
	namespace, err := client.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("creating the namespace of the test: %v", err)
	}
	t.Cleanup(func() {
		// The context of the test is done by now.
		if err := client.CoreV1().Namespaces().Delete(context.Background(), namespace.Name, metav1.DeleteOptions{}); err != nil {
			t.Errorf("deleting the namespace of the test: %v", err)
		}
	})
	Eventually(t, "the service account of the namespace", func() (bool, error) {
		_, err := client.CoreV1().ServiceAccounts(namespace.Name).Get(t.Context(), "default", metav1.GetOptions{})
		return err == nil, err
	})
	return namespace.Name
}

// eventually bounds the wait of Eventually. What the controllers do takes about
// a second; the rest is for slow machines, on which what was tried too early is
// tried again up to a minute later.
const eventually = 2 * time.Minute

// Eventually asks until the answer is true, and ends the test when it is not
// within two minutes; the last error says why.
func Eventually(t *testing.T, what string, ask func() (bool, error)) {
	t.Helper()
	for deadline := time.Now().Add(eventually); ; time.Sleep(50 * time.Millisecond) {
		ok, err := ask()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waiting for %s: not within %s; last answer: %v", what, eventually, err)
		}
	}
}
