// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/strata-run/strata/internal/controller/fence"
)

const (
	// LeaseName is that of the lease which the leading manager renews, in its namespace.
	LeaseName = "strata-manager"
	// LeaseTerm is how long a renewal of the lease lasts: another manager waits for that
	// long before it leads.
	LeaseTerm = 15 * time.Second
	// renewDeadline is how long the manager tries to renew the lease before it ends.
	renewDeadline = 10 * time.Second
)

// election is how one of several managers becomes the one that acts.
type election struct {
	lock  resourcelock.Interface
	fence *fence.Fence
}

// newElection is an election over the connection given, which the fence is no part of.
// It ends the context that it returns when the lease names another manager.
func newElection(ctx context.Context, connection *rest.Config, namespace string) (context.Context, election, error) {
	host, err := os.Hostname()
	if err != nil {
		return ctx, election{}, fmt.Errorf("finding the name of this machine for the lease: %w", err)
	}
	own := rest.AddUserAgent(rest.CopyConfig(connection), "leader-election")
	// One request that hangs must not cost the lease.
	own.Timeout = renewDeadline / 2
	client, err := coordinationv1.NewForConfig(own)
	if err != nil {
		return ctx, election{}, fmt.Errorf("creating the client for the lease: %w", err)
	}
	ctx, end := context.WithCancelCause(ctx)
	f := fence.New(LeaseTerm, end)
	return ctx, election{fence: f, lock: f.Lock(&resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: namespace, Name: LeaseName},
		Client:     client,
		LockConfig: resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())},
	})}, nil
}

// elect makes the settings of a manager those of one that takes part in the election.
func (e election) elect(o *ctrl.Options) {
	term, deadline := LeaseTerm, renewDeadline
	o.LeaderElection, o.LeaderElectionID, o.LeaderElectionReleaseOnCancel = true, LeaseName, true
	o.LeaseDuration, o.RenewDeadline, o.LeaderElectionResourceLockInterface = &term, &deadline, e.lock
}
