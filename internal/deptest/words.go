// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package deptest

import (
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"regexp"
	"strings"
)

// vague are words that leave out who acts, or that are no words of Kubernetes, Helm or
// cert-manager.
var vague = regexp.MustCompile(`(?i)\b(somebody|someone|nobody|whoever|(is|are|was) told|(is|are) given up|contest(s|ed)?|truce|yields?|foretells?|foretold)\b`)

// wordless are packages of which users see no text.
var wordless = []string{"revisions/revisionstest", "internal/deptest", "test/..."}

// Words finds vague words in the texts of programs: messages, help, events, rows of the
// reference.
func Words(packages []Package) []string {
	var problems []string
	for _, p := range packages {
		if allows(wordless, p.Folder) {
			continue
		}
		for _, file := range p.Files {
			if file.IsTest {
				continue
			}
			ast.Inspect(file.syntax, func(node ast.Node) bool {
				text, ok := node.(*ast.BasicLit)
				if ok && text.Kind == token.STRING {
					problems = append(problems, vagueIn(file.tokens.Position(text.Pos()).String(), text.Value)...)
				}
				return true
			})
		}
	}
	return problems
}

// Prose finds vague words in the README, the guides, the reference and the other pages of the root.
func Prose(root fs.FS) ([]string, error) {
	var problems []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/guides/*.md", "docs/reference/*.md"} {
		names, err := fs.Glob(root, pattern)
		if err != nil {
			return nil, fmt.Errorf("listing %s: %w", pattern, err)
		}
		for _, name := range names {
			data, err := fs.ReadFile(root, name)
			if err != nil {
				return nil, fmt.Errorf("reading the documentation: %w", err)
			}
			problems = append(problems, vagueIn(name, string(data))...)
		}
	}
	return problems, nil
}

func vagueIn(place, text string) (problems []string) {
	for number, line := range strings.Split(text, "\n") {
		if found := vague.FindString(line); found != "" {
			problems = append(problems, fmt.Sprintf("%s, line %d of the text: %q: name the actor, in a word that Kubernetes uses", place, number+1, found))
		}
	}
	return problems
}
