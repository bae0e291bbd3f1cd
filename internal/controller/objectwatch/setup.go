// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package objectwatch

import (
	"context"
	"fmt"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// Setup is a Reader that ends with a manager. For changed see [Config].
func Setup(mgr manager.Manager, changed func()) (*Reader, error) {
	whole, err := dynamic.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("creating the dynamic client: %w", err)
	}
	partial, err := metadata.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("creating the metadata client: %w", err)
	}
	reader := New(Config{Dynamic: whole, Metadata: partial, Mapper: mgr.GetRESTMapper(), Changed: changed})
	return reader, mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		<-ctx.Done()
		reader.Close()
		return nil
	}))
}
