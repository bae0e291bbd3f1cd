// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
)

// writers are the commands that write to a cluster.
var writers = []string{"adopt", "apply", "approve", "archive", "delete", "import-helm", "pause", "resume", "rollback"}

// unlike are the commands that neither show nor change a cluster.
var unlike = []string{"completion", "options", "up", "down", "help"}

// TestContract holds every command to what all of them keep to.
func TestContract(t *testing.T) {
	root := newApp(Config{Getenv: func(string) string { return "" }}).root()
	for _, cmd := range leaves(root) {
		if slices.Contains(unlike, cmd.Name()) {
			continue
		}
		t.Run(cmd.Name(), func(t *testing.T) {
			checkHelp(t, cmd)
			if cmd.Flags().Lookup("dry-run") == nil && slices.Contains(writers, cmd.Name()) {
				t.Error("writes, and has no --dry-run")
			}
			if output := cmd.Flags().Lookup("output"); output == nil {
				t.Error("has no -o")
			} else if !strings.Contains(output.Usage, "json") || !strings.Contains(output.Usage, "yaml") {
				t.Errorf("-o lacks json or yaml: %s", output.Usage)
			}
			for _, name := range []string{"revision", "to", "against"} {
				if _, complete := cmd.GetFlagCompletionFunc(name); cmd.Flags().Lookup(name) != nil && !complete {
					t.Errorf("--%s is not completed", name)
				}
			}
			if (strings.Contains(cmd.Use, "PACKAGE") || strings.Contains(cmd.Use, "NAME")) && cmd.ValidArgsFunction == nil {
				t.Error("its arguments are not completed")
			}
		})
	}
}

// leaves are the commands that have none below them.
func leaves(of *cobra.Command) (all []*cobra.Command) {
	for _, cmd := range of.Commands() {
		if cmd.HasSubCommands() {
			all = append(all, leaves(cmd)...)
		} else {
			all = append(all, cmd)
		}
	}
	return all
}

// checkHelp wants examples, the exit codes and the rights that are needed.
func checkHelp(t *testing.T, cmd *cobra.Command) {
	t.Helper()
	if cmd.Example == "" || cmd.Short == "" {
		t.Error("the help has no example, or no summary")
	}
	for _, word := range []string{"Exit codes:", "Rights"} {
		if !strings.Contains(cmd.Long, word) {
			t.Errorf("the help does not say: %s", word)
		}
	}
	// A command line cannot be wrapped, prose can.
	for text, most := range map[string]int{cmd.Long: 80, cmd.Example: 100} {
		for line := range strings.SplitSeq(text, "\n") {
			if n := utf8.RuneCountInString(line); n > most {
				t.Errorf("a line of the help has %d columns: %s", n, line)
			}
		}
	}
}

// looks are command lines that change nothing, without -o.
func looks() [][]string {
	return [][]string{
		{"get"}, {"get", fixturePackage}, {"get", "nothing"}, {"history", fixturePackage}, {"history", fixturePackage, "--revision", "3"}, {"tree", fixturePackage}, {"status", fixturePackage},
		{"show", fixturePackage}, {"show", fixturePackage, "9"}, {"diff", fixturePackage}, {"explain", fixturePackage}, {"events", fixturePackage},
		{"stats"}, {"wait", fixturePackage, "--timeout", "1ms"}, {"assert", fixturePackage}, {"assert", fixturePackage, "--for", "phase=nothing"},
		{"rollback", fixturePackage, "--dry-run=client"}, {"pause", fixturePackage, "--reason", "x", "--by", "b", "--dry-run=client", "--yes"},
		{"resume", fixturePackage, "--dry-run=client"}, {"archive", fixturePackage, "3", "--dry-run=client"}, {"delete", fixturePackage, "--dry-run=client"},
		{"approve", fixturePackage, "--dry-run=client"}, {"adopt", fixturePackage, "--dry-run=client"}, {"version"},
	}
}

// formatsOf are the formats that a command line takes.
func formatsOf(t *testing.T, args []string) []string {
	t.Helper()
	cmd, _, err := newApp(Config{Getenv: func(string) string { return "" }}).root().Find(args)
	if err != nil {
		t.Fatal(err)
	}
	list := strings.TrimPrefix(cmd.Flags().Lookup("output").Usage, "output format: ")
	example := strings.NewReplacer("jsonpath=TEMPLATE", "jsonpath={.kind}", "go-template=TEMPLATE", "go-template={{.kind}}", "custom-columns=HEAD:PATH,...", "custom-columns=KIND:.kind")
	return strings.Split(example.Replace(list), ", ")
}

// TestContract_SameCode: the exit code is the same, whatever the format.
func TestContract_SameCode(t *testing.T) {
	for _, fixture := range []string{"done", "bad_image", "collision", "paused", "deadline", "deleting", "no_revision"} {
		for _, args := range looks() {
			t.Run(fixture+"/"+strings.Join(args, "_"), func(t *testing.T) {
				tm := newTerminal(t, fixtureNamed(t, fixture))
				// Time has to pass for what waits.
				tm.now = time.Now
				want := tm.run(args...)
				for _, format := range formatsOf(t, args) {
					if got := tm.run(append(slices.Clone(args), "-o", format)...); got.code != want.code {
						t.Errorf("-o %s ends with %d, and without -o it is %d\nstderr:\n%s", format, got.code, want.code, got.err)
					}
				}
			})
		}
	}
}

// hostile is what a user may write into a cluster to get at the terminals of other users.
const hostile = "\x1b[31mred\x1b]0;title\x07\u009b2J\u202eevil\r\b"

// TestContract_Hostile: no control character of a cluster reaches a terminal, in no
// format, on neither stream.
func TestContract_Hostile(t *testing.T) {
	f := fixtureNamed(t, "bad_image")
	f.view.Package.Spec.Paused = &v1alpha1.Pause{By: hostile, Reason: hostile}
	for i := range f.view.Package.Status.Conditions {
		f.view.Package.Status.Conditions[i].Message += hostile
	}
	for i := range f.view.Revisions {
		r := &f.view.Revisions[i]
		r.Spec.Origin.Reason, r.Spec.Origin.AppVersion, r.Spec.Origin.Reference = hostile, hostile, hostile
		r.Annotations = map[string]string{v1alpha1.AnnotationPauseReason: hostile}
		for j := range r.Status.Objects {
			r.Status.Objects[j].Message, r.Status.Objects[j].Hint = hostile, hostile
		}
		r.Status.Flaps = []v1alpha1.Flap{{ObjectReference: v1alpha1.ObjectReference{Kind: hostile, Name: hostile}, Count: 1}}
		r.Status.Interference = []v1alpha1.Interference{{ObjectReference: istiod, Manager: hostile, Fields: []string{hostile}, LastSeen: metav1.NewTime(fixtureNow)}}
		for j := range r.Status.Conditions {
			r.Status.Conditions[j].Message += hostile
		}
	}
	for _, args := range append(looks(), []string{"__complete", "get", ""}, []string{"__complete", "rollback", fixturePackage, "--to", ""}) {
		t.Run(strings.Join(args, "_"), func(t *testing.T) {
			formats := []string{""}
			if args[0] != "__complete" {
				formats = append(formats, formatsOf(t, args)...)
			}
			tm := newTerminal(t, f)
			tm.now = time.Now
			for _, format := range formats {
				given := slices.Clone(args)
				if format != "" {
					given = append(given, "-o", strings.Replace(format, "{.kind}", "{}", 1))
				}
				r := tm.run(given...)
				if at := strings.IndexFunc(r.out+r.err, isControl); at >= 0 {
					t.Errorf("-o %s lets %q through", format, (r.out + r.err)[max(at-30, 0):min(at+30, len(r.out+r.err))])
				}
			}
		})
	}
}

// isControl says whether a terminal may take a character for a command, or show it in
// another place.
func isControl(r rune) bool {
	return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r))
}

// isLong says that a word is too long for lines to be blamed for it.
func isLong(word string) bool { return utf8.RuneCountInString(word) > 40 }

// TestCommands_Golden holds what the commands print to 80 columns and to golden files;
// those that are pure views have theirs in TestViews.
func TestCommands_Golden(t *testing.T) {
	assertions := file(t, "asserts.yaml", `apiVersion: cli.strata.run/v1alpha1
kind: Assertions
asserts:
- available: true
- phase: rbac-and-config
- phase: control-plane
- name: three phases
  cel: {expression: "self.status.phase == '3/3'"}
`)
	cases := map[string]struct {
		fixture string
		args    []string
	}{
		"get":           {"bad_image", []string{"get"}},
		"show":          {"done", []string{"show", fixturePackage, "3", "--object", "deployment/" + fixturePackage}},
		"wait":          {"done", []string{"wait", fixturePackage}},
		"wait_terminal": {"collision", []string{"wait", fixturePackage}},
		"assert":        {"bad_image", []string{"assert", fixturePackage, "-f", assertions}},
		"pause":         {"done", []string{"pause", fixturePackage, "--reason", "change freeze", "--by", "bob", "--until", "2h"}},
		"resume":        {"paused", []string{"resume", fixturePackage}},
		"archive":       {"bad_image", []string{"archive", fixturePackage, "3", "--yes"}},
		"delete":        {"done", []string{"delete", fixturePackage, "--yes"}},
		"rollback":      {"bad_image", []string{"rollback", fixturePackage, "--dry-run=client"}},
		"version":       {"done", []string{"version", "--client"}},
		"report":        {"done", []string{"report", "-f", filepath.Join(t.TempDir(), "bundle.zip")}},
		"not_found":     {"done", []string{"status", "nothing"}},
		"usage":         {"done", []string{"status"}},
		"options":       {"done", []string{"options"}},
		"help":          {"done", []string{"--help"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := newTerminal(t, fixtureNamed(t, tc.fixture)).run(tc.args...)
			text := shorten(fmt.Sprintf("%s\n-- stderr, exit code %d --\n%s", r.out, r.code, r.err))
			if name == "report" {
				text = strings.ReplaceAll(text, tc.args[2], "bundle.zip")
			}
			if name == "version" {
				text, _, _ = strings.Cut(text, " ")
			}
			for line := range strings.SplitSeq(r.out, "\n") {
				// A table that another program reads is as wide as it is.
				if n := utf8.RuneCountInString(line); n > 80 && name != "get" && !slices.ContainsFunc(strings.Fields(line), isLong) {
					t.Errorf("%d columns: %s", n, line)
				}
			}
			golden(t, "command_"+name, text)
		})
	}
}
