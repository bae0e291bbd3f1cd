// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

// yamlDocuments splits a stream into its documents.
type yamlDocuments struct {
	in     *bufio.Reader
	limits limits
	// line is that of the last line that was read, and rest is what stands behind the marker of a
	// document that has not been returned yet.
	line int
	rest []byte
	done bool
}

func newYAMLDocuments(in *bufio.Reader, l limits) *yamlDocuments {
	return &yamlDocuments{in: in, limits: l}
}

// next is the next document as JSON, and the line that it begins in. Its errors are as those of
// [jsonObjects.next].
func (d *yamlDocuments) next() ([]byte, int, error) {
	for !d.done {
		raw, from, values, err := d.document()
		switch {
		case err != nil:
			return nil, from, err
		case values == 0:
			continue
		case len(raw) > d.limits.blob:
			return raw[:d.limits.blob], from, &brokenError{text: fmt.Sprintf("the document has more than %d bytes", d.limits.blob)}
		case values > d.limits.values:
			return raw, from, &brokenError{text: fmt.Sprintf("the document has more than %d values", d.limits.values)}
		}
		if size, err := withoutAliases(raw); err != nil {
			return raw, from, &brokenError{text: yamlError(err, from)}
		} else if size > d.limits.blob {
			return raw, from, &brokenError{text: fmt.Sprintf("the document has more than %d bytes with its aliases", d.limits.blob)}
		}
		asJSON, err := yaml.YAMLToJSONStrict(raw)
		if err != nil {
			return raw, from, &brokenError{text: yamlError(err, from)}
		}
		if len(asJSON) > d.limits.blob {
			return raw, from, &brokenError{text: fmt.Sprintf("the document has more than %d bytes", d.limits.blob)}
		}
		if depth := nesting(asJSON); depth > d.limits.nesting {
			return raw, from, &brokenError{text: fmt.Sprintf("it is nested %d deep, more than %d", depth, d.limits.nesting)}
		}
		return asJSON, from, nil
	}
	return nil, d.line, io.EOF
}

// document reads to the next marker. It keeps a byte more than the limit of one that is too large,
// and counts lines and commas that may be values.
func (d *yamlDocuments) document() (raw []byte, from, values int, err error) {
	raw = append(raw, d.rest...)
	from = max(1, d.line)
	begun := len(raw) > 0
	if begun {
		values = 1 + bytes.Count(raw, []byte{','})
	}
	for {
		line, err := d.readLine()
		if errors.Is(err, io.EOF) {
			d.done = true
		} else if err != nil {
			return nil, from, 0, err
		}
		if rest, marker := cutMarker(line); marker {
			d.rest = rest
			return raw, from, values, nil
		}
		if text := bytes.TrimSpace(line); len(text) > 0 && text[0] != '#' {
			values += 1 + bytes.Count(line, []byte{','})
			if !begun {
				// What comes before is comments: line numbers of errors count from here.
				raw, from, begun = raw[:0], d.line, true
			}
		}
		if room := d.limits.blob + 1 - len(raw); room > 0 {
			raw = append(raw, line[:min(len(line), room)]...)
		}
		if d.done {
			return raw, from, values, nil
		}
	}
}

// cutMarker is what stands behind the marker that a document begins with.
func cutMarker(line []byte) ([]byte, bool) {
	rest, found := bytes.CutPrefix(line, []byte("---"))
	if !found || len(rest) > 0 && len(bytes.TrimLeft(rest[:1], " \t\r\n")) > 0 {
		return nil, false
	}
	if len(bytes.TrimSpace(rest)) == 0 {
		return nil, true
	}
	return bytes.Clone(rest), true
}

// readLine reads a line of any length, of which it keeps one byte more than the limit of a document.
func (d *yamlDocuments) readLine() ([]byte, error) {
	d.line++
	var whole []byte
	for {
		part, err := d.in.ReadSlice('\n')
		if whole == nil && !errors.Is(err, bufio.ErrBufferFull) {
			return part, err
		}
		whole = append(whole, part[:min(len(part), d.limits.blob+1-len(whole))]...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return whole, err
		}
	}
}

var yamlLine = regexp.MustCompile(`line \d+`)

// yamlError is the text of an error in one line, with lines counted from the beginning of the file.
func yamlError(err error, from int) string {
	text := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "error converting YAML to JSON: "), "yaml: ")
	text = yamlLine.ReplaceAllStringFunc(text, func(found string) string {
		line, err := strconv.Atoi(found[len("line "):])
		if err != nil {
			return found
		}
		return fmt.Sprintf("line %d", from+line-1)
	})
	return "it is no YAML: " + strings.Join(strings.Fields(text), " ")
}

var anchor = regexp.MustCompile(`(?:^|[\s\[{,])&[^\s&,\[\]{}]`)

// withoutAliases is how large a document is when each alias is replaced by what it stands for, which
// the conversion to JSON does without a limit. It is 0 for a document that has none.
func withoutAliases(raw []byte) (int, error) {
	if !anchor.Match(raw) {
		return 0, nil
	}
	document := yamlv3.Node{}
	if err := yamlv3.Unmarshal(raw, &document); err != nil {
		return 0, err
	}
	return sizeOf(&document, map[*yamlv3.Node]int{})
}

// sizeOf adds up the texts of a node, with those of each node once for every way to it.
func sizeOf(node *yamlv3.Node, known map[*yamlv3.Node]int) (int, error) {
	if size, found := known[node]; found {
		if size < 0 {
			return 0, fmt.Errorf("line %d: the anchor %q contains itself", node.Line, brief(node.Anchor))
		}
		return size, nil
	}
	known[node] = -1
	size := len(node.Value) + 1
	children := node.Content
	if node.Alias != nil {
		children = []*yamlv3.Node{node.Alias}
	}
	for _, child := range children {
		more, err := sizeOf(child, known)
		if err != nil {
			return 0, err
		}
		size = min(size+more, 1<<40)
	}
	known[node] = size
	return size, nil
}

// nesting is how deep brackets are nested in valid JSON.
func nesting(valid []byte) int {
	depth, deepest, text := 0, 0, false
	for i := 0; i < len(valid); i++ {
		switch c := valid[i]; {
		case text && c == '\\':
			i++
		case c == '"':
			text = !text
		case text:
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return deepest
}
