// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/strata-run/strata/config/crd"
)

const (
	// fieldOwner is the field manager of what is applied.
	fieldOwner = client.FieldOwner("setup")
	// serving is how long a new definition may take until its kind is served: a second, but
	// on slow machines.
	serving = 2 * time.Minute
)

// Files are manifests: the files of a folder that match a pattern.
type Files struct {
	From    fs.FS
	Pattern string
}

// Shipped are the manifests that a cluster has before the manager starts: definitions,
// the manager's namespace and its rights. Root is the folder of the repository.
func Shipped(root string) []Files {
	folder := os.DirFS(root)
	return []Files{
		{crd.Files, "*.yaml"},
		{crd.Fronts, "*/*.yaml"},
		{folder, "config/manager/manager.yaml"},
		{folder, "config/rbac/role*.yaml"},
		{folder, "config/rbac/*/role*.yaml"},
	}
}

// Module is the folder of a Go module that the module in a folder requires.
func Module(ctx context.Context, in, path string) (string, error) {
	found, err := exec.CommandContext(ctx, "go", "-C", in, "list", "-m", "-f", "{{.Dir}}", path).Output()
	if err != nil {
		return "", fmt.Errorf("finding the module %s: %w", path, err)
	}
	return strings.TrimSpace(string(found)), nil
}

// GatewayAPI are definitions of the Gateway API, of the version that this module requires.
func GatewayAPI(ctx context.Context, pattern string) (Files, error) {
	module, err := Module(ctx, ".", "sigs.k8s.io/gateway-api")
	return Files{os.DirFS(filepath.Join(module, "config", "crd", "standard")), pattern}, err
}

// Apply applies manifests with their status, but no Deployment: the manager runs in the
// tests' process. It waits until the API server serves the kinds that they define.
func Apply(ctx context.Context, c client.Client, sources ...Files) error {
	var defined []schema.GroupVersionKind
	for _, source := range sources {
		names, err := fs.Glob(source.From, source.Pattern)
		if err != nil || len(names) == 0 {
			return fmt.Errorf("no files match %s: %w", source.Pattern, errors.Join(err, fs.ErrNotExist))
		}
		for _, name := range names {
			content, err := fs.ReadFile(source.From, name)
			if err != nil {
				return fmt.Errorf("reading manifests: %w", err)
			}
			kinds, err := applyAll(ctx, c, string(content))
			if err != nil {
				return fmt.Errorf("applying %s: %w", name, err)
			}
			defined = append(defined, kinds...)
		}
	}
	return Served(ctx, c, defined...)
}

// applyAll applies the documents of a file, and returns the kinds that they define.
func applyAll(ctx context.Context, c client.Client, content string) (defined []schema.GroupVersionKind, err error) {
	for document := range strings.SplitSeq(content, "\n---") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			return nil, fmt.Errorf("reading a document: %w", err)
		}
		if object.Object == nil || object.GetKind() == "Deployment" {
			continue
		}
		kinds, err := definedBy(object)
		if err != nil {
			return nil, err
		}
		defined = append(defined, kinds...)
		if err := applyObject(ctx, c, object); err != nil {
			return nil, fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return defined, nil
}

// definedBy are the kinds that a definition makes the API server serve, in all their
// versions; those of any other object are none.
func definedBy(object *unstructured.Unstructured) ([]schema.GroupVersionKind, error) {
	if object.GetKind() != "CustomResourceDefinition" {
		return nil, nil
	}
	definition := apiextensionsv1.CustomResourceDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &definition); err != nil {
		return nil, fmt.Errorf("reading the definition %s: %w", object.GetName(), err)
	}
	var kinds []schema.GroupVersionKind
	for i := range definition.Spec.Versions {
		if version := &definition.Spec.Versions[i]; version.Served {
			kinds = append(kinds, schema.GroupVersionKind{Group: definition.Spec.Group, Version: version.Name, Kind: definition.Spec.Names.Kind})
		}
	}
	return kinds, nil
}

// applyObject applies an object and its status. That of a definition is the API server's.
func applyObject(ctx context.Context, c client.Client, object *unstructured.Unstructured) error {
	withStatus := object.DeepCopy()
	if err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), fieldOwner, client.ForceOwnership); err != nil {
		return err
	}
	if _, has := withStatus.Object["status"]; !has || object.GetKind() == "CustomResourceDefinition" {
		return nil
	}
	return c.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(withStatus), fieldOwner, client.ForceOwnership)
}

// Served waits until the API server serves kinds.
func Served(ctx context.Context, c client.Client, kinds ...schema.GroupVersionKind) error {
	var missing error
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, serving, true, func(ctx context.Context) (bool, error) {
		missing = nil
		for _, kind := range kinds {
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(kind)
			missing = errors.Join(missing, c.List(ctx, list))
		}
		return missing == nil, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for kinds to be served: %w", errors.Join(err, missing))
	}
	return nil
}
