// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/cert-manager/cert-manager/pkg/controller"
	// Each of these registers a controller, or a kind of issuer. Those that need
	// other people's servers (ACME, Vault, Venafi) are left out.
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/approver"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/ca"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/selfsigned"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/issuing"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/keymanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/readiness"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/requestmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/revisionmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/trigger"
	_ "github.com/cert-manager/cert-manager/pkg/controller/clusterissuers"
	_ "github.com/cert-manager/cert-manager/pkg/controller/issuers"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/ca"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/selfsigned"
)

// workers are as many as cert-manager's own program starts for each controller.
const workers = 5

// runControllers runs every controller that is registered.
func runControllers(ctx context.Context, s settings) error {
	factory, err := controller.NewContextFactory(ctx, controller.ContextOptions{
		Kubeconfig:    s.kubeconfig,
		IssuerOptions: controller.IssuerOptions{ClusterResourceNamespace: s.namespace},
		CertificateOptions: controller.CertificateOptions{
			// A test does not wait the hour that users wait after a failed request.
			CertificateRequestMinimumBackoffDuration: time.Second,
			CertificateRequestMaximumBackoffDuration: 5 * time.Second,
		},
	})
	if err != nil {
		return fmt.Errorf("preparing the controllers: %w", err)
	}
	var parts []func(context.Context) error
	known := controller.Known()
	for _, name := range slices.Sorted(maps.Keys(known)) {
		one, err := known[name](factory)
		if err != nil {
			return fmt.Errorf("making controller %s: %w", name, err)
		}
		parts = append(parts, func(ctx context.Context) error {
			if err := one.Run(workers, ctx); err != nil {
				return fmt.Errorf("running controller %s: %w", name, err)
			}
			return nil
		})
	}
	// Every context shares the informers.
	shared, err := factory.Build()
	if err != nil {
		return fmt.Errorf("preparing the informers: %w", err)
	}
	shared.SharedInformerFactory.Start(ctx.Done())
	shared.KubeSharedInformerFactory.Start(ctx.Done())
	return together(ctx, parts...)
}
