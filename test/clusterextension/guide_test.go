// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"bufio"
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
	"github.com/strata-run/strata/test/guide"
	"github.com/strata-run/strata/test/setup"
)

// TestGuide_Files: the files of the demo are those that the guide shows.
func TestGuide_Files(t *testing.T) {
	guides := filepath.Join("..", "..", "docs", "guides")
	page, err := os.ReadFile(filepath.Join(guides, "clusterextension.md"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(guides, "clusterextension", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(page), "# "+filepath.Base(file)+"\n"+string(content)+"```") {
			t.Errorf("the guide shows another %s", filepath.Base(file))
		}
	}
}

var update = flag.Bool("update", false, "write the output into the guide anew")

// TestGuide runs the commands of the guide in their order, beside the registry that it starts with.
func TestGuide(t *testing.T) {
	guides := filepath.Join("..", "..", "docs", "guides")
	host := startRegistry(t, filepath.Join(guides, "clusterextension"))
	text, err := os.ReadFile(filepath.Join(guides, "clusterextension", "registries.conf"))
	if err != nil {
		t.Fatal(err)
	}
	registries := filepath.Join(t.TempDir(), "registries.conf")
	if err := os.WriteFile(registries, []byte(strings.Replace(string(text), "127.0.0.1:5050", host, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	startManager(t, "--registries-conf="+registries)
	t.Cleanup(func() { remove(t, guideLeaves()...) })
	config := filepath.Join(t.TempDir(), "kubeconfig")
	if err := cluster.WriteKubeconfig(config, "alice", "system:masters"); err != nil {
		t.Fatal(err)
	}
	guide.Guide{
		Path: filepath.Join(guides, "clusterextension.md"), Kubectl: cluster.Binaries.Path("kubectl"), Kubeconfig: config, Update: *update,
	}.Run(t)
}

// startManager starts a manager with the front switched on, until the end of the test.
func startManager(t *testing.T, flags ...string) {
	t.Helper()
	options := setup.ManagerOptions()
	setup.Flags(&options, append([]string{"--clusterextensions=on", "--olm-namespaces=elsewhere", "--cache-dir=" + t.TempDir()}, flags...)...)
	if err := cluster.StartManager(options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.StopManager(); err != nil {
			t.Error(err)
		}
	})
}

// startRegistry builds and starts the registry of the guide on a free port, and returns its host.
func startRegistry(t *testing.T, images string) (host string) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "registry")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, filepath.Join("..", "registry"))
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", build, err, out)
	}
	registry := exec.CommandContext(t.Context(), program, "--address=127.0.0.1:0", images)
	registry.Cancel = func() error { return registry.Process.Signal(os.Interrupt) }
	registry.Stderr = os.Stderr
	out, err := registry.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := registry.Start(); err != nil {
		t.Fatal(err)
	}
	// The context of a test ends before its cleanups run.
	t.Cleanup(func() { _ = registry.Wait() })
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if rest, found := strings.CutPrefix(lines.Text(), "The registry "); found {
			host, _, _ = strings.Cut(rest, " ")
			return host
		}
	}
	t.Fatal("the registry has ended")
	return ""
}

// guideLeaves is what the guide does not delete.
func guideLeaves() []client.Object {
	greetings := &unstructured.Unstructured{}
	greetings.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	greetings.SetName("greetings.demo.example.com")
	return []client.Object{
		&olmv1.ClusterExtension{ObjectMeta: metav1.ObjectMeta{Name: "greeter"}}, &olmv1.ClusterCatalog{ObjectMeta: metav1.ObjectMeta{Name: "examples"}},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "greeter"}}, greetings,
	}
}

// remove deletes objects, as far as they are there.
func remove(t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, object := range objects {
		if err := client.IgnoreNotFound(admin.Delete(context.Background(), object)); err != nil {
			t.Error(err)
		}
	}
}
