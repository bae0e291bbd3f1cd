// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// upstream is the folder of what operator-controller renders in its own regression test: real bundles, and
// the manifests that come of them.
func upstream(t *testing.T) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", "github.com/operator-framework/operator-controller")
	command.Dir = filepath.Join("..", "..", "..", "..", "tools", "catalogd")
	data, err := command.Output()
	if err != nil {
		t.Fatalf("finding the module of operator-controller: %v\n%s", err, data)
	}
	var module struct {
		Dir string `json:"Dir"`
	}
	if err := json.Unmarshal(data, &module); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(module.Dir, "test", "regression", "convert", "testdata")
}

// TestUpstream: a real bundle becomes what operator-controller makes of it, in each install mode.
func TestUpstream(t *testing.T) {
	folder := upstream(t)
	for name, watch := range map[string]string{"all-namespaces": "", "single-namespace": "argocd-watch", "own-namespace": "argocd-system"} {
		t.Run(name, func(t *testing.T) {
			target := Target{Extension: "test", PackageName: "argocd-operator", Version: "0.6.0", Namespace: "argocd-system"}
			if watch != "" {
				target.Config = []byte(`{"watchNamespace":"` + watch + `"}`)
			}
			got := renderedFrom(t, filepath.Join(folder, "bundles", "argocd-operator.v0.6.0"), target)
			if diff := cmp.Diff(expected(t, filepath.Join(folder, "expected-manifests", "argocd-operator.v0.6.0", name)), got); diff != "" {
				t.Errorf("-operator-controller +rendered:\n%s", diff)
			}
		})
	}
}

// TestUpstream_Webhooks: the same of a bundle with webhooks. What operator-controller expects there has no
// certificates, so that contents differ, and there are objects more.
func TestUpstream_Webhooks(t *testing.T) {
	folder := upstream(t)
	target := Target{Extension: "test", PackageName: "webhook-operator", Version: "0.0.5", Namespace: "webhook-system", Certificates: CertManager}
	got := renderedFrom(t, filepath.Join(folder, "bundles", "webhook-operator.v0.0.5"), target)
	wanted := expected(t, filepath.Join(folder, "expected-manifests", "webhook-operator.v0.0.5", "all-webhook-types"))
	wanted["Certificate webhook-operator-controller-manager-service-cert"] = nil
	wanted["Issuer webhook-operator-controller-manager-service-c-selfsigned-issuer"] = nil
	if diff := cmp.Diff(slices.Sorted(maps.Keys(wanted)), slices.Sorted(maps.Keys(got))); diff != "" {
		t.Errorf("-operator-controller +rendered:\n%s", diff)
	}
}

// renderedFrom are the objects of a bundle in a folder.
func renderedFrom(t *testing.T, folder string, target Target) map[string]any {
	t.Helper()
	bundle, err := Read(Source{Files: os.DirFS(folder)})
	if err != nil {
		t.Fatal(err)
	}
	rendered, err := bundle.Render(target)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]any{}
	for _, phase := range rendered.Phases {
		for _, object := range phase.Objects {
			all[object.Manifest.GetKind()+" "+object.Manifest.GetName()] = normalized(t, object.Manifest)
		}
	}
	return all
}

// expected are the objects of a folder.
func expected(t *testing.T, folder string) map[string]any {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no manifests in %s: %v", folder, err)
	}
	all := map[string]any{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(data, &object.Object); err != nil {
			t.Fatal(err)
		}
		all[object.GetKind()+" "+object.GetName()] = normalized(t, object)
	}
	return all
}

// normalized is an object without what is meant to differ: the API server sets its status and the time of
// its creation, and the labels of the owner come with the installation there.
func normalized(t *testing.T, object *unstructured.Unstructured) any {
	t.Helper()
	data, err := json.Marshal(object.Object)
	if err != nil {
		t.Fatal(err)
	}
	var plain map[string]any
	if err := json.Unmarshal(data, &plain); err != nil {
		t.Fatal(err)
	}
	delete(plain, "status")
	for _, path := range [][]string{
		{"metadata", "creationTimestamp"}, {"spec", "template", "metadata", "creationTimestamp"},
		{"metadata", "labels", "olm.operatorframework.io/owner-kind"}, {"metadata", "labels", "olm.operatorframework.io/owner-name"},
	} {
		unstructured.RemoveNestedField(plain, path...)
	}
	if labels, found, _ := unstructured.NestedMap(plain, "metadata", "labels"); found && len(labels) == 0 {
		unstructured.RemoveNestedField(plain, "metadata", "labels")
	}
	return plain
}
