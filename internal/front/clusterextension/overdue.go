// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterextension

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	olmv1 "github.com/strata-run/strata/api/olm.operatorframework.io/v1"
)

// overdue knows since when ClusterExtensions do not get their bundles. A manager that was started anew
// counts from then on, and what was too late before stays so.
type overdue struct {
	lock  sync.Mutex
	began map[string]beginning
}

// beginning is when trouble with a spec began.
type beginning struct {
	uid        types.UID
	generation int64
	at         time.Time
}

// since is when the trouble with a spec began, and when it has lasted too long; zero times for none,
// or for one that only a change helps against.
func (o *overdue) since(ce *olmv1.ClusterExtension, is *trouble, now time.Time) (since, deadline time.Time) {
	if is == nil || is.reason == olmv1.ReasonBlocked || is.reason == olmv1.ReasonInvalidConfiguration {
		o.forget(ce.Name)
		return time.Time{}, time.Time{}
	}
	o.lock.Lock()
	defer o.lock.Unlock()
	began := o.began[ce.Name]
	if began.uid != ce.UID || began.generation != ce.Generation {
		began = beginning{ce.UID, ce.Generation, now.Truncate(time.Second)}
		if o.began == nil {
			o.began = map[string]beginning{}
		}
		o.began[ce.Name] = began
	}
	deadline = began.at.Add(time.Duration(ce.Spec.ProgressDeadlineMinutes) * time.Minute)
	if !deadline.After(now) {
		deadline = time.Time{} // it has passed, or there is none
	}
	return began.at, deadline
}

func (o *overdue) forget(name string) {
	o.lock.Lock()
	defer o.lock.Unlock()
	delete(o.began, name)
}

// exceeded says whether trouble since then has lasted longer than the spec allows.
func exceeded(ce *olmv1.ClusterExtension, since, now time.Time) bool {
	limit := time.Duration(ce.Spec.ProgressDeadlineMinutes) * time.Minute
	if limit == 0 || since.IsZero() {
		return false
	}
	was := meta.FindStatusCondition(ce.Status.Conditions, olmv1.TypeProgressing)
	stays := was != nil && was.Reason == olmv1.ReasonProgressDeadlineExceeded && was.ObservedGeneration == ce.Generation
	return stays || now.Sub(since) >= limit
}
