// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package guide

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	cli "github.com/strata-run/strata/internal/cli/cmd"
)

// Guide is a page whose commands are run in their order. Every field is required, unless
// it says something else.
type Guide struct {
	// Path is the page's, absolute or from the folder of the test.
	Path string
	// Kubectl is the program that the command kubectl stands for. The command strata is
	// run in this process.
	Kubectl string
	// Programs are others that the page runs, by their names. Optional.
	Programs map[string]string
	// Kubeconfig is the file with the cluster and the user of all commands.
	Kubeconfig string
	// Update writes the output into the page where it says something else, instead of
	// comparing it. Optional.
	Update bool
}

// Run runs the commands, in a folder of their own that is gone after the test.
func (g Guide) Run(t *testing.T) {
	t.Helper()
	path, err := filepath.Abs(g.Path)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{Guide: g, t: t, folder: t.TempDir()}
	t.Chdir(r.folder)
	given := string(text)
	got := codeBlock.ReplaceAllStringFunc(given, r.block)
	if r.commands == 0 {
		t.Errorf("%s has no command to run", g.Path)
	}
	if g.Update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(steady(given), steady(got)); diff != "" {
		t.Errorf("the guide shows something else; run the test with -update, and read what has changed (-shown, +got):\n%s", diff)
	}
}

var (
	codeBlock = regexp.MustCompile("(?s)```(?:yaml|console)(?: \\d+)?\n.*?\n```")
	fileName  = regexp.MustCompile(`^# (\S+\.yaml)\n`)
)

// reader follows a guide.
type reader struct {
	Guide

	t        *testing.T
	folder   string
	commands int
}

// block carries out a block of code, and returns it with the output as it was.
func (r *reader) block(block string) string {
	head, body, _ := strings.Cut(block, "\n")
	body = strings.TrimSuffix(body, "```")
	if strings.HasPrefix(head, "```yaml") {
		r.write(body)
		return block
	}
	want := 0
	if _, number, found := strings.Cut(head, " "); found {
		want, _ = strconv.Atoi(number)
	}
	var out strings.Builder
	out.WriteString(head + "\n")
	for _, c := range commandsOf(body) {
		text, code := r.follow(c)
		if code != want {
			r.t.Errorf("%s exits with %d, want %d:\n%s", c.line, code, want, text)
		}
		out.WriteString("$ " + c.line + "\n" + text)
	}
	got := out.String() + "```"
	// What says the same keeps the times that it was written with.
	if steady(got) == steady(block) {
		return block
	}
	return got
}

// command is a command with the output that is shown.
type command struct{ line, shown string }

func commandsOf(body string) []command {
	var all []command
	for line := range strings.Lines(body) {
		if text, isCommand := strings.CutPrefix(line, "$ "); isCommand {
			all = append(all, command{line: strings.TrimSpace(text)})
		} else if len(all) > 0 {
			all[len(all)-1].shown += line
		}
	}
	return all
}

// patience is for how long a reader looks again until what he sees is what is shown. With
// Update he looks once, after a pause.
const (
	patience = time.Minute
	pause    = 2 * time.Second
)

// follow runs a command. What only looks at what controllers do is repeated until they have
// done it.
func (r *reader) follow(c command) (text string, code int) {
	args := words(c.line)
	looks := len(args) > 1 && args[0] == "kubectl" && args[1] == "get"
	if looks && r.Update {
		r.wait(pause)
	}
	for deadline := time.Now().Add(patience); ; r.wait(pause / 10) {
		if text, code = r.run(args); text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n" // as what a jsonpath prints
		}
		if !looks || r.Update || steady(text) == steady(c.shown) || time.Now().After(deadline) {
			return text, code
		}
	}
}

// wait lets the controllers work.
func (r *reader) wait(span time.Duration) {
	select {
	case <-time.After(span):
	case <-r.t.Context().Done():
	}
}

// write writes the file that a block shows, if it has a name.
func (r *reader) write(content string) {
	name := fileName.FindStringSubmatch(content)
	if name == nil {
		return
	}
	path := filepath.Join(r.folder, name[1])
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// words splits a command line as a shell does, as far as guides need it.
func words(line string) []string {
	var all []string
	var word strings.Builder
	var quote rune
	begun := false
	for _, letter := range line + " " {
		switch {
		case quote != 0 && letter == quote:
			quote = 0
		case quote == 0 && (letter == '"' || letter == '\''):
			quote, begun = letter, true
		case quote == 0 && letter == ' ':
			if begun {
				all = append(all, word.String())
			}
			word.Reset()
			begun = false
		default:
			word.WriteRune(letter)
			begun = true
		}
	}
	return all
}

// run runs a command and returns its output, stderr last, and its exit code.
func (r *reader) run(args []string) (string, int) {
	r.t.Helper()
	r.commands++
	var out, stderr bytes.Buffer
	program := r.Programs[args[0]]
	switch {
	case program != "":
	case args[0] == "kubectl":
		program = r.Kubectl
	case args[0] == "strata":
		code := cli.Run(r.t.Context(), cli.Config{
			Args: append([]string{"strata", "--kubeconfig", r.Kubeconfig}, args[1:]...), In: strings.NewReader(""), Out: &out, Err: &stderr,
			Getenv: func(string) string { return "" },
		})
		return out.String() + stderr.String(), int(code)
	default:
		r.t.Fatalf("a guide that is run has the commands strata and kubectl, and not %q", args[0])
	}
	cmd := exec.CommandContext(r.t.Context(), program, args[1:]...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+r.Kubeconfig)
	cmd.Stdout, cmd.Stderr = &out, &stderr
	err := cmd.Run()
	if cmd.ProcessState == nil {
		r.t.Fatal(err)
	}
	return out.String() + stderr.String(), cmd.ProcessState.ExitCode()
}

// changing is what is another one each time, and what stands for it.
var changing = []struct {
	pattern *regexp.Regexp
	with    string
}{
	// What moves, and which events there are, depends on when the command runs.
	{regexp.MustCompile(`(?m)^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ {2}.*\n`), ""},
	{regexp.MustCompile(`(?s)last events\n.*?\n {2}next `), "EVENTS"},
	{regexp.MustCompile(`(?m)^(Package|Revision) \S+ does not exist yet; waiting for it\.\n`), ""},
	// A pod that is asked for before its new namespace has a service account is asked for again.
	{regexp.MustCompile(`(?m)^\S+ +Warning +FailedCreate .*\n( {4}.*\n)*`), ""},
	{regexp.MustCompile(` Pending: [^.]*\.| +\(\d+ times\)`), ""},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`), "TIME"},
	{regexp.MustCompile(`https://127.0.0.1:\d+`), "HOST"},
	{regexp.MustCompile(`\b(web|istio-csr|greeter)-[a-z0-9]{6,10}-[a-z0-9]{5}\b`), "$1-POD"},
	{regexp.MustCompile(`\b(web|istio-csr|greeter)-[a-z0-9]{8,10}\b`), "$1-REPLICASET"},
	{regexp.MustCompile(`\b[0-9a-f]{12,64}\b`), "DIGEST"},
	{regexp.MustCompile(`\b\d+(\.\d+)?(ms|s|m|h|d)(\d+s)?\b`), "AGE"},
	{regexp.MustCompile(`time="[^"]*"|"seconds": [\d.]+|\b\d+(\.\d)? (KiB|B)\b`), "SIZE"},
	{regexp.MustCompile(`(?m)^ +`), " "},
	{regexp.MustCompile(`\s+`), " "},
}

// steady is a text without what is another one each time. Where lines end depends on it,
// so they are joined.
func steady(text string) string {
	for _, c := range changing {
		text = c.pattern.ReplaceAllString(text, c.with)
	}
	return strings.ReplaceAll(text, " ```", "\n```")
}
