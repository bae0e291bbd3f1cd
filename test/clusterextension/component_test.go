// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
	"github.com/strata-run/strata/internal/localplane/planetest"
	"github.com/strata-run/strata/test/setup"
)

// TestComponent: the manager that config/all installs reconciles ClusterExtensions, with the flags of
// its Deployment and all other fronts beside it.
func TestComponent(t *testing.T) {
	deployment := &appsv1.Deployment{}
	if err := admin.Get(t.Context(), client.ObjectKey{Namespace: "strata-system", Name: "strata-manager"}, deployment); err != nil {
		t.Fatal(err)
	}
	container := deployment.Spec.Template.Spec.Containers[0]
	hasCache := false
	for _, mount := range container.VolumeMounts {
		hasCache = hasCache || mount.MountPath == "/var/cache/strata" && !mount.ReadOnly
	}
	if !hasCache {
		t.Errorf("the folder for images cannot be written: %v", container.VolumeMounts)
	}
	options := setup.ManagerOptions()
	setup.Flags(&options, append(container.Args, "--metrics-bind-address=0", "--metrics-secure=false", "--health-probe-bind-address=0", "--cache-dir="+t.TempDir())...)
	if err := cluster.StartManager(options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.StopManager(); err != nil {
			t.Error(err)
		}
	})
	ce := extensionNamed(t, "by-component")
	planetest.Eventually(t, "the front says that there is no bundle", func() (bool, error) {
		_, progressing, err := progress(t, ce)
		return progressing.Reason == olmv1.ReasonRetrying && strings.Contains(progressing.Message, "no bundles found"), err
	})
	goes(t, ce)
}

// goes deletes an object, and waits until it is gone.
func goes(t *testing.T, object client.Object) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context()) // also as a cleanup
	if err := admin.Delete(ctx, object); err != nil {
		t.Fatal(err)
	}
	planetest.Eventually(t, object.GetName()+" is gone", func() (bool, error) {
		err := admin.Get(ctx, client.ObjectKeyFromObject(object), object)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
}

// TestComponent_WithoutDefinitions: what is installed beside OLM has no definition of OLM's kinds.
func TestComponent_WithoutDefinitions(t *testing.T) {
	folder := t.TempDir()
	config, err := filepath.Abs(filepath.Join("..", "..", "config"))
	if err != nil {
		t.Fatal(err)
	}
	if folder, err = filepath.EvalSymlinks(folder); err != nil {
		t.Fatal(err)
	}
	relative, err := filepath.Rel(folder, config)
	if err != nil {
		t.Fatal(err)
	}
	text := "resources: [" + relative + "/default]\ncomponents: [" + relative + "/fronts/clusterextension/without-definitions]\n"
	if err := os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	typed := exec.CommandContext(t.Context(), cluster.Binaries.Path("kubectl"), "apply", "--server-side", "--force-conflicts", "--dry-run=server", "-o", "name", "-k", folder)
	typed.Env = append(os.Environ(), "KUBECONFIG="+cluster.Kubeconfig())
	out, err := typed.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if text := string(out); strings.Contains(text, "olm.operatorframework.io") || !strings.Contains(text, "strata-manager-clusterextension") || !strings.Contains(text, "strata-extensions") {
		t.Errorf("it installs:\n%s", text)
	}
}

// refusals are the requests of a manager that the API server forbids.
type refusals struct {
	mutex sync.Mutex
	all   []string
}

func (r *refusals) watch(next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(request *http.Request) (*http.Response, error) {
		answer, err := next.RoundTrip(request)
		if err == nil && answer.StatusCode == http.StatusForbidden {
			r.mutex.Lock()
			defer r.mutex.Unlock()
			r.all = append(r.all, request.Method+" "+request.URL.RequestURI())
		}
		return answer, err
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestComponent_Rights: without the role for the objects of packages, the role of the front is enough
// for all but the releases of OLM's own controller, for which the guide names the right.
func TestComponent_Rights(t *testing.T) {
	binding := &rbacv1.ClusterRoleBinding{}
	if err := admin.Get(t.Context(), client.ObjectKey{Name: "strata-manager-operands"}, binding); err != nil {
		t.Fatal(err)
	}
	if err := admin.Delete(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		back := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: binding.Name, Labels: binding.Labels}, RoleRef: binding.RoleRef, Subjects: binding.Subjects}
		if err := admin.Create(context.WithoutCancel(t.Context()), back); err != nil {
			t.Error(err)
		}
	})
	grantOnSecrets(t, "elsewhere", binding.Subjects)
	config, err := cluster.ConfigFor(setup.Manager, setup.ManagerGroups...)
	if err != nil {
		t.Fatal(err)
	}
	forbidden := &refusals{}
	config.Wrap(forbidden.watch)
	options := setup.ManagerOptions()
	setup.Flags(&options, "--fronts=clusterextension", "--clusterextensions=on", "--olm-namespaces=elsewhere", "--cache-dir="+t.TempDir())
	if err := cluster.RunManager(config, options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.StopManager(); err != nil {
			t.Error(err)
		}
	})
	createFrom(t, "unreachable", "registry.invalid/catalog:v1")
	ce := extensionNamed(t, "with-few-rights")
	planetest.Eventually(t, "the front says that there is no bundle", func() (bool, error) {
		_, progressing, err := progress(t, ce)
		return progressing.Reason == olmv1.ReasonRetrying && !strings.Contains(progressing.Message, "forbidden"), err
	})
	for _, object := range []client.Object{ce, &olmv1.ClusterCatalog{ObjectMeta: metav1.ObjectMeta{Name: "unreachable"}}} {
		goes(t, object)
	}
	forbidden.mutex.Lock()
	defer forbidden.mutex.Unlock()
	if len(forbidden.all) > 0 {
		t.Errorf("the API server has forbidden:\n%s", strings.Join(forbidden.all, "\n"))
	}
}

// grantOnSecrets grants the right to list the Secrets of a namespace.
func grantOnSecrets(t *testing.T, namespace string, to []rbacv1.Subject) {
	t.Helper()
	ensureNamespace(t, namespace)
	named := metav1.ObjectMeta{Namespace: namespace, Name: "strata-reads-releases"}
	role := &rbacv1.Role{ObjectMeta: named, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"list"}}}}
	bound := &rbacv1.RoleBinding{ObjectMeta: named, Subjects: to, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: named.Name}}
	for _, object := range []client.Object{role, bound} {
		if err := admin.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
}
