// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	// freeRepairs is how many repairs in a row are made at once.
	freeRepairs = 3
	// longestTruce bounds the wait between repairs of an object that is fought over.
	longestTruce = 5 * time.Minute
	// peace is how long an object must be left alone for the next change of it to be
	// the first one again. It is longer than the longest wait.
	peace = 15 * time.Minute
	// mostFields bounds how many fields a message names.
	mostFields = 8
)

// truce is how long the object is left as the other one wants it before the next
// repair: nothing at first, and then twice as long each time.
func (c *Contest) truce() time.Duration {
	if c == nil || c.Count < freeRepairs {
		return 0
	}
	return min(time.Second<<min(c.Count-freeRepairs, 20), longestTruce)
}

// NextRepair is when the object may be repaired again, the zero time when nobody fights
// over it.
func (c *Contest) NextRepair() time.Time {
	if c == nil {
		return time.Time{}
	}
	return c.Last.Add(c.truce())
}

// repaired is the contest after one more repair.
func (c *Contest) repaired(rivals []Rival, now time.Time) *Contest {
	next := &Contest{Count: 1, First: now, Last: now}
	if c != nil && now.Sub(c.Last) < peace {
		next.Count, next.First = c.Count+1, c.First
		next.Manager, next.Fields = c.Manager, c.Fields
	}
	if len(rivals) > 0 {
		next.Manager = rivals[0].Manager
		next.Fields = slices.Clone(rivals[0].Fields[:min(mostFields, len(rivals[0].Fields))])
	}
	return next
}

// ended says that nobody has changed the object for long.
func (c *Contest) ended(now time.Time) bool { return c == nil || now.Sub(c.Last) >= peace }

// String says who fights about what.
func (c *Contest) String() string {
	times := "once"
	if c.Count > 1 {
		times = fmt.Sprintf("%d times in a row", c.Count)
	}
	return fmt.Sprintf("%s, and it was repaired %s", driftText(c.Manager, c.Fields), times)
}

func driftText(manager string, fields []string) string {
	text := cmp.Or(manager, "someone") + " has changed "
	if len(fields) == 0 {
		return text + "or removed a field of it"
	}
	return text + strings.Join(fields, ", ") + " of it"
}

// driftReason says what has drifted, as far as the API server tells.
func driftReason(rivals []Rival) string {
	if len(rivals) == 0 {
		return "someone has changed or removed a field of it"
	}
	first := rivals[0]
	return driftText(first.Manager, first.Fields[:min(mostFields, len(first.Fields))])
}
