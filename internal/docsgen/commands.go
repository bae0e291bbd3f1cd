// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	cli "github.com/strata-run/strata/internal/cli/cmd"
)

// commandPages are a page for the command itself, with the flags that every
// command takes, and one for each of its subcommands.
func commandPages(ctx context.Context) (map[string]string, error) {
	root := &strings.Builder{}
	heading(root, "strata", "the command's help")
	if err := writeHelp(ctx, root); err != nil {
		return nil, err
	}
	options, err := execute(ctx, "options")
	if err != nil {
		return nil, err
	}
	pages := map[string]string{}
	root.WriteString("\n## Commands\n\n")
	if err := addCommands(ctx, pages, root); err != nil {
		return nil, err
	}
	if len(pages) == 0 {
		return nil, errors.New("listing the commands: there are none")
	}
	fmt.Fprintf(root, "\n## Flags of every command\n\n```text\n%s\n```\n", strings.TrimSpace(options))
	pages["cli/strata.md"] = root.String()
	return pages, nil
}

// addCommands adds a page for each command below another one, and lists them in its page.
func addCommands(ctx context.Context, pages map[string]string, list *strings.Builder, below ...string) error {
	completions, err := execute(ctx, slices.Concat([]string{"__complete"}, below, []string{""})...)
	if err != nil {
		return err
	}
	for line := range strings.Lines(completions) {
		name, short, found := strings.Cut(strings.TrimSpace(line), "\t")
		if !found || name == "help" {
			continue
		}
		command := slices.Concat(below, []string{name})
		page := &strings.Builder{}
		heading(page, "strata "+strings.Join(command, " "), "the command's help")
		if err := writeHelp(ctx, page, command...); err != nil {
			return err
		}
		file := "strata_" + strings.Join(command, "_") + ".md"
		fmt.Fprintf(list, "- [strata %s](%s): %s\n", strings.Join(command, " "), file, short)
		if err := addCommands(ctx, pages, list, command...); err != nil {
			return err
		}
		pages["cli/"+file] = page.String()
	}
	return nil
}

func writeHelp(ctx context.Context, page *strings.Builder, command ...string) error {
	help, err := execute(ctx, append(command, "--help")...)
	if err != nil {
		return err
	}
	fmt.Fprintf(page, "\n```text\n%s\n```\n", strings.TrimSpace(help))
	return nil
}

// execute is what the command line prints, in an environment that only has a home.
func execute(ctx context.Context, args ...string) (string, error) {
	var out, complaint bytes.Buffer
	code := cli.Run(ctx, cli.Config{
		Args: append([]string{"strata"}, args...), In: strings.NewReader(""), Out: &out, Err: &complaint,
		Getenv: func(name string) string { return map[string]string{"HOME": "~"}[name] },
	})
	if code != cli.CodeOK {
		return "", fmt.Errorf("running strata %s: exit code %d: %s", strings.Join(args, " "), code, complaint.String())
	}
	return out.String(), nil
}
