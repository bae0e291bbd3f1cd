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
// binaries are taken from the cache unless the options have them, and are built
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
	Within(t, eventually, what, ask)
}

// Within does so for another time than two minutes: for what takes minutes by itself.
func Within(t *testing.T, limit time.Duration, what string, ask func() (bool, error)) {
	t.Helper()
	var last error
	if !poll(limit, func() bool {
		ok, err := ask()
		last = err
		return ok
	}) {
		t.Fatalf("waiting for %s: not within %s; last answer: %v", what, limit, last)
	}
}

// Stays asks for a time, and ends the test when the answer is not true once; the error of
// that answer says why. It is for what must not happen, and for what has to stay.
func Stays(t *testing.T, span time.Duration, what string, ask func() (bool, error)) {
	t.Helper()
	began := time.Now()
	var last error
	if poll(span, func() bool {
		ok, err := ask()
		last = err
		return !ok
	}) {
		t.Fatalf("%s: not so after %s of %s; the answer: %v", what, time.Since(began).Round(time.Millisecond), span, last)
	}
}

// NextSecond waits until the clock shows another second, for times that have whole ones.
func NextSecond() {
	began := time.Now().Truncate(time.Second)
	poll(time.Minute, func() bool { return time.Since(began) >= time.Second })
}

// poll asks until the answer is true, or the time is over, and returns the last answer. It is
// the one place in which tests sleep.
func poll(limit time.Duration, ask func() bool) bool {
	for deadline := time.Now().Add(limit); ; time.Sleep(min(50*time.Millisecond, max(limit/10, time.Millisecond))) {
		isLast := !time.Now().Before(deadline)
		if ask() {
			return true
		}
		if isLast {
			return false
		}
	}
}
