// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package restarts

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What has joined is remembered while it injects, and who needs it most is the last to be left out.
func TestNextJoined(t *testing.T) {
	many := func(prefix string, n int) namespaceTimes {
		all := namespaceTimes{}
		for i := range n {
			all[fmt.Sprint(prefix, i)] = made
		}
		return all
	}
	full := many("known", maxJoined)
	tests := map[string]struct {
		reason         string
		known, joining namespaceTimes
		left           string
		want           namespaceTimes
	}{
		"New":       {reason: "it is to be restarted for it", joining: namespaceTimes{"shop": made}, want: namespaceTimes{"shop": made}},
		"Joined":    {reason: "nothing is outdated, but may be again", known: namespaceTimes{"shop": made}, want: namespaceTimes{"shop": made}},
		"Left":      {reason: "the next time it is another cause", known: namespaceTimes{"shop": made}, left: "shop", want: namespaceTimes{}},
		"Full":      {reason: "it is about to be restarted", known: many("known", maxJoined), joining: namespaceTimes{"shop": made.Add(-hour)}, want: with(full, "shop", "known99")},
		"TooMany":   {reason: "one of them was restarted before", known: namespaceTimes{"shop": made.Add(-hour)}, joining: with(many("new", maxJoined), "shop", ""), want: with(many("new", maxJoined), "shop", "new99")},
		"TooManyBy": {reason: "the newest is remembered", known: with(full, "", "known0"), joining: nil, want: with(full, "", "known0")},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := nextJoined(tc.known, tc.joining, func(namespace string) bool { return namespace != tc.left })
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(got, parseJSON[namespaceTimes](got.String())); diff != "" {
				t.Errorf("%s: what was written is read as another one (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
	for _, text := range []string{"", "null", "[]", "{broken"} {
		if got := parseJSON[namespaceTimes](text); got == nil || len(got) > 0 {
			t.Errorf("%q is read as %v, want none", text, got)
		}
	}
}

// with is the same with one more namespace, from an hour before, and without another one.
func with(a namespaceTimes, more, less string) namespaceTimes {
	all := namespaceTimes{}
	for name, since := range a {
		if name != less {
			all[name] = since
		}
	}
	if more != "" {
		all[more] = made.Add(-hour)
	}
	return all
}

// Only who no longer gives sidecars to all pods has left.
func TestLeaves(t *testing.T) {
	tests := map[string]struct {
		reason        string
		before, after map[string]string
		want          bool
	}{
		"Off":      {"the label was taken away", map[string]string{labelInjection: "enabled"}, nil, true},
		"Disabled": {"it says so", map[string]string{labelInjection: "enabled"}, map[string]string{labelInjection: "disabled"}, true},
		"Canary":   {"another Istio has it", map[string]string{LabelRevision: "default"}, map[string]string{LabelRevision: "canary"}, true},
		"Renamed":  {"the other label says the same", map[string]string{labelInjection: "enabled"}, map[string]string{LabelRevision: "default"}, false},
		"On":       {"it joins", nil, map[string]string{labelInjection: "enabled"}, false},
		"Other":    {"another label", map[string]string{labelInjection: "enabled"}, map[string]string{labelInjection: "enabled", "x": "y"}, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			of := func(labels map[string]string) metav1.Object {
				return &metav1.ObjectMeta{Name: "shop", Labels: labels}
			}
			if got := Leaves(of(tc.before), of(tc.after)); got != tc.want {
				t.Errorf("%s: got %t", tc.reason, got)
			}
		})
	}
}
