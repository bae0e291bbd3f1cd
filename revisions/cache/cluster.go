// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/revisions"
)

// Cluster is a cluster with an engine and the informers that it reads from.
type Cluster struct {
	*revisions.Engine

	client            client.Client
	label, fieldOwner string
	changed           chan struct{}
}

// Connect is a cluster with an engine that writes and reads as the configuration says. The label
// is the one that managed objects carry, and the field owner the manager of all writes. The
// informers end with the context.
func Connect(ctx context.Context, cluster *rest.Config, label, fieldOwner string) (*Cluster, error) {
	api, err := client.New(cluster, client.Options{})
	if err != nil {
		return nil, fmt.Errorf("creating the client: %w", err)
	}
	whole, wholeErr := dynamic.NewForConfig(cluster)
	partial, partialErr := metadata.NewForConfig(cluster)
	if err := errors.Join(wholeErr, partialErr); err != nil {
		return nil, fmt.Errorf("creating the clients of the informers: %w", err)
	}
	c := &Cluster{client: api, label: label, fieldOwner: fieldOwner, changed: make(chan struct{}, 1)}
	informers := New(ctx, Config{Dynamic: whole, Metadata: partial, Mapper: api.RESTMapper(), Label: label, FieldOwner: fieldOwner, Notify: c.notify})
	c.Engine, err = revisions.New(revisions.Config{Writer: api, Live: api, Cache: informers, Mapper: api.RESTMapper(), Completed: informers.Completed})
	return c, err
}

func (c *Cluster) notify(string) {
	select {
	case c.changed <- struct{}{}:
	default: // the next pass is due already
	}
}

// Owner reads an object that is to own what is rolled out.
func (c *Cluster) Owner(ctx context.Context, kind schema.GroupVersionKind, key client.ObjectKey) (revisions.Owner, error) {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(kind)
	if err := c.client.Get(ctx, key, object); err != nil {
		return revisions.Owner{}, fmt.Errorf("reading the owner %s %s: %w", kind.Kind, key, err)
	}
	return revisions.Owner{
		APIVersion: kind.GroupVersion().String(), Kind: kind.Kind, Name: key.Name, UID: object.UID, Label: c.label, FieldOwner: c.fieldOwner,
	}, nil
}

// interval is how long after a pass the next one begins although no object has changed: nothing
// says that the API server begins to serve a kind.
const interval = time.Second

// RollOut makes passes over one history, and no other at the same time, until the target is
// complete, can never be rolled out, or the context ends. Whatever else fails is tried again. A
// controller makes one pass in each of its own with [revisions.Engine.Reconcile] instead, and
// keeps the records in a status.
func (c *Cluster) RollOut(ctx context.Context, rollout revisions.Rollout) (revisions.Result, error) {
	for {
		rollout.Now = time.Now()
		result, err := c.Reconcile(ctx, rollout)
		var invalid *revisions.ValidationError
		if err == nil && result.Target.Complete() || errors.As(err, &invalid) {
			return result, err
		}
		rollout.Target.Records = result.Target.Records
		for i := range rollout.Serving {
			rollout.Serving[i].Records = result.Serving[i].Records
		}
		select {
		case <-c.changed:
		case <-time.After(interval):
		case <-ctx.Done():
			return result, errors.Join(ctx.Err(), err)
		}
	}
}
