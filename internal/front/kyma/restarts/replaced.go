// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-run/strata/internal/pods"
)

// Replace says how far a workload is whose pods are deleted, one after the other, because of
// the restart in its record. These are the pods that it has, without those that are being
// deleted.
func (l *Live) Replace(o *unstructured.Unstructured, present []Pod) {
	want, found, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
	if !found {
		want = 1
	}
	var old []Pod
	var serving, fresh int64
	for _, p := range present {
		if p.Serving {
			serving++
		}
		switch {
		case l.Record.At.IsZero() || p.Excluded:
		case p.Created.After(l.Record.At):
			fresh++
			l.Progressed = latest(l.Progressed, p.Created)
		default:
			old = append(old, p)
		}
	}
	updated := len(old) == 0 && int64(len(present)) >= want
	l.Rollout = pods.Rollout{
		// It does not say whether new pods have served once: what breaks later is no restart's doing.
		Updated: updated, Completed: len(old) == 0, Done: updated && serving >= want, Empty: want == 0,
		Progress: fmt.Sprintf("%d of %d pods are new, %d of %d serve", fresh, want, serving, max(want, int64(len(present)))),
	}
	if len(old) == 0 {
		return
	}
	// Those that do not serve first.
	slices.SortFunc(old, func(a, b Pod) int {
		switch {
		case a.Serving == b.Serving:
			return cmp.Compare(a.Name, b.Name)
		case b.Serving:
			return -1
		default:
			return 1
		}
	})
	if serving >= want || !old[0].Serving {
		l.Next = &old[0]
	}
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
