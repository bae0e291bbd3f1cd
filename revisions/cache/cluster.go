// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/revisions"
)

// Cluster is a cluster with an engine and the informers that it reads from.
type Cluster struct {
	*revisions.Engine

	reader            client.Reader
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
	c := &Cluster{reader: api, label: label, fieldOwner: fieldOwner, changed: make(chan struct{}, 1)}
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

// owner is an owner with what it leaves to the cluster.
func (c *Cluster) owner(ctx context.Context, owner revisions.Owner) (revisions.Owner, error) {
	owner.Label, owner.FieldOwner = cmp.Or(owner.Label, c.label), cmp.Or(owner.FieldOwner, c.fieldOwner)
	if owner.UID != "" {
		return owner, nil
	}
	object := &unstructured.Unstructured{}
	object.SetAPIVersion(owner.APIVersion)
	object.SetKind(owner.Kind)
	key := client.ObjectKey{Namespace: owner.Namespace, Name: owner.Name}
	if err := c.reader.Get(ctx, key, object); err != nil {
		return owner, fmt.Errorf("reading the owner %s %s: %w", owner.Kind, key, err)
	}
	owner.UID = object.GetUID()
	return owner, nil
}

// interval is how long after a pass the next one begins although no object has changed: nothing
// says that the API server begins to serve a kind.
const interval = time.Second

// RollOut makes passes over one history, and no other at the same time, until the target is
// complete, can never be rolled out, or the context ends. Whatever else fails is tried again. An
// owner without a UID is read first, and one without a label or a field owner has those of the
// cluster. A controller makes one pass in each of its own with [revisions.Engine.Reconcile] instead, and
// keeps the records in a status.
func (c *Cluster) RollOut(ctx context.Context, rollout revisions.Rollout) (revisions.Result, error) {
	var err error
	if rollout.Owner, err = c.owner(ctx, rollout.Owner); err != nil {
		return revisions.Result{}, err
	}
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
