// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	eventreasons "github.com/strata-run/strata/internal/events"
)

// NoRoom records an event on resources whose lists of conditions others have filled, once for
// each state: the status cannot say it.
type NoRoom struct {
	// Recorder records the events.
	Recorder events.EventRecorder

	lock sync.Mutex
	told map[types.UID]string
}

// Record records what is full, such as a listener, and what cannot be shown therefore. An empty
// text says that there is room.
func (n *NoRoom) Record(resource client.Object, full, missing string, most int) {
	n.lock.Lock()
	defer n.lock.Unlock()
	if n.told[resource.GetUID()] == full {
		return
	}
	if n.told == nil {
		n.told = map[types.UID]string{}
	}
	if n.told[resource.GetUID()] = full; full == "" {
		delete(n.told, resource.GetUID())
		return
	}
	n.Recorder.Eventf(resource, nil, corev1.EventTypeWarning, eventreasons.ReasonNoRoomForCondition, "SetCondition",
		"There are %d conditions of others on %s, which is the most that the API takes, so %s cannot be shown", most, full, missing)
}
