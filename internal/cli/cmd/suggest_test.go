// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import "testing"

// TestManners types what users of kubectl and Helm type.
func TestManners(t *testing.T) {
	tm := newTerminal(t, fixtureNamed(t, "rolled_back"))
	cases := map[string]struct {
		args     []string
		code     Code
		out, err string
	}{
		"List":           {args: []string{"list", "-A"}, out: fixturePackage},
		"Ls":             {args: []string{"ls"}, out: fixturePackage},
		"Type":           {args: []string{"get", "packages"}, out: fixturePackage},
		"TypeAndName":    {args: []string{"get", "pkg", fixturePackage}, out: fixturePackage},
		"Namespace":      {args: []string{"get", "-n", "x"}, out: fixturePackage, err: "packages have no namespace"},
		"Columns":        {args: []string{"get", "-o", "custom-columns=NAME:.metadata.name,TO:status.targetRevision,NO:.nothing"}, out: "NAME                       TO   NO\n" + fixturePackage + "   4    <none>\n"},
		"ColumnsWrong":   {args: []string{"get", "-o", "custom-columns=NAME"}, code: CodeUsage, err: `"NAME" is not HEAD:PATH`},
		"GoTemplate":     {args: []string{"get", "-o", "go-template={{range .items}}{{.metadata.name}}{{end}}"}, out: fixturePackage + "\n"},
		"OfADocument":    {args: []string{"history", fixturePackage, "-o", "go-template={{len .revisions}}"}, out: "4\n"},
		"Undo":           {args: []string{"undo", fixturePackage, "1", "--dry-run=client"}, out: "to the content of\nrevision 1"},
		"ToRevision":     {args: []string{"rollback", fixturePackage, "--to-revision", "1", "--dry-run=client"}, out: "Nothing was changed"},
		"TwoTargets":     {args: []string{"rollback", fixturePackage, "1", "--to", "2"}, code: CodeUsage, err: "give one"},
		"NoRevision":     {args: []string{"rollback", fixturePackage, "x"}, code: CodeUsage, err: `"x" is not a revision`},
		"Fields":         {args: []string{"rollback", fixturePackage, "1", "--dry-run=client"}, out: ".spec.image"},
		"Install":        {args: []string{"install"}, code: CodeUsage, err: "apply"},
		"Describe":       {args: []string{"describe", "x"}, code: CodeUsage, err: "explain"},
		"Flag":           {args: []string{"rollback", fixturePackage, "--allow-fail"}, code: CodeUsage, err: "did you mean --allow-failed?"},
		"Kustomization":  {args: []string{"apply", "web", "-k", "overlays/prod"}, code: CodeUsage, err: "kubectl kustomize overlays/prod | strata COMMAND -f -"},
		"Version":        {args: []string{"--version"}, out: "Client: "},
		"CompleteFor":    {args: []string{"__complete", "wait", fixturePackage, "--for", "ph"}, out: "phase="},
		"CompleteState":  {args: []string{"__complete", "get", "--state", ""}, out: "RollingOut"},
		"CompleteObject": {args: []string{"__complete", "show", fixturePackage, "--object", "deployment"}, out: "deployment.apps/" + fixturePackage},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tm.run(tc.args...).wants(t, tc.code, tc.out, tc.err)
		})
	}
}
