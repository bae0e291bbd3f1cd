// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/cli/view"
)

// completionTimeout bounds how long a shell waits for the cluster.
const completionTimeout = 2 * time.Second

// completionCommand writes the script that makes a shell complete. It stands in
// for cobra's own command, whose help does not say how kubectl completes a plugin.
func (a *app) completionCommand() *cobra.Command {
	shells := map[string]func(*cobra.Command, io.Writer) error{
		"bash":       func(root *cobra.Command, w io.Writer) error { return root.GenBashCompletionV2(w, true) },
		"zsh":        func(root *cobra.Command, w io.Writer) error { return root.GenZshCompletion(w) },
		"fish":       func(root *cobra.Command, w io.Writer) error { return root.GenFishCompletion(w, true) },
		"powershell": func(root *cobra.Command, w io.Writer) error { return root.GenPowerShellCompletionWithDesc(w) },
		"kubectl": func(_ *cobra.Command, w io.Writer) error {
			_, err := io.WriteString(w, "#!/bin/sh\nexec kubectl strata __complete \"$@\"\n")
			return err
		},
	}
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Write a completion script: bash, zsh, fish, powershell or kubectl",
		Long: `Write a script that completes commands, flags, package names and revisions.

SHELL is bash, zsh, fish or powershell. kubectl stands for a script that makes
"kubectl strata" complete: put it into the PATH as kubectl_complete-strata and
make it executable.`,
		Example: `  source <(strata completion bash)
  strata completion fish > ~/.config/fish/completions/strata.fish
  strata completion kubectl > ~/bin/kubectl_complete-strata && chmod +x ~/bin/kubectl_complete-strata`,
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: []string{"bash", "zsh", "fish", "powershell", "kubectl"},
		RunE: func(cmd *cobra.Command, args []string) error {
			a.running = true
			return shells[args[0]](cmd.Root(), a.Out)
		},
	}
}

// completePackages completes names of packages, as many as limit allows, -1 for
// any number.
func (a *app) completePackages(limit int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if limit >= 0 && len(args) >= limit {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := completionContext(cmd)
		defer cancel()
		c, err := a.connect()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		// Without packages nothing is completed.
		packages, _ := c.packages(ctx, labels.Everything())
		var found []cobra.Completion
		for i := range packages {
			s := view.SummarisePackage(&packages[i], nil)
			if strings.HasPrefix(s.Name, prefix) && !slices.Contains(args, s.Name) {
				found = append(found, describe(s.Name, s.Version, s.State))
			}
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeOf completes what there is of the package that the first argument names.
func (a *app) completeOf(cmd *cobra.Command, args []string, find func(view.Snapshot) []cobra.Completion) []cobra.Completion {
	if len(args) == 0 {
		return nil
	}
	ctx, cancel := completionContext(cmd)
	defer cancel()
	_, v, err := a.readPackage(ctx, packageName(args[0]))
	if err != nil {
		return nil
	}
	return find(v)
}

// completeRevisions completes the number of a revision of the package that the
// first argument names, newest first.
func (a *app) completeRevisions(cmd *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.completeOf(cmd, args, func(v view.Snapshot) (found []cobra.Completion) {
		summary := view.SummarisePackage(v.Package, v.Revisions)
		for i := range slices.Backward(v.Revisions) {
			s := view.SummariseRevision(&v.Revisions[i], v.Revisions, summary)
			if n := view.Number(s.Revision); strings.HasPrefix(n, prefix) {
				found = append(found, describe(n, s.Version, s.Outcome, view.Age(a.now(), s.CreatedAt)+" ago"))
			}
		}
		return found
	}), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

func (a *app) completeContexts(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	raw, err := a.flags.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return slices.Sorted(maps.Keys(raw.Contexts)), cobra.ShellCompDirectiveNoFileComp
}

// completeObjects completes the objects of the package that the first argument names, as
// its newest revision has put them in place.
func (a *app) completeObjects(cmd *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.completeOf(cmd, args, func(v view.Snapshot) (found []cobra.Completion) {
		target, err := revisionOr(v, 0)
		if err != nil {
			return nil
		}
		for _, entry := range target.Status.Inventory {
			if name := view.NameOf(entry.ObjectReference); strings.HasPrefix(name, prefix) {
				found = append(found, output.Clean(name))
			}
		}
		return found
	}), cobra.ShellCompDirectiveNoFileComp
}

func complete(cmd *cobra.Command, flag string, f cobra.CompletionFunc) {
	// The error is for a flag that does not exist.
	_ = cmd.RegisterFlagCompletionFunc(flag, f)
}

func completeTargets(_ *cobra.Command, _ []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	directive := cobra.ShellCompDirectiveNoFileComp
	var found []cobra.Completion
	for _, target := range []string{"rolledout", "available", "ready", "deleted", "phase=", "probe=", "condition="} {
		if strings.HasPrefix(target, prefix) {
			found = append(found, target)
		}
	}
	if len(found) == 1 && strings.HasSuffix(found[0], "=") {
		directive |= cobra.ShellCompDirectiveNoSpace
	}
	return found, directive
}

func completionContext(cmd *cobra.Command) (context.Context, context.CancelFunc) {
	return context.WithTimeout(cmd.Context(), completionTimeout)
}

// describe is a completion with words that the shell shows beside it.
func describe(what string, words ...string) cobra.Completion {
	words = slices.DeleteFunc(words, func(w string) bool { return w == "" })
	return fmt.Sprintf("%s\t%s", output.Clean(what), output.Clean(strings.Join(words, ", ")))
}
