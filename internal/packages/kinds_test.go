// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"testing"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/strata-run/strata/api/v1alpha1"
)

// TestWorker_ByDefinition: a package that waits for a kind is checked as soon as a
// CustomResourceDefinition comes, and no other package is.
func TestWorker_ByDefinition(t *testing.T) {
	l := newLine(t, v1alpha1.PackageSpec{})
	worker, ok := l.loop.Worker.(*Worker)
	if !ok {
		t.Fatalf("the loop's worker is a %T", l.loop.Worker)
	}
	woken := func() int {
		queue := workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](time.Hour, time.Hour))
		defer queue.ShutDown()
		worker.byDefinition().Update(t.Context(), event.UpdateEvent{ObjectOld: definition(), ObjectNew: definition()}, queue)
		return queue.Len()
	}
	l.deliver(phase(map[string]any{"apiVersion": "example.org/v1", "kind": "Widget", "metadata": map[string]any{"name": "w", "namespace": "app"}}))
	if _, err := l.pass(); err == nil {
		t.Fatal("a kind that is not served is no error")
	}
	if n := woken(); n != 1 {
		t.Errorf("%d packages are looked at, want the one that waits", n)
	}
	l.deliver(phase(configMap("a", "1")))
	l.mustSettle(10 * time.Second)
	if n := woken(); n != 0 {
		t.Errorf("%d packages are looked at, and none waits any more", n)
	}
}
