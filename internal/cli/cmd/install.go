// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/config/crd"
	"github.com/strata-run/strata/config/policy"
	"github.com/strata-run/strata/config/rbac"
	"github.com/strata-run/strata/internal/cli/view"
)

// installer puts what Strata needs into a cluster.
type installer struct {
	client client.Client
}

func newInstaller(cfg *rest.Config) (*installer, error) {
	c, err := client.New(cfg, client.Options{})
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", cfg.Host, err)
	}
	return &installer{client: c}, nil
}

// install applies our CRDs, those of the Gateway API when a folder is given, the
// manager's namespace, account and rights, and the admission policies; and waits until
// the kinds are served.
func (in *installer) install(ctx context.Context, namespace, gatewayAPI string) error {
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
		if err := in.apply(ctx, o); err != nil {
			return err
		}
	}
	for _, o := range objects {
		if err := in.awaitServed(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// shippedObjects are the definitions, the manager's namespace and account, its rights,
// with those of all fronts, and the policies, which let the manager's account through.
func shippedObjects(namespace string) ([]*unstructured.Unstructured, error) {
	objects, err := managerAccount(namespace)
	if err != nil {
		return nil, err
	}
	for _, source := range []struct {
		files   fs.FS
		pattern string
	}{{crd.Files, "*.yaml"}, {crd.Fronts, "*/*.yaml"}, {rbac.Files, "*.yaml"}, {rbac.Fronts, "*/*.yaml"}} {
		more, err := manifestsIn(source.files, source.pattern)
		if err != nil {
			return nil, err
		}
		objects = append(objects, more...)
	}
	policies, err := manifestsIn(policy.Files, "*.yaml")
	if err != nil {
		return nil, err
	}
	for _, o := range policies {
		nameManager(o, namespace)
	}
	return append(objects, policies...), nil
}

// nameManager puts the manager's account into the conditions of a policy, which name the
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

// accountOf is the user that the manager is in a namespace.
func accountOf(namespace string) string {
	return "system:serviceaccount:" + namespace + ":" + managerName
}

func (in *installer) apply(ctx context.Context, o *unstructured.Unstructured) error {
	err := in.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), client.FieldOwner("strata-up"), client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("applying %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	return nil
}

// awaitServed waits until the API server serves the kind of a CRD.
func (in *installer) awaitServed(ctx context.Context, o *unstructured.Unstructured) error {
	if o.GroupVersionKind().GroupKind() != view.CRDKind {
		return nil
	}
	current := &unstructured.Unstructured{}
	current.SetGroupVersionKind(o.GroupVersionKind())
	err := wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
		if err := in.client.Get(ctx, client.ObjectKeyFromObject(o), current); err != nil {
			return false, fmt.Errorf("reading CustomResourceDefinition %s: %w", o.GetName(), err)
		}
		return isEstablished(current), nil
	})
	if wait.Interrupted(err) {
		return fmt.Errorf("waiting for CustomResourceDefinition %s: %w", o.GetName(), err)
	}
	return err
}

func isEstablished(o *unstructured.Unstructured) bool {
	conditions, _, err := unstructured.NestedSlice(o.Object, "status", "conditions")
	if err != nil {
		return false
	}
	for _, c := range conditions {
		condition, ok := c.(map[string]any)
		if ok && condition["type"] == "Established" && condition["status"] == "True" {
			return true
		}
	}
	return false
}

// managerAccount is the manager's namespace and service account.
func managerAccount(namespace string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for _, o := range []runtime.Object{
		&corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		&corev1.ServiceAccount{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"}, ObjectMeta: metav1.ObjectMeta{Name: managerName, Namespace: namespace}},
	} {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		if err != nil {
			return nil, fmt.Errorf("encoding the manager's account: %w", err)
		}
		u := &unstructured.Unstructured{Object: content}
		unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
		unstructured.RemoveNestedField(u.Object, "status")
		unstructured.RemoveNestedField(u.Object, "spec")
		objects = append(objects, u)
	}
	return objects, nil
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
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("reading manifests: %w", err)
		}
		d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
		for {
			u := &unstructured.Unstructured{}
			err := d.Decode(&u.Object)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, fmt.Errorf("reading %s: %w", name, err)
			}
			// A kustomization says how to deploy, it is no object to deploy.
			if len(u.Object) > 0 && u.GetName() != "" {
				objects = append(objects, u)
			}
		}
	}
	return objects, nil
}
