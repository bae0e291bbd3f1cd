// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// jsonObjects splits a stream into its objects without decoding them, and finds the next one after
// an object that is broken.
type jsonObjects struct {
	in     *bufio.Reader
	limits limits
	// line is that of the next byte, and begins is whether it is the first one of its line.
	line   int
	begins bool

	raw []byte
	// open are the brackets that are open, outermost first.
	open []byte
	// text is inside of a string, and escaped behind a backslash in it.
	text, escaped bool
	// last is the last byte that is no blank, outside of strings.
	last byte
	// commas counts values, as each costs more memory than its text.
	commas int
	// broken says what is wrong with the object, and tooLarge that no more of it is kept.
	broken   string
	tooLarge bool
}

func newJSONObjects(in *bufio.Reader, l limits) *jsonObjects {
	return &jsonObjects{in: in, limits: l, line: 1, begins: true}
}

// next is the next object and the line that it begins in. The error is a *brokenError when the
// object is no JSON, which does not keep the next one from being read, or [io.EOF].
func (o *jsonObjects) next() ([]byte, int, error) {
	if err := o.skipBlanks(); err != nil {
		return nil, o.line, err
	}
	*o = jsonObjects{in: o.in, limits: o.limits, line: o.line, begins: o.begins, raw: o.raw[:0], open: o.open[:0]}
	if cap(o.raw) > 1<<20 { // one large object in a catalog of small ones
		o.raw = nil
	}
	from := o.line
	for {
		chunk, err := o.buffered()
		if errors.Is(err, io.EOF) {
			return o.raw, from, &brokenError{text: endsInside}
		}
		if err != nil {
			return nil, from, err
		}
		length, done := o.scan(chunk)
		o.keep(chunk[:length])
		if _, err := o.in.Discard(length); err != nil {
			return nil, from, err
		}
		switch {
		case done && o.tooLarge:
			return o.raw, from, &brokenError{text: fmt.Sprintf("the object has more than %d bytes", o.limits.blob)}
		case done:
			return o.raw, from, nil
		case o.broken != "":
			return o.raw, from, o.skipToNext()
		}
	}
}

// endsInside is what is wrong with the last object of a file or stream that was cut.
const endsInside = "the file ends in the middle of the object"

// brokenError is about one object.
type brokenError struct{ text string }

// Error is what is wrong with the object.
func (e *brokenError) Error() string { return e.text }

func (o *jsonObjects) buffered() ([]byte, error) {
	if _, err := o.in.Peek(1); err != nil {
		return nil, err
	}
	return o.in.Peek(o.in.Buffered())
}

// keep adds a part of the object as far as there is room for it.
func (o *jsonObjects) keep(part []byte) {
	room := o.limits.blob - len(o.raw)
	o.tooLarge = o.tooLarge || len(part) > room
	o.raw = append(o.raw, part[:min(len(part), room)]...)
}

// scan goes through a part of an object, and returns how much of it belongs to it and whether
// the object ends there.
func (o *jsonObjects) scan(chunk []byte) (int, bool) {
	for i, c := range chunk {
		begins := o.begins
		if c == '\n' {
			o.line++
		}
		o.begins = c == '\n'
		switch {
		case o.text:
			o.scanText(c)
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			continue
		default:
			o.scanSyntax(c)
			o.last = c
		}
		if o.broken != "" {
			if c == '{' && begins { // the next object, which the broken one ran into
				o.begins = true
				return i, false
			}
			return i + 1, false
		}
		if len(o.open) == 0 {
			return i + 1, true
		}
	}
	return len(chunk), false
}

func (o *jsonObjects) scanText(c byte) {
	switch {
	case o.escaped:
		o.escaped = false
	case c == '\\':
		o.escaped = true
	case c == '"':
		o.text = false
	case c == '\n':
		o.broken = "a text has no end in its line"
	}
}

func (o *jsonObjects) scanSyntax(c byte) {
	if len(o.open) == 0 && c != '{' && c != '[' {
		o.broken = "it is no object"
		return
	}
	switch c {
	case '"':
		o.text = true
	case '{', '[':
		if c == '{' && len(o.open) > 0 && o.last != ':' && o.last != ',' && o.last != '[' {
			o.broken = "a brace opens where none may stand"
			return
		}
		if o.open = append(o.open, c); len(o.open) > o.limits.nesting {
			o.broken = fmt.Sprintf("it is nested more than %d deep", o.limits.nesting)
		}
	case '}', ']':
		// The closing brackets of ASCII stand two behind the opening ones.
		if o.open[len(o.open)-1] != c-2 {
			o.broken = fmt.Sprintf("%q closes what it has not opened", c)
			return
		}
		o.open = o.open[:len(o.open)-1]
	case ',':
		o.commas++
		if o.commas > o.limits.values {
			o.broken = fmt.Sprintf("it has more than %d values", o.limits.values)
		}
	}
}

// skipToNext reads on to a brace at the beginning of a line.
func (o *jsonObjects) skipToNext() error {
	broken := &brokenError{text: o.broken}
	for {
		c, err := o.in.ReadByte()
		switch {
		case errors.Is(err, io.EOF):
			return broken
		case err != nil:
			return err
		case o.begins && c == '{':
			return errors.Join(broken, o.in.UnreadByte())
		}
		if o.begins = c == '\n'; o.begins {
			o.line++
		}
	}
}

func (o *jsonObjects) skipBlanks() error {
	for {
		c, err := o.in.ReadByte()
		if err != nil {
			return err
		}
		switch c {
		case '\n':
			o.line++
			o.begins = true
		case ' ', '\t', '\r':
			o.begins = false
		default:
			return o.in.UnreadByte()
		}
	}
}
