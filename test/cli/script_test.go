// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/strata-run/strata/internal/content"
)

// schemas is where the schemas of documents are.
var schemas = filepath.Join("..", "..", "docs", "reference", "schemas")

func TestStories(t *testing.T) {
	folder, err := filepath.Abs(schemas)
	if err != nil {
		t.Fatal(err)
	}
	schemas = folder
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               prepareStory,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"code": wantCode, "kubectl": runKubectl, "schema": checkSchema, "columns": checkColumns, "as": runAs, "set": setVariable,
		},
	})
}

// prepareStory gives a story a kubeconfig of the cluster, and large.yaml, a manifest that is
// too large to stand in a revision.
func prepareStory(env *testscript.Env) error {
	config := filepath.Join(env.WorkDir, "admin.kubeconfig")
	if err := plane.WriteKubeconfig(config, "admin-of-stories", "system:masters"); err != nil {
		return err
	}
	large := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: large}\ndata:\n  text: " + strings.Repeat("large ", content.InlineLimit) + "\n"
	if err := os.WriteFile(filepath.Join(env.WorkDir, "large.yaml"), []byte(large), 0o600); err != nil {
		return err
	}
	env.Setenv("KUBECONFIG", config)
	env.Setenv("HOME", env.WorkDir)
	return nil
}

// wantCode runs a command and wants an exit code.
func wantCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N COMMAND [ARGUMENT...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	err = ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// runKubectl runs kubectl as admin.
func runKubectl(ts *testscript.TestScript, neg bool, args []string) {
	err := ts.Exec(binaries.Path("kubectl"), append([]string{"--kubeconfig", filepath.Join(ts.Getenv("WORK"), "admin.kubeconfig")}, args...)...)
	switch {
	case neg && err == nil:
		ts.Fatalf("kubectl has succeeded")
	case !neg:
		ts.Check(err)
	}
}

// runAs makes a user run what follows.
func runAs(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: as USER")
	}
	config := filepath.Join(ts.Getenv("WORK"), args[0]+".kubeconfig")
	if args[0] != "admin" {
		ts.Check(plane.WriteKubeconfig(config, args[0]))
	}
	ts.Setenv("KUBECONFIG", config)
}

// setVariable sets a variable to what the last command has written.
func setVariable(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: set VARIABLE")
	}
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile("stdout")))
}

// checkSchema checks stdout against the published schema of a document: JSON, or a JSON
// document a line.
func checkSchema(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: schema KIND")
	}
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join(schemas, args[0]+".json"))
	ts.Check(err)
	text := ts.ReadFile("stdout")
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		ts.Fatalf("stdout is no JSON: %v\n%s", err, text)
	}
	if err := schema.Validate(document); err != nil {
		ts.Fatalf("stdout is no %s: %v", args[0], err)
	}
}

// checkColumns wants stdout to fit a width.
func checkColumns(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: columns N")
	}
	most, err := strconv.Atoi(args[0])
	ts.Check(err)
	for line := range strings.SplitSeq(ts.ReadFile("stdout"), "\n") {
		if n := utf8.RuneCountInString(line); n > most {
			ts.Fatalf("%d columns, more than %d: %s", n, most, line)
		}
	}
}

func TestSchemas_AreThere(t *testing.T) {
	names, err := filepath.Glob(filepath.Join("..", "..", "docs", "reference", "schemas", "*.json"))
	if err != nil || len(names) < 15 {
		t.Fatalf("%d schemas, %v", len(names), err)
	}
	for _, name := range names {
		if _, err := jsonschema.NewCompiler().Compile(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(data), fmt.Sprintf("%q: %q", "const", strings.TrimSuffix(filepath.Base(name), ".json"))) {
			t.Errorf("%s does not say which kind it is for", name)
		}
	}
}
