// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// TestUndone: a finalizer and a status that another manager takes away are news, and what we
// have written ourselves is none.
func TestUndone(t *testing.T) {
	class := func(version string, finalizers []string, reason string) *gatewayv1.GatewayClass {
		c := &gatewayv1.GatewayClass{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "u", ResourceVersion: version, Finalizers: finalizers}}
		c.Spec.ControllerName = ours
		if reason != "" {
			c.Status.Conditions = []metav1.Condition{{Type: "Accepted", Reason: reason}}
		}
		return c
	}
	held := []string{finalizer}
	for name, tc := range map[string]struct {
		reason        string
		before, after *gatewayv1.GatewayClass
		wrote         bool
		want          bool
	}{
		"Finalizer": {reason: "nothing holds it any more", before: class("1", held, "x"), after: class("2", nil, "x"), want: true},
		"Status":    {reason: "nothing is known of it any more", before: class("1", held, "x"), after: class("2", held, ""), want: true},
		"Changed":   {reason: "it says something else", before: class("1", held, "x"), after: class("2", held, "y"), want: true},
		"Nothing":   {reason: "that is a label", before: class("1", held, "x"), after: class("2", held, "x")},
		"Other":     {reason: "it is another manager's finalizer", before: class("1", []string{finalizer, "a/b"}, "x"), after: class("2", held, "x")},
		"Own":       {reason: "we wrote it", before: class("1", held, "x"), after: class("2", held, "y"), wrote: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.loop.Front.LiveStatus = true // for a status that is not ours alone, too
			f.loop.Front.Finalizer = finalizer
			if tc.wrote {
				f.loop.own.Wrote(tc.after)
			}
			if got := f.loop.undone().Update(event.UpdateEvent{ObjectOld: tc.before, ObjectNew: tc.after}); got != tc.want {
				t.Errorf("%s: it is news: %v, want %v", tc.reason, got, tc.want)
			}
		})
	}
}

// TestDelayed: many events of a short time make one request.
func TestDelayed(t *testing.T) {
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer queue.ShutDown()
	const delay = 50 * time.Millisecond
	handler := delayed(enqueue(func(context.Context, client.Object) []string { return []string{"group"} }), delay)
	began := time.Now()
	for range 10 {
		handler.Update(t.Context(), event.UpdateEvent{ObjectOld: &gatewayv1.GatewayClass{}, ObjectNew: &gatewayv1.GatewayClass{}}, queue)
	}
	request, _ := queue.Get()
	queue.Done(request)
	if took := time.Since(began); request.Name != "group" || took < delay || queue.Len() != 0 {
		t.Errorf("after %s there is %v, and %d more", took, request, queue.Len())
	}
}
