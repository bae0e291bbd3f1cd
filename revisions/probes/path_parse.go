// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxPathLength is the largest length of a path, in bytes.
const MaxPathLength = 1024

// maxIndex bounds the index of a list entry. No list of an object is that long;
// the bound only keeps the number in an int.
const maxIndex = 1<<31 - 1

// PathError says why and where a text is no path.
type PathError struct {
	// Path is the text as given.
	Path string
	// Position is the byte, counted from 1, at which reading stopped. It is one
	// more than the length when the text ends too early.
	Position int
	// Reason says what is wrong there and, where it helps, how to write it.
	Reason string
}

// Error names the path, the position and the reason.
func (e *PathError) Error() string {
	return fmt.Sprintf("parsing path %q: position %d: %s", cut(e.Path, maxForeign), e.Position, e.Reason)
}

// ParsePath reads a path:
//
//	.spec.replicas                              fields, the first dot may be left out
//	.metadata.annotations["a.b/c"]              a name with other characters than letters, digits, "_" and "-"
//	.spec.template.spec.containers[0].image     an entry of a list by its place, from 0
//	.status.conditions[type=Ready].status       the first entry whose field has this value
//	.spec.ports[name="a b"].port                the value quoted
//	.spec.ports[port=80,protocol=TCP].name      the first entry whose fields all have these values
//	.metadata.finalizers[="a.b/c"]              the entry with this value, in a list of plain values
//
// Quoted text is in double quotes with the escapes of a Go string, or in single
// quotes without escapes. Where several fields name an entry, one without the field
// protocol has TCP, as ports have in Kubernetes. Wildcards, filters and negative indexes are not part of
// the language: a path names at most one value. The error is a *PathError.
func ParsePath(text string) (Path, error) {
	steps, spelled, err := parseSteps(&pathParser{text: text})
	return Path{text: spelled, steps: steps}, err
}

// parseSteps reads the whole text, and spells what it has read.
func parseSteps(p *pathParser) ([]step, string, error) {
	if len(p.text) > MaxPathLength {
		return nil, "", &PathError{Path: p.text, Position: MaxPathLength + 1, Reason: fmt.Sprintf("the path is longer than %d bytes", MaxPathLength)}
	}
	steps := p.path()
	if p.err != nil {
		return nil, "", p.err
	}
	spelled := canonical(steps)
	if len(spelled) > MaxPathLength {
		return nil, "", &PathError{Path: p.text, Position: len(p.text) + 1, Reason: fmt.Sprintf("the path with its quoted names escaped is longer than %d bytes", MaxPathLength)}
	}
	return steps, spelled, nil
}

// pathParser reads text from pos on. Once err is set, nothing is read any more.
type pathParser struct {
	text string
	// pattern lets [*] stand for every entry, and no index: what other managers add to a list
	// would change which entry is meant.
	pattern bool
	pos     int
	err     *PathError
}

func (p *pathParser) path() []step {
	if p.text == "" {
		p.fail("the path is empty")
	}
	var steps []step
	for p.err == nil && p.pos < len(p.text) {
		switch {
		case p.skip('['):
			steps = append(steps, p.bracket())
		case p.skip('.'), len(steps) == 0:
			steps = append(steps, step{kind: stepKey, key: p.name()})
		default:
			p.failUnexpected(`"." or "["`)
		}
	}
	return steps
}

// bracket reads what follows an opening bracket, with the closing one.
func (p *pathParser) bracket() step {
	var s step
	switch c := p.peek(); {
	case c == '"' || c == '\'':
		s = step{kind: stepKey, key: p.quoted()}
	case p.pattern && c == '*':
		p.pos++
		s = step{kind: stepEvery}
	case !p.pattern && c >= '0' && c <= '9':
		s = step{kind: stepIndex, index: p.index()}
	case p.skip('='):
		s = step{kind: stepEntry, keys: []entryKey{{value: p.entryValue()}}}
	case isNameByte(c) && c != '-' && (c < '0' || c > '9'):
		s = step{kind: stepEntry, keys: p.entryKeys()}
	case p.pattern && c >= '0' && c <= '9':
		p.fail("a place says nothing of which entry it is, as others may add some: write [*] or [name=value]")
	case p.pattern:
		p.failUnexpected(`a quoted name, * or name=value`)
	default:
		p.failUnexpected(`a quoted name, an index or name=value`)
	}
	if p.err == nil && !p.skip(']') {
		p.failUnexpected(`"]"`)
	}
	return s
}

// entryKeys reads name=value, and further ones behind commas. Their order says nothing.
func (p *pathParser) entryKeys() []entryKey {
	var keys []entryKey
	for more := true; more && p.err == nil; more = p.skip(',') {
		start := p.pos
		key := entryKey{field: p.name()}
		if p.err == nil && !p.skip('=') {
			p.failUnexpected(`"=" (a field name in brackets is quoted: ["name"])`)
		}
		key.value = p.entryValue()
		at, twice := slices.BinarySearchFunc(keys, key, func(a, b entryKey) int { return strings.Compare(a.field, b.field) })
		if p.err == nil && twice {
			p.pos = start
			p.fail("the field " + key.field + " is given twice")
		}
		keys = slices.Insert(keys, at, key)
	}
	return keys
}

func (p *pathParser) name() string {
	return p.run(isNameByte, `a field name (other characters than letters, digits, "_" and "-" are quoted: ["a.b/c"])`)
}

func (p *pathParser) entryValue() string {
	if c := p.peek(); c == '"' || c == '\'' {
		return p.quoted()
	}
	return p.run(isValueByte, "a value (with other characters it is quoted)")
}

func (p *pathParser) index() int {
	start := p.pos
	digits := p.run(func(c byte) bool { return c >= '0' && c <= '9' }, "an index")
	n, err := strconv.ParseUint(digits, 10, 64)
	if p.err == nil && (err != nil || n > maxIndex) {
		p.pos = start
		p.fail(fmt.Sprintf("the index is larger than %d", maxIndex))
		return 0
	}
	return int(n)
}

// run reads at least one character of a class.
func (p *pathParser) run(class func(byte) bool, want string) string {
	start := p.pos
	for p.err == nil && p.pos < len(p.text) && class(p.text[p.pos]) {
		p.pos++
	}
	if p.err == nil && p.pos == start {
		p.failUnexpected(want)
	}
	return p.text[start:p.pos]
}

// quoted reads a text in quotes.
func (p *pathParser) quoted() string {
	if p.err != nil {
		return ""
	}
	rest := p.text[p.pos:]
	if rest[0] == '\'' {
		end := strings.IndexByte(rest[1:], '\'')
		if end < 0 {
			p.fail("the quote is not closed")
			return ""
		}
		p.pos += end + len("''")
		return rest[1 : 1+end]
	}
	prefix, err := strconv.QuotedPrefix(rest)
	if err != nil {
		p.fail("the quote is not closed or has an escape that is unknown")
		return ""
	}
	value, err := strconv.Unquote(prefix)
	if err != nil {
		p.fail("the quote has an escape that is unknown")
		return ""
	}
	p.pos += len(prefix)
	return value
}

// peek returns the next character, 0 at the end.
func (p *pathParser) peek() byte {
	if p.err != nil || p.pos >= len(p.text) {
		return 0
	}
	return p.text[p.pos]
}

func (p *pathParser) skip(c byte) bool {
	if p.peek() != c {
		return false
	}
	p.pos++
	return true
}

func (p *pathParser) failUnexpected(want string) {
	if p.pos >= len(p.text) {
		p.fail("the path ends where " + want + " is expected")
		return
	}
	found, _ := utf8.DecodeRuneInString(p.text[p.pos:])
	p.fail(fmt.Sprintf("found %q, expected %s", found, want))
}

func (p *pathParser) fail(reason string) {
	if p.err == nil {
		p.err = &PathError{Path: p.text, Position: p.pos + 1, Reason: reason}
	}
}
