// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package certmanager

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/strata-run/strata/internal/localplane"
)

const (
	// Namespace is cert-manager's own: Secrets of ClusterIssuers are looked for there.
	Namespace = "cert-manager"
	// name is that of the process in the plane.
	name = "cert-manager"
	// startTimeout bounds the wait for cert-manager to work. It takes some seconds;
	// the rest is for slow machines.
	startTimeout = 2 * time.Minute
)

// Start installs cert-manager's CustomResourceDefinitions and its namespace on a
// running plane, runs the program there, and returns when its webhook answers. The
// program ends with the plane, or with the function that is returned; it may be
// started again then.
func Start(ctx context.Context, plane *localplane.Plane, program Program) (stop func() error, err error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	admin, err := client.New(plane.Config(), client.Options{})
	if err != nil {
		return nil, err
	}
	if err := install(ctx, admin, program.CRDs); err != nil {
		return nil, fmt.Errorf("installing cert-manager: %w", err)
	}
	stop, err = plane.Run(localplane.Program{
		Name: name,
		Path: program.Path,
		Args: []string{"--kubeconfig", plane.Kubeconfig(), "--namespace", Namespace},
	})
	if err != nil {
		return nil, err
	}
	if err := awaitWebhook(ctx, plane, admin); err != nil {
		return nil, errors.Join(err, stop())
	}
	return stop, nil
}

// install applies every CustomResourceDefinition, and makes the namespace.
func install(ctx context.Context, admin client.Client, folder string) error {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("finding CustomResourceDefinitions in %s: %w", folder, errors.Join(err, os.ErrNotExist))
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var object unstructured.Unstructured
		if err := yaml.Unmarshal(content, &object.Object); err != nil {
			return fmt.Errorf("reading %s: %w", filepath.Base(file), err)
		}
		if err := admin.Apply(ctx, client.ApplyConfigurationFromUnstructured(&object), client.FieldOwner(name), client.ForceOwnership); err != nil {
			return fmt.Errorf("applying %s: %w", filepath.Base(file), err)
		}
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Namespace}}
	if err := admin.Create(ctx, namespace); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating namespace %s: %w", Namespace, err)
	}
	return nil
}

// awaitWebhook waits until an Issuer without a type is refused by the webhook: its
// kind is served then, the webhook runs, and the API server trusts it.
func awaitWebhook(ctx context.Context, plane *localplane.Plane, admin client.Client) error {
	last := errors.New("none")
	err := wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		if err := plane.Err(); err != nil {
			return false, err
		}
		issuer := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "cert-manager.io/v1", "kind": "Issuer",
			"metadata": map[string]any{"name": "none", "namespace": Namespace},
			"spec":     map[string]any{},
		}}
		if last = admin.Create(ctx, issuer, client.DryRunAll); last == nil {
			last = errors.New("an Issuer without a type is accepted")
		}
		return strings.Contains(last.Error(), "denied the request"), nil
	})
	if err != nil {
		return fmt.Errorf("waiting for cert-manager: %w; last answer: %w; see %s", err, last, plane.Log(name))
	}
	return nil
}
