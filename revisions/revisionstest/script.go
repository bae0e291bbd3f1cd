// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package revisionstest

import (
	"fmt"
	"strings"
)

// block is a part of a script between two empty lines.
type block struct {
	comments []string
	// command is empty in a block of comments alone.
	command string
	body    []string
}

// Replay plays a script and returns it with the output that each command has now.
// A script is a list of blocks between empty lines:
//
//	# What the reader should know.
//	command its arguments
//	lines that the command takes
//	----
//	what the command has printed
//
// The package documentation lists the commands. The error names the command that
// could not be understood, or the promise to the engine's callers that was broken.
func Replay(script string, options Options) (string, error) {
	player, err := newPlayer(options)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for i, b := range parseScript(script) {
		if i > 0 {
			out.WriteString("\n")
		}
		for _, line := range append(b.comments, b.command) {
			if line != "" {
				out.WriteString(line + "\n")
			}
		}
		if b.command == "" {
			continue
		}
		for _, line := range b.body {
			out.WriteString(line + "\n")
		}
		printed, err := player.play(b)
		if err != nil {
			return "", fmt.Errorf("%s: %w", b.command, err)
		}
		out.WriteString("----\n" + printed)
	}
	return out.String(), nil
}

func parseScript(script string) []block {
	var blocks []block
	for text := range strings.SplitSeq(script, "\n\n") {
		var b block
		for line := range strings.SplitSeq(strings.Trim(text, "\n"), "\n") {
			if line == "----" {
				break
			}
			switch {
			case b.command == "" && strings.HasPrefix(line, "#"):
				b.comments = append(b.comments, line)
			case b.command == "":
				b.command = line
			default:
				b.body = append(b.body, line)
			}
		}
		if b.command != "" || b.comments != nil {
			blocks = append(blocks, b)
		}
	}
	return blocks
}
