// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"fmt"
	"time"

	"github.com/strata-run/strata/revisions/probes"
)

// requireMinReady delays the objects whose probes hold, but not yet for as long as they
// must. The time counts from when the revision first saw the probe hold, and anew
// from every pass in which it did not, or in which the object was written.
func (r RevisionResult) requireMinReady(phase Phase, objects []ObjectResult, now time.Time) {
	for i := range objects {
		minReady, object := phase.Objects[i].MinReady, &objects[i]
		if minReady <= 0 {
			continue
		}
		before, known := r.Records[object.ID]
		if object.Record == nil {
			if known {
				before.ReadySince = time.Time{}
				r.Records[object.ID] = before
			}
			continue
		}
		object.Record.ReadySince = time.Time{}
		if !object.Ready() {
			continue
		}
		since := now
		if known && before.UID == object.Record.UID && !before.ReadySince.IsZero() && !object.Wrote() {
			since = before.ReadySince
		}
		object.Record.ReadySince = since
		object.waitMinReady(minReady, since, now)
	}
}

// waitMinReady makes an object wait until its probe has held for long enough.
func (o *ObjectResult) waitMinReady(minReady time.Duration, since, now time.Time) {
	if now.IsZero() {
		o.Probe = probes.NewResult(probes.Unknown, fmt.Sprintf("the probe is true, and has to stay so for %s, which no clock measures", minReady))
		return
	}
	due := since.Add(minReady)
	if !now.Before(due) {
		return
	}
	o.Probe = probes.NewResult(probes.Unknown, fmt.Sprintf("the probe is true, and has to stay so for %s", minReady))
	if o.Retry.IsZero() || due.Before(o.Retry) {
		o.Retry = due
	}
}
