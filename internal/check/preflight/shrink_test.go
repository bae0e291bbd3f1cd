// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/revisions"
)

func TestCheckShrink(t *testing.T) {
	sized := func(number int64, objects int) revisions.Revision {
		var texts []string
		for i := range objects {
			texts = append(texts, fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {namespace: app, name: r%d-%d}}", number, i))
		}
		return revision(t, number, texts...)
	}
	succeeded := func(r revisions.Revision) revisions.Revision { r.Succeeded = true; return r }
	cases := map[string]struct {
		reason     string
		target     int
		serving    []revisions.Revision
		annotation string
		want       []string
	}{
		"First":        {reason: "there is nothing to lose", target: 0},
		"Empty":        {reason: "it would take everything down", target: 0, serving: []revisions.Revision{succeeded(sized(1, 1))}, want: []string{"Shrink: revision 3 has no objects, and revision 1 has 1"}},
		"StillEmpty":   {reason: "nothing is lost", target: 0, serving: []revisions.Revision{succeeded(sized(1, 0))}},
		"LessThanHalf": {reason: "much smaller", target: 1, serving: []revisions.Revision{succeeded(sized(1, 4))}, want: []string{"Shrink: revision 3 has 1 objects, less than half of the 4 of revision 1"}},
		"Half":         {reason: "half is enough, and names do not count", target: 2, serving: []revisions.Revision{succeeded(sized(1, 4))}},
		"Small":        {reason: "in three objects one counts too much", target: 1, serving: []revisions.Revision{succeeded(sized(1, 3))}},
		"LastGood":     {reason: "what never ran is no measure", target: 4, serving: []revisions.Revision{sized(2, 100), succeeded(sized(1, 4))}},
		"NoneGood":     {reason: "without one that ran, the newest is", target: 4, serving: []revisions.Revision{sized(2, 100)}, want: []string{"Shrink: revision 3 has 4 objects, less than half of the 100 of revision 2"}},
		"Allowed":      {reason: "exactly this content is", target: 0, serving: []revisions.Revision{succeeded(sized(1, 9))}, annotation: "sha-3"},
		"AllowedOther": {reason: "it is no standing permission", target: 0, serving: []revisions.Revision{succeeded(sized(1, 9))}, annotation: "sha-2", want: []string{"Shrink: revision 3 has no objects, and revision 1 has 9"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			in := Input{Package: pkg("", v1alpha1.AnnotationAllowPrune, c.annotation), Target: sized(3, c.target), Serving: c.serving, ContentDigest: "sha-3"}
			if diff := cmp.Diff(c.want, newChecked().found(t, in)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// TestCheckShrink_NoDigest does not take a missing annotation for a permission of
// content whose digest is not known.
func TestCheckShrink_NoDigest(t *testing.T) {
	before := revision(t, 1, "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: app, name: a}}")
	before.Succeeded = true
	in := Input{Package: pkg(""), Target: revision(t, 2), Serving: []revisions.Revision{before}}
	if got := newChecked().found(t, in); len(got) != 1 || !slices.Contains(got, "Shrink: revision 2 has no objects, and revision 1 has 1") {
		t.Errorf("found %v", got)
	}
}
