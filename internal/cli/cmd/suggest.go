// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// suggestions are commands by the words that users of kubectl and Helm type.
var suggestions = map[string][]string{
	"apply":   {"install", "upgrade", "create", "deploy"},
	"delete":  {"remove", "rm", "destroy"},
	"explain": {"describe", "why"},
	"status":  {"describe", "rollout", "inspect"},
	"render":  {"template"},
	"pause":   {"suspend"},
	"history": {"revisions"},
}

// suggest makes an unknown command name the one that is meant.
func suggest(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		cmd.SuggestFor = append(cmd.SuggestFor, suggestions[cmd.Name()]...)
	}
}

// suggestFlag adds the flags that an unknown one may stand for.
func suggestFlag(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || len(unknown.GetSpecifiedName()) < 2 {
		return err
	}
	// cobra compares names of commands alone.
	flags := &cobra.Command{SuggestionsMinimumDistance: 2}
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		flags.AddCommand(&cobra.Command{Use: flag.Name, Run: func(*cobra.Command, []string) {}})
	})
	if names := flags.SuggestionsFor(unknown.GetSpecifiedName()); len(names) > 0 {
		return fmt.Errorf("%w; did you mean --%s?", err, strings.Join(names, " or --"))
	}
	return err
}
