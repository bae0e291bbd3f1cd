// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxMessage is the largest length of a Result's message, in bytes. Messages end
// up in the status of a revision, where many of them stand side by side.
const MaxMessage = 1024

const (
	// maxQuoted bounds one value of the object that is quoted in a message.
	maxQuoted = 64
	// maxForeign bounds the text that another controller wrote, such as the
	// message of a condition.
	maxForeign = 256

	cutMark = "..."
)

// oneLine returns text as valid UTF-8 without line breaks and control characters
// and in at most limit bytes. Text that is so already is returned as it is.
func oneLine(text string, limit int) string {
	if len(text) > limit {
		text = cut(text, limit)
	}
	if isPlain(text) {
		return text
	}
	return cut(strings.Map(plainRune, text), limit)
}

func cut(text string, limit int) string { return Cut(text, limit, cutMark) }

// Cut shortens a text to a number of bytes, at the boundary of a character, and ends it with
// a mark that says so. A text that is short enough is returned as it is.
func Cut(text string, limit int, mark string) string {
	if len(text) <= limit {
		return text
	}
	end := max(limit-len(mark), 0)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + mark
}

func isPlain(text string) bool {
	for _, r := range text {
		if plainRune(r) != r || r == utf8.RuneError {
			return false
		}
	}
	return true
}

func plainRune(r rune) rune {
	if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
		return ' '
	}
	return r
}

// describe names a value for a message without printing more than a little of it.
func describe(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case string:
		return strconv.Quote(cut(v, maxQuoted))
	case bool:
		return strconv.FormatBool(v)
	case map[string]any:
		return fmt.Sprintf("an object with %d fields", len(v))
	case []any:
		return fmt.Sprintf("a list of %d entries", len(v))
	}
	if n, ok := numberOf(value); ok {
		return n.String()
	}
	return fmt.Sprintf("a value of type %T", value)
}

// because joins a condition's reason and message, either of which may be missing,
// to the tail of a sentence.
func because(reason, message string) string {
	reason, message = oneLine(reason, maxQuoted), oneLine(message, maxForeign)
	switch {
	case reason == "" && message == "":
		return ""
	case message == "":
		return ": " + reason
	case reason == "":
		return ": " + message
	}
	return ": " + reason + ": " + message
}
