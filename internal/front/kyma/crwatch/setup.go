// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package crwatch

import (
	"context"
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/strata-run/strata/internal/front/kyma/servicemesh"
	"github.com/strata-run/strata/revisions/cache"
)

// Setup is a Watcher that reads with the clients of a manager. For the rest see [Config].
func Setup(mgr manager.Manager, kinds []servicemesh.BlockingKind, label string, objects *cache.Objects) (*Watcher, error) {
	partial, err := metadata.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("creating the metadata client: %w", err)
	}
	versions, err := VersionsOf(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, err
	}
	return New(Config{Kinds: kinds, Definitions: mgr.GetCache(), Versions: versions, Objects: objects, Metadata: partial, Label: label}), nil
}

// VersionsOf asks an API server which versions of a group it serves, for [Config].
func VersionsOf(config *rest.Config, client *http.Client) (func(ctx context.Context, group string) ([]string, error), error) {
	d, err := discovery.NewDiscoveryClientForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("creating the discovery client: %w", err)
	}
	return func(ctx context.Context, group string) ([]string, error) {
		answer := &metav1.APIGroup{}
		if err := d.RESTClient().Get().AbsPath("/apis/" + group).Do(ctx).Into(answer); err != nil {
			return nil, fmt.Errorf("asking for the versions of group %s: %w", group, err)
		}
		versions := []string{answer.PreferredVersion.Version}
		for _, v := range answer.Versions {
			if v.Version != versions[0] {
				versions = append(versions, v.Version)
			}
		}
		return versions, nil
	}, nil
}
