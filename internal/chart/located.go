// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	yamlnode "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// Located is an object and where it stands.
type Located struct {
	// Object is the object, without status and what only an API server sets.
	Object *unstructured.Unstructured
	// File is what the file is called, and Line where the object begins in it, from 1: its
	// document, or its item of a List.
	File string
	Line int
	// text is the object's, from Line on.
	text []byte
}

// LineOf is the first line of the object that has a text, or where the object begins.
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
	// document is the line at which the document begins, 0 when Err names the line.
	document int
}

// named is the problem with the name of the file, and the line of the document unless the
// problem names one.
func (p Problem) named() error {
	if p.document == 0 {
		return fmt.Errorf("%s: %w", p.File, p.Err)
	}
	return fmt.Errorf("%s: the document at line %d: %w", p.File, p.document, p.Err)
}

// Locate parses a file as [Manifests] does, and goes on where something is wrong: it
// returns what can be used, in the order of the file, and every problem. That an object
// stands there twice is none.
func Locate(name string, data []byte) (objects []Located, problems []Problem) {
	return locate(name, data, yaml.YAMLToJSONStrict)
}

func locate(name string, data []byte, decode decoder) (objects []Located, problems []Problem) {
	for _, doc := range split(data) {
		leading := leadingLines(doc.text)
		first := doc.lines + 1 + leading
		content, err := doc.parse(decode)
		if err != nil {
			problems = append(problems, Problem{File: name, Line: lineOf(err, first), Err: err})
			continue
		}
		items, err := expand(content)
		if err != nil {
			problems = append(problems, Problem{File: name, Line: lineOf(err, first), Err: err, document: doc.lines + 1})
			continue
		}
		texts := []stretch{{from: leading, to: bytes.Count(doc.text, []byte("\n")) + 1}}
		if isListed(content) {
			texts = itemTexts(doc.text, texts[0], len(items))
		}
		for i, item := range items {
			object := &unstructured.Unstructured{Object: item}
			located := Located{Object: object, File: name, Line: doc.lines + 1 + texts[i].from, text: texts[i].of(doc.text)}
			if err := check(object); err != nil {
				problems = append(problems, Problem{File: name, Line: lineOf(err, located.Line), Err: err, document: doc.lines + 1})
				continue
			}
			// No other hooks than those for tests of the chart pass the check.
			if hookOf(object) != "" {
				continue
			}
			sanitise(object)
			objects = append(objects, located)
		}
		if len(objects) > MaxObjects {
			return nil, []Problem{{File: name, Line: first, Err: fmt.Errorf("more than %d objects", MaxObjects)}}
		}
	}
	return objects, problems
}

// stretch are lines of a document, counted from 0; the last one is not among them.
type stretch struct{ from, to int }

func (s stretch) of(text []byte) []byte {
	from := offsetOf(text, s.from)
	return text[from : from+offsetOf(text[from:], s.to-s.from)]
}

// itemTexts says where the items of a List stand.
func itemTexts(text []byte, whole stretch, objects int) []stretch {
	var items []stretch
	var root yamlnode.Node
	if yamlnode.Unmarshal(text, &root) == nil && len(root.Content) == 1 {
		items = itemsOf(root.Content[0], whole)
	}
	if len(items) != objects {
		// An alias may stand for the items: then they have no place of their own.
		items = slices.Repeat([]stretch{whole}, objects)
	}
	return items
}

// itemsOf are the stretches of the objects in a node, in the order of [expand].
func itemsOf(node *yamlnode.Node, within stretch) []stretch {
	fields := map[string]*yamlnode.Node{}
	for i := 0; i+1 < len(node.Content) && node.Kind == yamlnode.MappingNode; i += 2 {
		fields[node.Content[i].Value] = node.Content[i+1]
	}
	kind, version, listed := fields["kind"], fields["apiVersion"], fields["items"]
	if kind == nil || version == nil || kind.Value != "List" || version.Value != "v1" {
		return []stretch{within}
	}
	if listed == nil {
		return nil
	}
	var all []stretch
	items := listed.Content
	for i, item := range items {
		own := stretch{from: item.Line - 1, to: within.to}
		if i+1 < len(items) {
			own.to = items[i+1].Line - 1
		}
		all = append(all, itemsOf(item, own)...)
	}
	return all
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

// leadingLines is how many lines a document begins with that contain nothing or a comment.
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
