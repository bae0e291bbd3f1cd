// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import "testing"

// Memory is given back once after each burst, and not while it lasts.
func TestThrift(t *testing.T) {
	keeper := &thrift{}
	allocated := uint64(0)
	for i, c := range []struct {
		reason string
		grows  uint64
		over   bool
	}{
		{"everything is listed", 80 << 20, false},
		{"the lists are over", 1 << 20, true},
		{"nothing has happened since", 1 << 20, false},
		{"a rollout", 900 << 20, false},
		{"it goes on", 900 << 20, false},
		{"it is over", 2 << 20, true},
		{"at rest", 2 << 20, false},
		{"a little is rolled out", 30 << 20, false},
		{"that was not worth it", 1 << 20, false},
	} {
		allocated += c.grows
		if over := keeper.isOver(allocated); over != c.over {
			t.Errorf("%d, %s: memory is given back: %t", i, c.reason, over)
		}
	}
}
