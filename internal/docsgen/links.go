// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"regexp"
	"strings"
	"unicode"
)

var (
	link  = regexp.MustCompile(`\[[^\]]*\]\(([^)\s]+)\)`)
	title = regexp.MustCompile(`^#{1,6} +(.+?) *$`)
)

// markdown is what is read of one Markdown file.
type markdown struct {
	anchors map[string]bool
	links   []target
}

// target is where a link leads to.
type target struct {
	line int
	text string
}

// checkLinks returns an error with every link between the files that leads
// nowhere. Links to other hosts are not followed.
func checkLinks(root fs.FS) error {
	files, err := readAll(root)
	if err != nil {
		return fmt.Errorf("reading Markdown files: %w", err)
	}
	if len(files) == 0 {
		return errors.New("reading Markdown files: there is none")
	}
	var dead []error
	for name, file := range files {
		for _, link := range file.links {
			if problem := follow(root, files, name, link.text); problem != "" {
				dead = append(dead, fmt.Errorf("%s:%d: link %s: %s", name, link.line, link.text, problem))
			}
		}
	}
	return errors.Join(dead...)
}

// readAll reads every Markdown file of the repository.
func readAll(root fs.FS) (map[string]markdown, error) {
	files := map[string]markdown{}
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if base := path.Base(name); base != "." && (strings.HasPrefix(base, ".") || base == "bin" || base == "testdata") {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(name) != ".md" {
			return nil
		}
		data, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		files[name] = readMarkdown(string(data))
		return nil
	})
	return files, err
}

// follow says what is wrong with a link, nothing if it leads somewhere.
func follow(root fs.FS, files map[string]markdown, from, link string) string {
	parsed, err := url.Parse(link)
	if err != nil {
		return err.Error()
	}
	if parsed.IsAbs() {
		return ""
	}
	to := from
	if parsed.Path != "" {
		to = path.Join(path.Dir(from), parsed.Path)
	}
	if _, err := fs.Stat(root, to); err != nil {
		return "there is no " + to
	}
	if parsed.Fragment == "" {
		return ""
	}
	if file, read := files[to]; !read || !file.anchors[parsed.Fragment] {
		return fmt.Sprintf("%s has no heading for #%s", to, parsed.Fragment)
	}
	return ""
}

// readMarkdown finds headings and links, outside of code.
func readMarkdown(text string) markdown {
	file := markdown{anchors: map[string]bool{}}
	inCode, number := false, 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			inCode = !inCode
			continue
		}
		if inCode {
			continue
		}
		if match := title.FindStringSubmatch(line); match != nil {
			file.anchors[anchor(match[1])] = true
		}
		for _, match := range link.FindAllStringSubmatch(withoutCode(line), -1) {
			file.links = append(file.links, target{line: number, text: match[1]})
		}
	}
	return file
}

// withoutCode drops what stands between backticks.
func withoutCode(line string) string {
	parts := strings.Split(line, "`")
	kept := make([]string, 0, len(parts))
	for i, part := range parts {
		if i%2 == 0 {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, "")
}

// anchor is the name that a heading gets: lower case, without punctuation, and
// with hyphens for spaces.
func anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		default:
			return -1
		}
	}, heading)
}
