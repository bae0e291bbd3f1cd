// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/render"
	"github.com/strata-run/strata/internal/store"
)

// packWith packs content as the cluster would have it, and writes nothing: where the
// cluster has no key for Secrets yet, another one stands in, as no digest can be equal
// to any there is.
func packWith(ctx context.Context, c *cluster, phases []render.Phase, probes []v1alpha1.Probe, managerNamespace string) (content.Packed, error) {
	contents := &store.Contents{Client: client.NewDryRunClient(c.client), Live: c.client, Namespace: managerNamespace}
	packed, err := contents.Pack(ctx, phases, probes)
	if apierrors.IsNotFound(err) {
		packed, err = content.Packer{Key: offlineKey()}.Pack(phases, probes)
	}
	switch {
	case apierrors.IsForbidden(err):
		return packed, exitf(CodeFalse, "the content holds Secrets, and takes the right to get Secrets in namespace %s, where they are kept: %w", managerNamespace, err)
	case apierrors.IsUnauthorized(err), apierrors.IsTooManyRequests(err), apierrors.IsServiceUnavailable(err):
		return packed, c.explain("reading the key for Secrets", err)
	case err != nil:
		return packed, exitf(CodeTerminal, "packing the content: %w", err)
	}
	return packed, nil
}
