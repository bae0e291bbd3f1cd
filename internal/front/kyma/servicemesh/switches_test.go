// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package servicemesh

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadSwitches(t *testing.T) {
	const dual = "networkDetails: {dualStackIPEnabled: true}"
	yes, no := true, false
	all := Switches{Features: &Features{DisableCNI: true, EnableControlPlaneVPA: true}, DualStack: &yes}
	none := Switches{Features: &Features{}, DualStack: &no}
	cases := map[string]struct {
		reason                 string
		features, provisioning string
		kept                   Switches
		want                   Switches
		says                   []string
	}{
		"Nothing":      {reason: "there are no ConfigMaps", want: none},
		"First":        {reason: "what they say", features: `{"disableCni": true}`, provisioning: dual, want: Switches{Features: &Features{DisableCNI: true}, DualStack: &yes}},
		"TakenBack":    {reason: "a value that can be read replaces what was", features: `{"disableCni": false}`, kept: all, want: none},
		"Removed":      {reason: "so does a ConfigMap that is gone", kept: all, want: none},
		"Malformed":    {reason: "what cannot be read loses nothing", features: `{"disableCni": yes`, provisioning: "{", kept: all, want: all, says: []string{"istio-features", "kyma-provisioning-info", "stays in force"}},
		"WrongType":    {reason: "not even the other switches", features: `{"disableCni": true, "enableControlPlaneVPA": "maybe"}`, kept: none, want: none, says: []string{"istio-features", "stays in force"}},
		"OneMalformed": {reason: "the other ConfigMap counts", features: `{`, kept: all, want: Switches{Features: all.Features, DualStack: &no}, says: []string{"istio-features"}},
		"FirstTime":    {reason: "before there was anything", features: `{`, provisioning: dual, want: Switches{DualStack: &yes}, says: []string{"istio-features", "nothing of it is set"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, problems := ReadSwitches(tc.features, tc.provisioning, tc.kept)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
			reported := strings.Join(problems, "\n")
			for _, want := range tc.says {
				if !strings.Contains(reported, want) {
					t.Errorf("%s: %q does not say %s", tc.reason, reported, want)
				}
			}
			if len(tc.says) == 0 && reported != "" {
				t.Errorf("%s: there is no problem, and %q is reported", tc.reason, reported)
			}
			if again := ParseSwitches(got.String()); !cmp.Equal(got, again) {
				t.Errorf("%s: %s became %s", tc.reason, got, again)
			}
		})
	}
	for _, text := range []string{"", "{", `{"features": 1}`} {
		if got := ParseSwitches(text); got != (Switches{}) {
			t.Errorf("%q became %s", text, got)
		}
	}
	if features, dualStack := all.InForce(); features != *all.Features || !dualStack {
		t.Errorf("got %v, %v", features, dualStack)
	}
	if features, dualStack := (Switches{}).InForce(); features != (Features{}) || dualStack {
		t.Errorf("what was never read is %v, %v", features, dualStack)
	}
}
