// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean makes a text from the cluster safe for a terminal and keeps it on one
// line: line breaks and tabs become spaces, and every other character that a
// terminal may act on, or that changes the order of what is read, is shown as
// its number, such as \u001b. Bytes that are no UTF-8 become U+FFFD.
func Clean(s string) string {
	if isClean(s) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n' || r == '\t' || r == '\u2028' || r == '\u2029':
			b.WriteByte(' ')
		case isHarmful(r):
			b.WriteString(escape(r))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// CleanLines is Clean for each line of a text, keeping the line breaks.
func CleanLines(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = Clean(line)
	}
	return strings.Join(lines, "\n")
}

func isClean(s string) bool {
	for _, r := range s {
		if r == utf8.RuneError || isHarmful(r) {
			return false
		}
	}
	return true
}

// isHarmful is true for control characters (C0, DEL and C1, of which escape
// sequences are made), for format characters (which turn the direction of
// writing or are not seen), and for Unicode's own line breaks.
func isHarmful(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)
}

// escape is the form that JSON gives a character: \uXXXX, in two halves beyond
// U+FFFF.
func escape(r rune) string {
	if r <= 0xffff {
		return fmt.Sprintf("\\u%04x", r)
	}
	r -= 0x10000
	return fmt.Sprintf("\\u%04x\\u%04x", 0xd800+(r>>10), 0xdc00+(r&0x3ff))
}
