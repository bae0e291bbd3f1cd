// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"slices"
	"testing"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// TestChanges tells of many more changes than a reader takes in: no writer is blocked,
// and each package is checked once.
func TestChanges(t *testing.T) {
	changes := &Changes{}
	tell := func(names ...string) {
		for range 5000 {
			for _, name := range names {
				changes.Notify(name)
			}
		}
	}
	tell("early", "both")
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer queue.ShutDown()
	if err := changes.source().Start(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	tell("both", "late")
	var names []string
	for range queue.Len() {
		request, _ := queue.Get()
		names = append(names, request.Name)
		queue.Done(request)
	}
	slices.Sort(names)
	want(t, "each package once, also those that changed before the loop started", "names", []string{"both", "early", "late"}, names)
}
