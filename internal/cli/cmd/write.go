// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/cli/view"
)

// cliOwner is the field manager of what the command line writes.
const cliOwner = "strata-cli"

// writeFlags are those of every command that writes.
type writeFlags struct {
	output outputFlag
	dryRun string
	yes    bool
}

func (o *writeFlags) add(cmd *cobra.Command) {
	addOutput(cmd, &o.output, outputJSON, outputYAML, outputJSONPath)
	o.dryRun = dryRunNone
	cmd.Flags().StringVar(&o.dryRun, "dry-run", o.dryRun, "none, client (write nothing) or server (let it check the request)")
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask")
}

func (o *writeFlags) validate() error {
	if !slices.Contains([]string{dryRunNone, dryRunClient, dryRunServer}, o.dryRun) {
		return exitf(CodeUsage, "flag --dry-run: must be none, client or server")
	}
	return nil
}

// isDry is true when nothing is to be changed.
func (o *writeFlags) isDry() bool { return o.dryRun != dryRunNone }

// outcome writes what was done, or that nothing was.
func (o *writeFlags) outcome(p *output.Printer, format string, args ...any) {
	if o.isDry() {
		format, args = "Nothing was changed (--dry-run=%s).", []any{o.dryRun}
	}
	p.Line(output.Span{Text: fmt.Sprintf(format, args...)})
}

// ask asks whether to go on. Who cannot be asked has to say so beforehand.
func (a *app) ask(o writeFlags, question string) error {
	if o.yes || o.isDry() {
		return nil
	}
	if !a.isTerminal(a.In) {
		return exitf(CodeUsage, "there is no terminal to confirm on: give --yes to continue, or --dry-run=client to see what would be done")
	}
	answer, err := a.prompt(question + " [y/N] ")
	if err != nil {
		return err
	}
	if word := strings.ToLower(answer); word == "y" || word == "yes" {
		return nil
	}
	return exitf(CodeInterrupted, "nothing was changed")
}

// prompt asks a question and reads one line. It reads no further, as another
// question may follow.
func (a *app) prompt(question string) (string, error) {
	fmt.Fprint(a.Err, output.Clean(question))
	var answer strings.Builder
	letter := make([]byte, 1)
	for {
		n, err := a.In.Read(letter)
		switch {
		case n > 0 && letter[0] == '\n':
			return strings.TrimSpace(answer.String()), nil
		case n > 0:
			answer.WriteByte(letter[0])
		case errors.Is(err, io.EOF):
			fmt.Fprintln(a.Err)
			return strings.TrimSpace(answer.String()), nil
		case err != nil:
			return "", fmt.Errorf("reading the answer: %w", err)
		}
	}
}

// mostAttempts is how often a request is sent anew because the Package was
// written meanwhile, which every step of a rollout does.
const mostAttempts = 10

// edit is a change of a Package: what is being done, and before what to look again when
// another client has changed the Package meanwhile.
type edit struct {
	doing, before string
	// stillHolds says whether the change still makes sense; nil is for always.
	stillHolds func(*v1alpha1.Package) bool
}

// editPackage merges a patch into a Package, on condition that it is still what was
// looked at: its status may have been written meanwhile, its spec not.
func (c *cluster) editPackage(ctx context.Context, pkg *v1alpha1.Package, o writeFlags, e edit, patch func(*v1alpha1.Package) map[string]any) (*v1alpha1.Package, error) {
	if o.dryRun == dryRunClient {
		return pkg, nil
	}
	for attempt := 1; ; attempt++ {
		change := patch(pkg)
		metadata, _ := change["metadata"].(map[string]any)
		if metadata == nil {
			metadata = map[string]any{}
		}
		metadata["resourceVersion"] = pkg.ResourceVersion
		change["metadata"] = metadata
		written := &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: pkg.Name}}
		err := c.merge(ctx, written, change, o)
		if !apierrors.IsConflict(err) || attempt == mostAttempts {
			return written, c.explain(e.doing+" package "+pkg.Name, err)
		}
		next, err := c.pkg(ctx, pkg.Name)
		if err != nil {
			return nil, err
		}
		if next.Generation != pkg.Generation || next.UID != pkg.UID || e.stillHolds != nil && !e.stillHolds(next) {
			return nil, exitf(CodeSuperseded, "package %s has changed: check it again before %s", pkg.Name, e.before)
		}
		pkg = next
	}
}

// merge sends a merge patch.
func (c *cluster) merge(ctx context.Context, object client.Object, change map[string]any, o writeFlags) error {
	text, err := json.Marshal(change)
	if err != nil {
		return fmt.Errorf("encoding the change: %w", err)
	}
	options := []client.PatchOption{client.FieldOwner(cliOwner)}
	if o.dryRun == dryRunServer {
		options = append(options, client.DryRunAll)
	}
	return c.client.Patch(ctx, object, client.RawPatch(types.MergePatchType, text), options...)
}

// printReceipt says what was done.
func (a *app) printReceipt(o writeFlags, r view.Receipt) error {
	p := a.stdout(o.output.value)
	if o.output.isDocument() {
		return printDocument(p, o.output.value, r)
	}
	text := r.Message
	if o.isDry() {
		text += fmt.Sprintf(" (--dry-run=%s: nothing was changed)", o.dryRun)
	}
	p.Wrapped("", output.Plain, text)
	return p.Err()
}
