// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2/textlogger"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/config/crd"
	"github.com/strata-run/strata/internal/controller"
	"github.com/strata-run/strata/internal/localplane"
	"github.com/strata-run/strata/internal/localplane/planetest"
	"github.com/strata-run/strata/internal/simulate"
)

// manager is who the manager is in the audit log. It has the rights of config/rbac.
const manager = "system:serviceaccount:strata-system:strata-manager"

var (
	plane *localplane.Plane
	// admin may do everything, and is not the manager.
	admin client.Client
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	code, err := withCluster(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, "integration tests:", err)
		return max(code, 1)
	}
	return code
}

// withCluster runs the tests against a plane and a manager. The manager ends
// first: it must not see the API server go.
func withCluster(tests func() int) (code int, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	stages, err := simulate.Istiod()
	if err != nil {
		return 1, err
	}
	binaries, err := localplane.Build(ctx, localplane.BuildOptions{Progress: os.Stderr})
	if err != nil {
		return 1, err
	}
	if plane, err = localplane.Start(ctx, localplane.Options{Binaries: binaries, Stages: stages, Progress: os.Stderr}); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, plane.Stop()) }()
	if admin, err = client.New(plane.Config(), client.Options{}); err != nil {
		return 1, err
	}
	if err := v1alpha1.AddToScheme(admin.Scheme()); err != nil {
		return 1, err
	}
	if err := installCluster(ctx); err != nil {
		return 1, err
	}
	leaks := leakCheck()
	if err := startManager(ctx); err != nil {
		return 1, err
	}
	restartManager = func() error { return errors.Join(stopManager(), startManager(ctx)) }
	code = tests()
	return code, errors.Join(stopManager(), leaks())
}

// installCluster installs what a cluster has before the manager starts.
func installCluster(ctx context.Context) error {
	module, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/gateway-api").Output()
	if err != nil {
		return fmt.Errorf("finding the Gateway API module: %w", err)
	}
	gatewayAPI := os.DirFS(filepath.Join(strings.TrimSpace(string(module)), "config", "crd", "standard"))
	root := os.DirFS(filepath.Join("..", ".."))
	for _, source := range []struct {
		files   fs.FS
		pattern string
	}{
		{crd.Files, "*.yaml"}, {gatewayAPI, "*gatewayclasses.yaml"}, {gatewayAPI, "*gateways.yaml"},
		{root, "config/manager/manager.yaml"}, {root, "config/rbac/role*.yaml"}, {root, "config/samples/namespace.yaml"},
	} {
		if err := applyFiles(ctx, source.files, source.pattern); err != nil {
			return err
		}
	}
	return nil
}

// applyFiles applies manifests, but no workload: the manager runs in this process.
func applyFiles(ctx context.Context, files fs.FS, pattern string) error {
	names, err := fs.Glob(files, pattern)
	if err != nil || len(names) == 0 {
		return fmt.Errorf("no files match %s: %w", pattern, errors.Join(err, fs.ErrNotExist))
	}
	for _, name := range names {
		content, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		for document := range strings.SplitSeq(string(content), "\n---") {
			object := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
				return fmt.Errorf("reading %s: %w", name, err)
			}
			if object.Object == nil || object.GetKind() == "Deployment" {
				continue
			}
			if err := admin.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("setup"), client.ForceOwnership); err != nil {
				return fmt.Errorf("applying %s: %w", name, err)
			}
		}
	}
	return nil
}

var (
	// stopManager ends the manager that runs, and returns its end.
	stopManager func() error
	// restartManager does so and starts another one. A test that calls it must not
	// run beside others.
	restartManager func() error
	// metricsAddress is where the manager that runs serves its metrics.
	metricsAddress string
)

// startManager runs the manager in this process, with its shipped rights.
func startManager(ctx context.Context) error {
	config, err := plane.ConfigFor(manager, "system:serviceaccounts", "system:serviceaccounts:strata-system")
	if err != nil {
		return err
	}
	if err := waitServed(ctx); err != nil {
		return err
	}
	ctrl.SetLogger(textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(os.Stderr))))
	options := controller.DefaultOptions()
	options.IstioVersion = "1.29"
	options.MetricsSecure, options.HealthAddress = true, "0"
	if options.MetricsAddress, err = freeAddress(ctx); err != nil {
		return err
	}
	metricsAddress = options.MetricsAddress
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		err := controller.Run(ctx, config, options)
		if ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, "the manager has ended before the tests:", err)
			os.Exit(1)
		}
		ended <- err
	}()
	stopManager = func() error {
		cancel()
		return <-ended
	}
	return nil
}

// waitServed waits until the API server serves our kinds.
func waitServed(ctx context.Context) error {
	var err error
	for range 100 {
		if err = admin.List(ctx, &v1alpha1.RevisionList{}); err == nil {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return err
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
