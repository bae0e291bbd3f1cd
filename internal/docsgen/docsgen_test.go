// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func files(contents map[string]string) fstest.MapFS {
	root := fstest.MapFS{}
	for name, content := range contents {
		root[name] = &fstest.MapFile{Data: []byte(content)}
	}
	return root
}

func TestCheckLinks(t *testing.T) {
	const guide = "# Guide\n\n## How it's done: `x`\n"
	cases := map[string]struct {
		reason string
		files  map[string]string
		want   []string // a part of each problem; none means that all is well
	}{
		"Good": {
			reason: "files, folders, headings and other hosts are all right",
			files: map[string]string{
				"README.md":     "[a](docs/guide.md) [b](docs) [c](docs/guide.md#how-its-done-x) [d](#top) [e](https://strata.run/x)\n\n# Top\n",
				"docs/guide.md": guide + "[up](../README.md#top)",
			},
		},
		"NoFile": {
			reason: "a file that is gone is named with the line of the link",
			files:  map[string]string{"README.md": "\n[a](docs/gone.md)"},
			want:   []string{"README.md:2: link docs/gone.md: there is no docs/gone.md"},
		},
		"NoHeading": {
			reason: "a heading that is gone is a dead link as well",
			files:  map[string]string{"README.md": "[a](guide.md#when) [b](#when)", "guide.md": guide},
			want:   []string{"guide.md has no heading for #when", "README.md has no heading for #when"},
		},
		"Code": {
			reason: "what stands in code is no link",
			files:  map[string]string{"README.md": "`[a](gone)`\n```text\n[b](gone)\n# no heading\n```\n"},
		},
		"Nothing": {
			reason: "without Markdown the check would pass in the wrong folder",
			files:  map[string]string{"x.txt": ""}, want: []string{"there is none"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			problems := ""
			if err := checkLinks(files(tc.files)); err != nil {
				problems = err.Error()
			}
			for _, want := range tc.want {
				if !strings.Contains(problems, want) {
					t.Errorf("%s: no %q in %q", tc.reason, want, problems)
				}
			}
			if len(tc.want) == 0 && problems != "" {
				t.Errorf("%s: %s", tc.reason, problems)
			}
		})
	}
}

func TestMeaningOfConstant(t *testing.T) {
	cases := map[string]struct {
		reason, name, comment string
		status, meaning       string
	}{
		"Label":     {reason: "the Go name is left out", name: "LabelX", comment: "LabelX stands on x, see [LabelY].", meaning: "Stands on x, see LabelY."},
		"Reason":    {reason: "the status before a colon is found", name: "ReasonX", comment: "ReasonX (False): it is not.", status: "False", meaning: "It is not."},
		"OnPackage": {reason: "a reason may be of one kind", name: "ReasonX", comment: "ReasonX (True, on a Package): it is.", status: "True (Package)", meaning: "It is."},
		"Field":     {reason: "a field's path keeps its spelling", name: "ReasonX", comment: "ReasonX (False): spec.x is not.", status: "False", meaning: "spec.x is not."},
		"Empty":     {reason: "a constant without a comment has no meaning", name: "X"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			status, meaning := meaningOfConstant(tc.name, tc.comment)
			if status != tc.status || meaning != tc.meaning {
				t.Errorf("%s: %q, %q, want %q, %q", tc.reason, status, meaning, tc.status, tc.meaning)
			}
		})
	}
}

func TestAPIPage(t *testing.T) {
	page, err := apiPage(files(map[string]string{"g_things.yaml": `
spec:
  group: g.example
  scope: Cluster
  names: {kind: Thing, plural: things, shortNames: [th]}
  versions:
  - name: v1
    additionalPrinterColumns:
    - {name: Age, jsonPath: .metadata.creationTimestamp}
    schema:
      openAPIV3Schema:
        description: Thing is a thing.
        properties:
          kind: {type: string, description: not shown}
          spec:
            type: object
            required: [mode]
            x-kubernetes-validations: [{rule: x, message: mode is immutable}]
            properties:
              mode: {type: string, enum: [A, B], description: "Mode is | or."}
              list: {type: array, items: {type: object, properties: {at: {type: string, format: date-time}}}}
`}), files(map[string]string{"front/g_others.yaml": "spec: {}"}))
	if err != nil {
		t.Fatal(err)
	}
	_, got, _ := strings.Cut(page, "\n## ")
	want := "Thing\n\nThing is a thing.\n\n`apiVersion: g.example/v1`, scope Cluster; `kubectl get things` or `th`.\n\n" +
		"| column | shows |\n|---|---|\n| AGE | `.metadata.creationTimestamp` |\n\n" +
		"| field | type | meaning |\n|---|---|---|\n| `spec` | object |  |\n| `spec.list` | list of object |  |\n| `spec.list[].at` | time |  |\n" +
		"| `spec.mode` | string | Mode is \\| or. Required. One of `A`, `B`. |\n\n" +
		"The API server refuses, with the message on the right:\n\n| at | message |\n|---|---|\n| `spec` | mode is immutable |\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if _, err := apiPage(files(nil), files(nil)); err == nil {
		t.Error("a page of no definitions must be an error: the folder is the wrong one")
	}
}

func TestCommandPages(t *testing.T) {
	first, err := commandPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for page, text := range map[string]string{
		"cli/strata.md":          "[strata rollback](strata_rollback.md)",
		"cli/strata_rollback.md": "strata rollback PACKAGE",
	} {
		if !strings.Contains(first[page], text) {
			t.Errorf("page %s does not hold %q", page, text)
		}
	}
	second, err := commandPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("the same command line gives other pages: -first +second\n%s", diff)
	}
}
