// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"fmt"
	"time"

	"github.com/strata-run/strata/probes"
)

// settle holds back the objects whose probes hold, but not yet for as long as they
// must. The time counts from when the revision first saw the probe hold, and anew
// from every pass in which it did not, or in which the object was written.
func (r RevisionResult) settle(phase Phase, objects []ObjectResult, now time.Time) {
	for i := range objects {
		hold, object := phase.Objects[i].HoldsFor, &objects[i]
		if hold <= 0 {
			continue
		}
		before, known := r.Records[object.ID]
		if object.Record == nil {
			if known {
				before.HeldSince = time.Time{}
				r.Records[object.ID] = before
			}
			continue
		}
		object.Record.HeldSince = time.Time{}
		if !object.Ready() {
			continue
		}
		since := now
		if known && before.UID == object.Record.UID && !before.HeldSince.IsZero() && !object.Wrote() {
			since = before.HeldSince
		}
		object.Record.HeldSince = since
		object.await(hold, since, now)
	}
}

// await makes an object wait until its probe has held for long enough.
func (o *ObjectResult) await(hold time.Duration, since, now time.Time) {
	if now.IsZero() {
		o.Probe = probes.NewResult(probes.Unknown, fmt.Sprintf("the probe holds and has to for %s, and there is no clock", hold))
		return
	}
	due := since.Add(hold)
	if !now.Before(due) {
		return
	}
	o.Probe = probes.NewResult(probes.Unknown, fmt.Sprintf("the probe holds since %s and has to for %s without interruption", since.UTC().Format(time.RFC3339), hold))
	if o.Retry.IsZero() || due.Before(o.Retry) {
		o.Retry = due
	}
}
