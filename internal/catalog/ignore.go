// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"path"
	"strings"
)

// ignoreFile is the name of the files that say which others are not part of a catalog, in the
// syntax of gitignore. One counts for its folder and those below.
const ignoreFile = ".indexignore"

// ignorePattern is a line of such a file.
type ignorePattern struct {
	// folder is that of the file.
	folder string
	// segments are the parts of a path that the line names, relative to the folder.
	segments []string
	// include is a line with an exclamation mark, which takes back what lines before it say.
	include bool
	// folders is a line that only names folders.
	folders bool
}

// parseIgnore reads the file of a folder.
func parseIgnore(folder, text string) []ignorePattern {
	var patterns []ignorePattern
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if !strings.HasSuffix(line, `\ `) {
			line = strings.TrimRight(line, " \t")
		}
		if line == "" || line[0] == '#' {
			continue
		}
		p := ignorePattern{folder: folder}
		line, p.include = strings.CutPrefix(line, "!")
		line, p.folders = strings.CutSuffix(line, "/")
		p.segments = strings.Split(line, "/")
		switch {
		case len(p.segments) == 1: // a name counts at any depth
			p.segments = []string{"**", line}
		case p.segments[0] == "":
			p.segments = p.segments[1:]
		}
		patterns = append(patterns, p)
	}
	return patterns
}

// ignores is whether the patterns leave a path out; the last one that matches counts.
func ignores(patterns []ignorePattern, name string, folder bool) bool {
	ignored := path.Base(name) == ignoreFile
	for _, p := range patterns {
		relative := name
		if p.folder != "." {
			below, found := strings.CutPrefix(name, p.folder+"/")
			if !found {
				continue
			}
			relative = below
		}
		if (folder || !p.folders) && matchSegments(p.segments, strings.Split(relative, "/")) {
			ignored = !p.include
		}
	}
	return ignored
}

func matchSegments(pattern, name []string) bool {
	if len(pattern) == 0 {
		return len(name) == 0
	}
	if pattern[0] == "**" {
		if len(pattern) == 1 {
			return len(name) > 0
		}
		for skipped := range name {
			if matchSegments(pattern[1:], name[skipped:]) {
				return true
			}
		}
		return false
	}
	if len(name) == 0 {
		return false
	}
	// A pattern that is malformed matches nothing, as in git.
	matched, err := path.Match(pattern[0], name[0])
	return err == nil && matched && matchSegments(pattern[1:], name[1:])
}
