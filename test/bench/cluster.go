// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/config/crd"
	"github.com/strata-run/strata/internal/localplane"
)

const (
	// managerUser is who the manager is, with the rights of config/rbac.
	managerUser      = "system:serviceaccount:strata-system:strata-manager"
	managerNamespace = "strata-system"
	// helmUser is who Helm is; it may do everything.
	helmUser = "bench-helm"
)

// auditPolicy records the requests of the manager and of Helm alone, and not those
// about leases, so that a log that does not grow means that nobody asks anything.
// The bodies of status writes tell what was written.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  resources: [{group: coordination.k8s.io, resources: [leases]}]
- level: Request
  users: ["` + managerUser + `"]
  verbs: [patch]
  resources: [{group: strata.run, resources: [packages, packages/status, revisions, revisions/status]}]
- level: Metadata
  users: ["` + managerUser + `", "` + helmUser + `"]
- level: None
`

// startCluster starts a local Kubernetes with what is installed before the manager.
func (b *bench) startCluster(ctx context.Context) error {
	binaries, err := localplane.Build(ctx, localplane.BuildOptions{Progress: b.progress})
	if err != nil {
		return err
	}
	b.plane, err = localplane.Start(ctx, localplane.Options{
		Binaries: binaries, AuditPolicy: []byte(auditPolicy), DataDir: b.data, Progress: b.progress,
	})
	if err != nil {
		return err
	}
	if err := b.install(ctx); err != nil {
		return fmt.Errorf("%w; %w", err, b.plane.Stop())
	}
	return nil
}

func (b *bench) install(ctx context.Context) (err error) {
	if b.admin, err = client.New(b.plane.Config(), client.Options{}); err != nil {
		return fmt.Errorf("connecting to the cluster: %w", err)
	}
	if err := v1alpha1.AddToScheme(b.admin.Scheme()); err != nil {
		return err
	}
	module, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/gateway-api").Output()
	if err != nil {
		return fmt.Errorf("finding the Gateway API module: %w", err)
	}
	gatewayAPI := os.DirFS(filepath.Join(strings.TrimSpace(string(module)), "config", "crd", "standard"))
	root := os.DirFS(b.root)
	for _, source := range []struct {
		files   fs.FS
		pattern string
	}{
		{crd.Files, "*.yaml"}, {gatewayAPI, "*gatewayclasses.yaml"},
		{root, "config/manager/manager.yaml"}, {root, "config/rbac/role*.yaml"},
	} {
		if err := b.apply(ctx, source.files, source.pattern); err != nil {
			return err
		}
	}
	return wait(ctx, "our kinds to be served", time.Minute, 100*time.Millisecond, func(ctx context.Context) (bool, error) {
		err := b.admin.List(ctx, &v1alpha1.RevisionList{})
		return err == nil, err
	})
}

// apply applies manifests, but no workload: the manager is our own process.
func (b *bench) apply(ctx context.Context, files fs.FS, pattern string) error {
	names, err := fs.Glob(files, pattern)
	if err != nil || len(names) == 0 {
		return fmt.Errorf("finding manifests: no file matches %s", pattern)
	}
	for _, name := range names {
		content, err := fs.ReadFile(files, name)
		if err != nil {
			return fmt.Errorf("reading manifests: %w", err)
		}
		for document := range strings.SplitSeq(string(content), "\n---") {
			object := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
				return fmt.Errorf("reading %s: %w", name, err)
			}
			if object.Object == nil || object.GetKind() == "Deployment" {
				continue
			}
			if err := b.admin.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("setup"), client.ForceOwnership); err != nil {
				return fmt.Errorf("applying %s: %w", name, err)
			}
		}
	}
	return nil
}
