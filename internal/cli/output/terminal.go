// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// ColorMode says when colour is used.
type ColorMode string

// The colour modes.
const (
	// ColorAuto is on a terminal, unless NO_COLOR is set or TERM is dumb.
	ColorAuto   ColorMode = "auto"
	ColorAlways ColorMode = "always"
	ColorNever  ColorMode = "never"
)

// Set makes ColorMode a flag's value.
func (m *ColorMode) Set(s string) error {
	switch mode := ColorMode(s); mode {
	case ColorAuto, ColorAlways, ColorNever:
		*m = mode
		return nil
	}
	return errors.New("must be auto, always or never")
}

// String is the mode as it is given on the command line.
func (m *ColorMode) String() string { return string(*m) }

// Type is shown in the help of a flag.
func (m *ColorMode) Type() string { return "auto|always|never" }

// Enabled is true when colour is to be used on a stream.
func (m *ColorMode) Enabled(stream any, getenv func(string) string) bool {
	switch *m {
	case ColorAlways:
		return true
	case ColorNever:
		return false
	case ColorAuto:
	}
	return getenv("NO_COLOR") == "" && getenv("TERM") != "dumb" && IsTerminal(stream)
}

// IsASCII is true where the locale names a character set that is not UTF-8, as C and POSIX
// do. Without any locale UTF-8 is assumed: most terminals have it, and containers set none.
func IsASCII(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale := getenv(name); locale != "" {
			set := strings.ReplaceAll(strings.ToUpper(locale), "-", "")
			return !strings.Contains(set, "UTF8")
		}
	}
	return false
}

// IsTerminal is true when a person sits at the stream.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Size is the terminal's number of columns and that of lines, [DefaultWidth] and 24
// where the stream is none.
func Size(stream any) (int, int) {
	if f, ok := stream.(*os.File); ok {
		if w, h, err := term.GetSize(int(f.Fd())); err == nil && w > 0 && h > 0 {
			return w, h
		}
	}
	return DefaultWidth, 24
}

// Screen shows a text that changes, in place, at the end of a terminal.
type Screen struct {
	out  io.Writer
	rows int
}

// NewScreen is a screen on a terminal's stream.
func NewScreen(out io.Writer) *Screen { return &Screen{out: out} }

// Draw replaces what was drawn before. Lines beyond the terminal's height are
// left out, since a terminal cannot take back what has scrolled away. The text
// is a Printer's, so it is clean.
func (s *Screen) Draw(text string, columns, lines int) error {
	var b strings.Builder
	if s.rows > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", s.rows)
	}
	b.WriteString("\r\x1b[J")
	s.rows = 0
	for line := range strings.Lines(text) {
		n := max(1, (visible(line)+columns-1)/columns)
		if s.rows+n >= lines {
			break
		}
		b.WriteString(line)
		s.rows += n
	}
	if _, err := io.WriteString(s.out, b.String()); err != nil {
		return fmt.Errorf("drawing: %w", err)
	}
	return nil
}

// Release leaves what was drawn where it stands, since something else has been
// written below it. The next drawing begins under that.
func (s *Screen) Release() { s.rows = 0 }

// visible counts the columns that a painted line takes.
func visible(line string) int {
	n, inCode := 0, false
	for _, r := range line {
		switch {
		case r == '\x1b':
			inCode = true
		case inCode:
			inCode = r != 'm'
		case r != '\n':
			n++
		}
	}
	return n
}
