// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/strata-run/strata/internal/cli"
)

var update = flag.Bool("update", false, "write the output into the guide anew")

// guide answers each task of a user with a command.
var guide = filepath.Join("..", "..", "docs", "guides", "tasks.md")

// TestGuide_Tasks runs the commands of the guide in their order. Each block of code is
// one of
//
//	```yaml            a file, whose name is the comment in its first line
//	```console [N]     lines that begin with "$ " are run, and must end with the exit code
//	                   N, 0 without it; the output must be what follows, but for times,
//	                   generated names and digests
func TestGuide_Tasks(t *testing.T) {
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{t: t, folder: t.TempDir()}
	r.config = filepath.Join(r.folder, "kubeconfig")
	if err := plane.WriteKubeconfig(r.config, "alice", "system:masters"); err != nil {
		t.Fatal(err)
	}
	t.Chdir(r.folder)
	given := string(text)
	got := codeBlock.ReplaceAllStringFunc(given, r.block)
	if *update {
		if err := os.WriteFile(r.guide(), []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(steady(given), steady(got)); diff != "" {
		t.Errorf("the guide shows something else; run the test with -update, and read what has changed (-shown, +got):\n%s", diff)
	}
}

var codeBlock = regexp.MustCompile("(?s)```(?:yaml|console)(?: \\d+)?\n.*?\n```")

// reader follows the guide.
type reader struct {
	t              *testing.T
	folder, config string
}

// here is where the tests are, found before the folder is changed.
var here, _ = os.Getwd()

func (r *reader) guide() string { return filepath.Join(here, guide) }

// block carries out a block of code, and returns it with the output as it was.
func (r *reader) block(block string) string {
	head, body, _ := strings.Cut(block, "\n")
	body = strings.TrimSuffix(body, "```")
	if strings.HasPrefix(head, "```yaml") {
		name, _, _ := strings.Cut(strings.TrimPrefix(body, "# "), "\n")
		path := filepath.Join(r.folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			r.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
			r.t.Fatal(err)
		}
		return block
	}
	want := 0
	if _, number, found := strings.Cut(head, " "); found {
		want, _ = strconv.Atoi(number)
	}
	out := head + "\n"
	for line := range strings.Lines(body) {
		command, isCommand := strings.CutPrefix(line, "$ ")
		if !isCommand {
			continue
		}
		text, code := r.run(words(strings.TrimSpace(command)))
		if code != want {
			r.t.Errorf("%s exits with %d, want %d:\n%s", strings.TrimSpace(command), code, want, text)
		}
		out += line + text
	}
	return out + "```"
}

// words splits a command line as a shell does, as far as the guide needs it.
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
	var out, stderr bytes.Buffer
	if args[0] == "strata" {
		code := cli.Run(r.t.Context(), cli.Config{
			Args: append([]string{"strata", "--kubeconfig", r.config}, args[1:]...), In: strings.NewReader(""), Out: &out, Err: &stderr,
			Getenv: func(string) string { return "" },
		})
		return out.String() + stderr.String(), int(code)
	}
	cmd := exec.CommandContext(r.t.Context(), binaries.Path("kubectl"), args[1:]...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+r.config)
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
	// What moves, and which events there are, depends on when somebody looks.
	{regexp.MustCompile(`(?m)^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ {2}.*\n`), ""},
	{regexp.MustCompile(`(?s)last events\n.*?\n {2}next `), "EVENTS"},
	{regexp.MustCompile(` Pending: [^.]*\.| +\(\d+ times\)`), ""},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`), "TIME"},
	{regexp.MustCompile(`https://127.0.0.1:\d+`), "HOST"},
	{regexp.MustCompile(`\bweb-[a-z0-9]{6,10}-[a-z0-9]{5}\b`), "POD"},
	{regexp.MustCompile(`\bweb-[a-z0-9]{8,10}\b`), "REPLICASET"},
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
	return strings.ReplaceAll(text, " ```", fmt.Sprintf("\n%s", "```"))
}

// TestReadme_LeadsToGuides: every guide can be found from the first page, and the guide
// that is run shows every command of the stories there.
func TestReadme_LeadsToGuides(t *testing.T) {
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	readme := string(text)
	guides, err := filepath.Glob(filepath.Join(root, "docs", "guides", "*.md"))
	if err != nil || len(guides) == 0 {
		t.Fatal(guides, err)
	}
	for _, name := range guides {
		if !strings.Contains(readme, "docs/guides/"+filepath.Base(name)) {
			t.Errorf("README.md has no link to %s", name)
		}
	}
	tasks, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	_, stories, found := strings.Cut(readme, "## Three people, three stories")
	stories, _, _ = strings.Cut(stories, "\n## ")
	verbs := regexp.MustCompile(`(?m)^strata (\S+)`).FindAllStringSubmatch(stories, -1)
	if !found || len(verbs) < 8 {
		t.Fatalf("the stories of README.md show %d commands", len(verbs))
	}
	for _, verb := range verbs {
		if !strings.Contains(string(tasks), "\n$ strata "+verb[1]+" ") {
			t.Errorf("README.md shows %s, and no guide that is run does", verb[0])
		}
	}
}
