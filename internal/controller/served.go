// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

type runtimeKind = schema.GroupVersionKind

// servedInterval is how often a kind that is not served is looked for.
const servedInterval = 10 * time.Second

// whenServed sets up a front as soon as its kind is served: at once, or later,
// when somebody installs the CustomResourceDefinition. A front without its kind
// must not keep the others from running.
func whenServed(mgr manager.Manager, kind runtimeKind, setUp func() error) error {
	served, err := isServed(mgr.GetRESTMapper(), kind)
	if err != nil {
		return err
	}
	if served {
		return setUp()
	}
	mgr.GetLogger().Info("Kind is not served, its front waits for its CustomResourceDefinition", "kind", kind.String())
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		if !awaitServed(ctx, mgr, kind) {
			return nil
		}
		return setUp()
	}))
}

// awaitServed waits until a kind is served; it is not when the manager stops first.
func awaitServed(ctx context.Context, mgr manager.Manager, kind runtimeKind) bool {
	err := wait.PollUntilContextCancel(ctx, servedInterval, false, func(context.Context) (bool, error) {
		served, err := isServed(mgr.GetRESTMapper(), kind)
		if err != nil {
			mgr.GetLogger().Error(err, "Looking for a kind", "kind", kind.String())
		}
		return served, nil
	})
	return err == nil
}
