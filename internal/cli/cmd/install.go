// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/config/crd"
	"github.com/strata-run/strata/config/policy"
	"github.com/strata-run/strata/config/rbac"
	"github.com/strata-run/strata/internal/chart"
	"github.com/strata-run/strata/internal/cli/view"
)

// install applies our CRDs, those of the Gateway API when a folder is given, the
// manager's namespace, account and rights, and the admission policies; and waits until
// the kinds are served.
func install(ctx context.Context, cfg *rest.Config, namespace, gatewayAPI string) error {
	c, err := client.New(cfg, client.Options{})
	if err != nil {
		return fmt.Errorf("connecting to %s: %w", cfg.Host, err)
	}
	objects, err := shippedObjects(namespace)
	if err != nil {
		return err
	}
	if gatewayAPI != "" {
		more, err := manifestsIn(os.DirFS(gatewayAPI), "*.yaml")
		if err != nil {
			return fmt.Errorf("reading %s: %w", gatewayAPI, err)
		}
		objects = append(objects, more...)
	}
	for _, o := range objects {
		if err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), client.FieldOwner("strata-up"), client.ForceOwnership); err != nil {
			return fmt.Errorf("applying %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	for _, o := range objects {
		if err := awaitServed(ctx, c, o); err != nil {
			return err
		}
	}
	return nil
}

// shippedObjects are the definitions, the manager's namespace and account, its rights,
// with those of all fronts, and the policies, which let the manager's account through.
func shippedObjects(namespace string) ([]*unstructured.Unstructured, error) {
	objects := []*unstructured.Unstructured{
		{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": namespace}}},
		{Object: map[string]any{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": map[string]any{"name": managerName, "namespace": namespace}}},
	}
	for _, source := range []struct {
		files   fs.FS
		pattern string
	}{{crd.Files, "*.yaml"}, {crd.Fronts, "*/*.yaml"}, {rbac.Files, "*.yaml"}, {rbac.Fronts, "*/*.yaml"}, {policy.Files, "*.yaml"}, {policy.Fronts, "*/*.yaml"}} {
		more, err := manifestsIn(source.files, source.pattern)
		if err != nil {
			return nil, err
		}
		for _, o := range more {
			nameManager(o, namespace)
		}
		objects = append(objects, more...)
	}
	return objects, nil
}

// nameManager puts the manager's account into the conditions of policies, which name the
// one of the default namespace.
func nameManager(o *unstructured.Unstructured, namespace string) {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "spec", "matchConditions")
	for _, c := range conditions {
		if condition, ok := c.(map[string]any); ok {
			condition["expression"] = strings.ReplaceAll(fmt.Sprint(condition["expression"]), accountOf(defaultManagerNamespace), accountOf(namespace))
		}
	}
	if len(conditions) > 0 {
		// The slice is a copy of lists that can be set.
		_ = unstructured.SetNestedSlice(o.Object, conditions, "spec", "matchConditions")
	}
}

func accountOf(namespace string) string {
	return "system:serviceaccount:" + namespace + ":" + managerName
}

func awaitServed(ctx context.Context, c client.Reader, o *unstructured.Unstructured) error {
	if o.GroupVersionKind().GroupKind() != view.CRDKind {
		return nil
	}
	current := &unstructured.Unstructured{}
	current.SetGroupVersionKind(o.GroupVersionKind())
	err := wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
		if err := c.Get(ctx, client.ObjectKeyFromObject(o), current); err != nil {
			return false, fmt.Errorf("reading CustomResourceDefinition %s: %w", o.GetName(), err)
		}
		conditions, _, _ := unstructured.NestedSlice(current.Object, "status", "conditions")
		return slices.ContainsFunc(conditions, func(c any) bool {
			condition, _ := c.(map[string]any)
			return condition["type"] == "Established" && condition["status"] == "True"
		}), nil
	})
	if wait.Interrupted(err) {
		return fmt.Errorf("waiting for CustomResourceDefinition %s: %w", o.GetName(), err)
	}
	return err
}

// manifestsIn are the objects in the YAML files that match a pattern, by the files' names.
func manifestsIn(files fs.FS, pattern string) ([]*unstructured.Unstructured, error) {
	names, err := fs.Glob(files, pattern)
	if err != nil {
		return nil, fmt.Errorf("listing manifests: %w", err)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("listing manifests: there are no files like %s", pattern)
	}
	var objects []*unstructured.Unstructured
	for _, name := range names {
		if path.Base(name) == "kustomization.yaml" {
			continue // it says how to deploy, it is no object to deploy
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("reading manifests: %w", err)
		}
		more, err := chart.Manifests(name, text)
		if err != nil {
			return nil, err
		}
		objects = append(objects, more...)
	}
	return objects, nil
}
