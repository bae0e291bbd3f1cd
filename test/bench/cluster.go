// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/localplane"
	"github.com/strata-run/strata/test/setup"
)

const (
	// managerUser is who the manager is, with the rights of config/rbac.
	managerUser      = setup.Manager
	managerNamespace = "strata-system"
	// helmUser is who Helm is; it may do everything.
	helmUser = "bench-helm"
)

// auditPolicy records the requests of the manager and of Helm alone, and not those
// about leases, so that a log that does not grow means that neither sends requests.
// The bodies of status writes say what was written.
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
	classes, err := setup.GatewayAPI(ctx, "*gatewayclasses.yaml")
	if err != nil {
		return err
	}
	if err := setup.Apply(ctx, b.admin, append(setup.Shipped(b.root), classes)...); err != nil {
		return err
	}
	return setup.Served(ctx, b.admin, v1alpha1.GroupVersion.WithKind("Revision"))
}
