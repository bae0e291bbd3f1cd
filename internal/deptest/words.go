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
var vague = regexp.MustCompile(`(?i)\b(somebody|someone|nobody|whoever|told|(is|are|was|were) given up|contest(s|ed)?|truce|yields?|foretells?|foretold)\b`)

// unread are packages whose comments are not looked at: this one lists the words.
var unread = []string{"internal/deptest"}

// wordless are packages whose texts are not looked at: scripts, and the words themselves.
var wordless = []string{"revisions/revisionstest", "internal/deptest"}

// Words finds vague words in the texts of programs (messages, help, events, rows of the
// reference) and tests, and in all comments.
func Words(packages []Package) []string {
	var problems []string
	for _, p := range packages {
		for i := range p.Files {
			file := &p.Files[i]
			if !allows(wordless, p.Folder) {
				problems = append(problems, vagueTexts(file)...)
			}
			if !allows(unread, p.Folder) {
				problems = append(problems, vagueComments(file)...)
			}
		}
	}
	return problems
}

func vagueTexts(file *File) (problems []string) {
	ast.Inspect(file.syntax, func(node ast.Node) bool {
		text, ok := node.(*ast.BasicLit)
		if ok && text.Kind == token.STRING {
			problems = append(problems, vagueIn(file.tokens.Position(text.Pos()).String(), text.Value)...)
		}
		return true
	})
	return problems
}

func vagueComments(file *File) (problems []string) {
	for _, comment := range file.syntax.Comments {
		// A comment is one text, as a line may end between two words.
		text := strings.Join(strings.Fields(comment.Text()), " ")
		problems = append(problems, vagueIn(file.tokens.Position(comment.Pos()).String(), text)...)
	}
	return problems
}

// Prose finds vague words in the README, the guides, the reference, the decisions and the other
// pages of the root.
func Prose(root fs.FS) ([]string, error) {
	var problems []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/guides/*.md", "docs/reference/*.md", "docs/decisions/*.md"} {
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
