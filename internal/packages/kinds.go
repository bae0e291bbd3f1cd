// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/strata-run/strata/revisions"
)

// servedAfter is how long after news of its CustomResourceDefinition a kind is looked for:
// the API server begins to serve it some time after it has said so.
var servedAfter = []time.Duration{0, 2 * time.Second, 10 * time.Second}

// definition is what is watched of a CustomResourceDefinition.
func definition() client.Object {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	return object
}

// lacksKind says that the API server does not know the kind of an object.
func lacksKind(err error) bool {
	var unknown *revisions.UnknownKindError
	return errors.As(err, &unknown)
}

// byDefinition brings back the packages that wait for a kind when a CustomResourceDefinition
// has changed, however long their last failure would have them wait.
func (w *Worker) byDefinition() handler.EventHandler {
	wake := func(queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		for _, name := range w.states.awaiting() {
			for _, after := range servedAfter {
				queue.AddAfter(requestFor(name), after)
			}
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, _ event.CreateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			wake(queue)
		},
		UpdateFunc: func(_ context.Context, _ event.UpdateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			wake(queue)
		},
	}
}
