// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/controller"
	"github.com/strata-run/strata/internal/localplane"
	"github.com/strata-run/strata/internal/localplane/planetest"
	"github.com/strata-run/strata/internal/simulate"
	"github.com/strata-run/strata/test/setup"
)

var (
	plane   *localplane.Plane
	cluster *setup.Cluster
	// admin may do everything, and is not the manager.
	admin client.Client
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if kubeconfig := os.Getenv(asManager); kubeconfig != "" {
		setup.Log(os.Stderr)
		if err := runManager(kubeconfig); err != nil {
			fmt.Fprintln(os.Stderr, "manager:", err)
			return 1
		}
		return 0
	}
	stages, err := simulate.Istiod()
	if err != nil {
		fmt.Fprintln(os.Stderr, "integration tests:", err)
		return 1
	}
	leaks := func() error { return nil }
	tests := func() int {
		code := m.Run()
		if err := errors.Join(cluster.StopManager(), leaks()); err != nil {
			fmt.Fprintln(os.Stderr, "integration tests:", err)
			code = max(code, 1)
		}
		return code
	}
	options := setup.Options{Plane: localplane.Options{Stages: stages}, Schemes: []func(*runtime.Scheme) error{v1alpha1.AddToScheme}, Log: os.Stderr}
	return setup.Main(tests, options, func(ctx context.Context, c *setup.Cluster) error {
		plane, cluster, admin = c.Plane, c, c.Admin
		if err := installCluster(ctx); err != nil {
			return err
		}
		leaks = leakCheck()
		return startManager()
	})
}

// installCluster installs what a cluster has before the manager starts.
func installCluster(ctx context.Context) error {
	classes, err := setup.GatewayAPI(ctx, "*gatewayclasses.yaml")
	if err != nil {
		return err
	}
	gateways, err := setup.GatewayAPI(ctx, "*gateways.yaml")
	if err != nil {
		return err
	}
	root := filepath.Join("..", "..")
	samples := setup.Files{From: os.DirFS(root), Pattern: "config/samples/namespace.yaml"}
	return setup.Apply(ctx, admin, append(setup.Shipped(root), classes, gateways, samples)...)
}

// metricsAddress is where the manager that runs serves its metrics.
var metricsAddress string

// managerOptions are the settings of every manager of these tests.
func managerOptions() controller.Options {
	options := setup.ManagerOptions()
	setup.Flags(&options, "--istio-version=1.29")
	return options
}

// startManager runs a manager in this process, in place of the one that runs. A test that does
// so must not run beside others.
func startManager() (err error) {
	options := managerOptions()
	options.MetricsSecure = true
	if options.MetricsAddress, err = freeAddress(context.Background()); err != nil {
		return err
	}
	metricsAddress = options.MetricsAddress
	return cluster.StartManager(options)
}

// newPackage makes a package that the test owns, with revision 1 of the phases.
func newPackage(t *testing.T, spec v1alpha1.PackageSpec, phases ...v1alpha1.Phase) *v1alpha1.Package {
	t.Helper()
	pkg := &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{GenerateName: "t-"}, Spec: spec}
	must(t, admin.Create(t.Context(), pkg))
	t.Cleanup(func() {
		ctx := context.Background()
		if err := client.IgnoreNotFound(admin.Delete(ctx, pkg)); err != nil {
			t.Errorf("deleting the test's package: %v", err)
		}
	})
	newRevision(t, pkg, 1, phases...)
	return pkg
}

func newRevision(t *testing.T, pkg *v1alpha1.Package, number int64, phases ...v1alpha1.Phase) *v1alpha1.Revision {
	t.Helper()
	revision := &v1alpha1.Revision{
		ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.RevisionName(pkg.Name, number)},
		Spec:       v1alpha1.RevisionSpec{Package: pkg.Name, Revision: number, Phases: phases},
	}
	must(t, admin.Create(t.Context(), revision))
	return revision
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func getPackage(t *testing.T, name string) *v1alpha1.Package {
	t.Helper()
	pkg := &v1alpha1.Package{}
	must(t, admin.Get(t.Context(), types.NamespacedName{Name: name}, pkg))
	return pkg
}

func getRevision(t *testing.T, pkg string, number int64) *v1alpha1.Revision {
	t.Helper()
	revision := &v1alpha1.Revision{}
	must(t, admin.Get(t.Context(), types.NamespacedName{Name: v1alpha1.RevisionName(pkg, number)}, revision))
	return revision
}

// eventuallyRevision waits until a condition of a revision has the reason given.
func eventuallyRevision(t *testing.T, pkg string, number int64, condition, reason string) *v1alpha1.Revision {
	t.Helper()
	var revision *v1alpha1.Revision
	planetest.Eventually(t, fmt.Sprintf("%s-%d: %s %s", pkg, number, condition, reason), func() (bool, error) {
		revision = &v1alpha1.Revision{}
		if err := admin.Get(t.Context(), types.NamespacedName{Name: v1alpha1.RevisionName(pkg, number)}, revision); err != nil {
			return false, err
		}
		c := meta.FindStatusCondition(revision.Status.Conditions, condition)
		if c == nil {
			return false, errors.New("the condition is not set")
		}
		return c.Reason == reason, fmt.Errorf("it is %s/%s: %s", c.Status, c.Reason, c.Message)
	})
	return revision
}

func message(conditions []metav1.Condition, kind string) string {
	if c := meta.FindStatusCondition(conditions, kind); c != nil {
		return c.Message
	}
	return ""
}

func exists(t *testing.T, object client.Object, namespace, name string) bool {
	t.Helper()
	err := admin.Get(t.Context(), types.NamespacedName{Namespace: namespace, Name: name}, object)
	if !apierrors.IsNotFound(err) {
		must(t, err)
	}
	return err == nil
}

func configMap(t *testing.T, namespace, name string) *corev1.ConfigMap {
	t.Helper()
	object := &corev1.ConfigMap{}
	must(t, admin.Get(t.Context(), types.NamespacedName{Namespace: namespace, Name: name}, object))
	return object
}
