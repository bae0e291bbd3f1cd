// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGrouped(t *testing.T) {
	job := func(i int) Workload { return Workload{"Job", "shop", fmt.Sprintf("j%02d", i)} }
	tests := map[string]struct {
		reason   string
		reported map[Workload]string
		unlisted int
		want     []string
	}{
		"None":     {reason: "nothing to tell"},
		"One":      {reported: map[Workload]string{cart: "it is paused"}, want: []string{"shop/Deployment/cart (it is paused)"}},
		"Unlisted": {reason: "what is not known by name is counted", unlisted: 3, want: []string{"and 3 more"}},
		"Grouped": {
			reason:   "a reason is reported once, and the one that most have first",
			reported: map[Workload]string{cart: "it is paused", job(2): "run it again", job(1): "run it again"}, unlisted: 1,
			want: []string{"shop/Job/j01, shop/Job/j02 (run it again)", "shop/Deployment/cart (it is paused)", "and 1 more"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, grouped(tc.reported, tc.unlisted)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// Whatever there is to tell, as much is named as there is room for, and the rest is counted.
func TestGrouped_Bounded(t *testing.T) {
	for reasons, want := range map[int]struct {
		entries, named int
		first, last    string
	}{
		1:   {entries: 1, named: 30, first: "shop/Job/j029 and 170 more (r0)", last: "shop/Job/j029 and 170 more (r0)"},
		2:   {entries: 2, named: 30, first: "and 85 more (r0)", last: "and 85 more (r1)"},
		10:  {entries: 10, named: 30, first: "and 17 more (r0)", last: "and 17 more (r9)"},
		40:  {entries: 11, named: 30, first: "and 2 more (r0)", last: "and 150 more"},
		200: {entries: 11, named: 10, first: "shop/Job/j000 (r0)", last: "and 190 more"},
	} {
		all := map[Workload]string{}
		for i := range 200 {
			all[Workload{"Job", "shop", fmt.Sprintf("j%03d", i)}] = fmt.Sprintf("r%d", i%reasons)
		}
		list := grouped(all, 0)
		got := strings.Join(list, "; ")
		if len(list) != want.entries || strings.Count(got, "shop/Job/") != want.named {
			t.Errorf("of 200 with %d reasons are reported: %s", reasons, got)
		}
		if !strings.HasSuffix(list[0], want.first) || !strings.HasSuffix(list[len(list)-1], want.last) {
			t.Errorf("of 200 with %d reasons the first are reported as %q, and the last as %q", reasons, list[0], list[len(list)-1])
		}
	}
}
