// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Warning records events of one reason on resources whose status has no place for it, once for
// each text.
type Warning struct {
	// Recorder records the events.
	Recorder events.EventRecorder
	// Reason and Action are theirs.
	Reason, Action string

	lock     sync.Mutex
	recorded map[types.UID]string
}

// Record records a text. An empty one says that all is well again.
func (w *Warning) Record(resource client.Object, text string) {
	w.lock.Lock()
	defer w.lock.Unlock()
	if w.recorded[resource.GetUID()] == text {
		return
	}
	if w.recorded == nil {
		w.recorded = map[types.UID]string{}
	}
	if w.recorded[resource.GetUID()] = text; text == "" {
		delete(w.recorded, resource.GetUID())
		return
	}
	w.Recorder.Eventf(resource, nil, corev1.EventTypeWarning, w.Reason, w.Action, "%s", text)
}
