// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"path/filepath"

	"k8s.io/apimachinery/pkg/runtime"

	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
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

// startCluster starts a local Kubernetes with what is installed before the manager, a process of
// its own that is measured.
func (b *bench) startCluster(ctx context.Context, name string) (err error) {
	data := b.data
	if data != "" {
		data = filepath.Join(data, name)
	}
	b.Cluster, err = setup.Start(ctx, setup.Options{
		Plane:   localplane.Options{AuditPolicy: []byte(auditPolicy), DataDir: data},
		Schemes: []func(*runtime.Scheme) error{v1alpha1.AddToScheme, olmv1.AddToScheme},
		Log:     b.progress,
	})
	if err != nil {
		return err
	}
	if err := b.install(ctx); err != nil {
		return errors.Join(err, b.Stop())
	}
	return nil
}

func (b *bench) install(ctx context.Context) error {
	classes, err := setup.GatewayAPI(ctx, "*gatewayclasses.yaml")
	if err != nil {
		return err
	}
	if err := setup.Apply(ctx, b.Admin, append(setup.Shipped(b.root), classes)...); err != nil {
		return err
	}
	return setup.Served(ctx, b.Admin, v1alpha1.GroupVersion.WithKind("Revision"))
}
