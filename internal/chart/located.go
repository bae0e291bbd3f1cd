// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"bytes"
	"regexp"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// Located is an object and where it stands.
type Located struct {
	// Object is the object, without status and what only an API server sets.
	Object *unstructured.Unstructured
	// File is what the file is called, and Line where the object's document begins, from
	// 1.
	File string
	Line int
	// text is the document, from Line on; unset where it has several objects.
	text []byte
}

// LineOf is the first line of the object's document that has a text, or where the
// document begins.
func (l Located) LineOf(text string) int {
	if at := bytes.Index(l.text, []byte(text)); at >= 0 {
		return l.Line + bytes.Count(l.text[:at], []byte("\n"))
	}
	return l.Line
}

// Problem is a document that cannot be used.
type Problem struct {
	// File and Line say where it begins.
	File string
	Line int
	// Err says what is wrong with it.
	Err error
}

// Locate parses a file as [Manifests] does, and goes on where something is wrong: it
// returns what can be used, in the order of the file, and every problem. That an object
// stands there twice is none.
func Locate(name string, data []byte) (objects []Located, problems []Problem) {
	for _, doc := range split(data) {
		leading := leadingLines(doc.text)
		line := doc.lines + 1 + leading
		problem := func(err error) {
			problems = append(problems, Problem{File: name, Line: lineOf(err, line), Err: err})
		}
		content, err := doc.parse(yaml.YAMLToJSONStrict)
		if err != nil {
			problem(err)
			continue
		}
		items, err := expand(content)
		if err != nil {
			problem(err)
			continue
		}
		for _, item := range items {
			object := &unstructured.Unstructured{Object: item}
			if err := check(object); err != nil {
				problem(err)
				continue
			}
			if hookOf(object) != "" {
				continue
			}
			sanitise(object)
			located := Located{Object: object, File: name, Line: line}
			if len(items) == 1 {
				located.text = doc.text[offsetOf(doc.text, leading):]
			}
			objects = append(objects, located)
		}
	}
	return objects, problems
}

// offsetOf is where the text stands that follows a number of lines.
func offsetOf(text []byte, lines int) int {
	offset := 0
	for line := range bytes.Lines(text) {
		if lines == 0 {
			break
		}
		lines, offset = lines-1, offset+len(line)
	}
	return offset
}

// yamlLine finds the line in an error of the parser.
var yamlLine = regexp.MustCompile(`\bline (\d+)`)

// lineOf is the line that an error names, else the one given.
func lineOf(err error, line int) int {
	if found := yamlLine.FindStringSubmatch(err.Error()); found != nil {
		if n, err := strconv.Atoi(found[1]); err == nil {
			return n
		}
	}
	return line
}

// leadingLines is how many lines a document begins with that hold nothing or a comment.
func leadingLines(text []byte) int {
	n := 0
	for line := range bytes.Lines(text) {
		trimmed := bytes.TrimSpace(line)
		if len(trimmed) > 0 && trimmed[0] != '#' {
			return n
		}
		n++
	}
	return 0
}
