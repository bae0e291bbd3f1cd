// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisionstest

import (
	"strings"
	"testing"
)

// TestReplay_Errors names the command that cannot be understood.
func TestReplay_Errors(t *testing.T) {
	cases := map[string]struct {
		reason string
		script string
		names  []string
	}{
		"Command":  {reason: "a typo must not pass for a step", script: "pas", names: []string{"pas:", "no such command", "pass"}},
		"NoTarget": {reason: "there is nothing to roll out", script: "pass", names: []string{"no active revision"}},
		"Revision": {reason: "it was never added", script: "archive 7", names: []string{"no revision 7"}},
		"Number":   {reason: "revisions have numbers", script: "revision one", names: []string{"reading the number"}},
		"Phase":    {reason: "an object stands in a phase", script: "revision 1\nConfigMap app/a", names: []string{"before the first phase"}},
		"Kind":     {reason: "a kind with a typo would be taken for an unknown one", script: "create ConfgMap app/a", names: []string{"ConfgMap", "Kind.version.group"}},
		"Object":   {reason: "an object has a name", script: "show ConfigMap", names: []string{"is no object"}},
		"Value":    {reason: "a value has a field", script: "edit ConfigMap app/a red", names: []string{"neither field=value nor field-"}},
		"State":    {reason: "the states of a status are few", script: "set Deployment app/a fine", names: []string{"ready, updating and broken"}},
		"Code":     {reason: "an answer has a code", script: "fail apply ConfigMap app/a soon", names: []string{"reading the code"}},
		"Serving":  {reason: "a kind is served or not", script: "serve Widget.v1.example.org maybe", names: []string{"yes, no and unreachable"}},
		"Duration": {reason: "time has a unit", script: "clock 5", names: []string{"reading the duration"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Replay(tc.script, Options{})
			if err == nil {
				t.Fatalf("the script was played: %s", tc.reason)
			}
			for _, part := range tc.names {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the error does not name %q: %v", part, err)
				}
			}
		})
	}
}

// TestReplay_Form keeps comments, bodies and order, and replaces the output.
func TestReplay_Form(t *testing.T) {
	script := "# One.\n# Two.\n\n# Three.\nrevision 1\nphase run\n  ConfigMap app/a color=blue\n----\nold output\n\n\nshow\n----\n"
	want := "# One.\n# Two.\n\n# Three.\nrevision 1\nphase run\n  ConfigMap app/a color=blue\n----\n\nshow\n----\n"
	got, err := Replay(script, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	again, err := Replay(got, Options{})
	if err != nil || again != got {
		t.Errorf("playing it again gives %q, %v", again, err)
	}
}
