// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/cli/view"
	"github.com/strata-run/strata/revisions/probes"
)

// cliOwner is the field manager of what the command line writes.
const cliOwner = "strata-cli"

// Values of --dry-run.
const (
	dryRunNone   = "none"
	dryRunClient = "client"
	dryRunServer = "server"
)

type writeFlags struct {
	output outputFormat
	dryRun string
	yes    bool
}

func (o *writeFlags) add(cmd *cobra.Command) {
	addOutput(cmd, &o.output, outputJSON, outputYAML, outputJSONPath)
	addChoice(cmd, &o.dryRun, "dry-run", dryRunNone, "none, client (write nothing) or server (let it check the request)", dryRunNone, dryRunClient, dryRunServer)
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask")
}

func (o *writeFlags) isDry() bool { return o.dryRun != dryRunNone }

// receipt is the document of a command that writes a Package or a Revision once.
func (o *writeFlags) receipt(command, pkg string, revision int64) view.Receipt {
	return view.Receipt{TypeMeta: view.DocumentType("Receipt"), Command: command, Package: pkg, Revision: revision, DryRun: o.dryRun}
}

// rolloutFlags are those of the commands that make a revision, and may follow its rollout.
type rolloutFlags struct {
	writeFlags

	reason  string
	wait    bool
	timeout time.Duration
}

func (o *rolloutFlags) add(cmd *cobra.Command) {
	o.writeFlags.add(cmd)
	cmd.Flags().StringVar(&o.reason, "reason", "", "why, for the history")
	cmd.Flags().BoolVar(&o.wait, "wait", false, "follow the rollout until it is done or cannot succeed")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 5*time.Minute, "with --wait: how long to follow, 0 without limit")
}

func (o *rolloutFlags) validate() error {
	switch {
	case o.wait && o.isDry():
		return exitf(CodeUsage, "--wait waits for a rollout, which --dry-run=%s does not begin", o.dryRun)
	case len(o.reason) > 1024:
		return exitf(CodeUsage, "flag --reason: has %d bytes, and at most 1024 can be kept", len(o.reason))
	}
	return nil
}

// follow follows the rollout of a revision if that was asked for, and returns its status.
func (a *app) follow(ctx context.Context, c *cluster, p *output.Printer, o rolloutFlags, pkg string, revision int64) (*view.Status, error) {
	if !o.wait || p.Err() != nil {
		return nil, p.Err()
	}
	return a.watchToEnd(ctx, c, watchOptions{name: pkg, timeout: o.timeout, revision: revision, asNotes: o.output.isDocument()})
}

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

// editPackage merges a patch of the spec into a Package, on condition that it is still what was
// looked at: its status may have been written meanwhile, its spec not.
func (c *cluster) editPackage(ctx context.Context, pkg *v1alpha1.Package, o writeFlags, e edit, spec func(*v1alpha1.Package) map[string]any) (*v1alpha1.Package, error) {
	for attempt := 1; ; attempt++ {
		written := &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: pkg.Name}}
		err := c.merge(ctx, written, map[string]any{"metadata": map[string]any{"resourceVersion": pkg.ResourceVersion}, "spec": spec(pkg)}, o)
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

// setLifecycle changes the lifecycle state of a revision, on condition that it is still the one
// that was looked at.
func (c *cluster) setLifecycle(ctx context.Context, r *v1alpha1.Revision, state v1alpha1.LifecycleState, annotations map[string]any, doing string, o writeFlags) error {
	err := c.merge(ctx, &v1alpha1.Revision{ObjectMeta: metav1.ObjectMeta{Name: r.Name}}, map[string]any{
		"metadata": map[string]any{"uid": r.UID, "annotations": annotations},
		"spec":     map[string]any{"lifecycleState": state},
	}, o)
	if apierrors.IsConflict(err) {
		return exitf(CodeSuperseded, "revision %d has changed: check it again before %s it", r.Spec.Revision, doing)
	}
	return c.explainWrite(doing+" revision "+r.Name, err)
}

// merge sends a merge patch, unless nothing is to be sent.
func (c *cluster) merge(ctx context.Context, object client.Object, change map[string]any, o writeFlags) error {
	if o.dryRun == dryRunClient {
		return nil
	}
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

func (c *cluster) create(ctx context.Context, object client.Object, what string, o writeFlags) error {
	options := []client.CreateOption{client.FieldOwner(cliOwner)}
	if o.isDry() {
		options = append(options, client.DryRunAll)
	}
	return c.explainWrite("creating "+what, c.client.Create(ctx, object, options...))
}

// deletePackage deletes a package, on condition that it is still the one that was looked at.
func (c *cluster) deletePackage(ctx context.Context, pkg *v1alpha1.Package, cascade metav1.DeletionPropagation, o writeFlags) error {
	options := []client.DeleteOption{client.PropagationPolicy(cascade), client.Preconditions{UID: &pkg.UID}}
	switch o.dryRun {
	case dryRunClient:
		return nil
	case dryRunServer:
		options = append(options, client.DryRunAll)
	}
	err := c.client.Delete(ctx, &v1alpha1.Package{ObjectMeta: metav1.ObjectMeta{Name: pkg.Name}}, options...)
	if apierrors.IsConflict(err) {
		return exitf(CodeSuperseded, "package %s was replaced by another one of its name: check it again before deleting it", pkg.Name)
	}
	return c.explain("deleting package "+pkg.Name, client.IgnoreNotFound(err))
}

// whoAmI is the name of the user of the command, as the API server knows it; empty
// when the API server does not say.
func (c *cluster) whoAmI(ctx context.Context) string {
	review := &authenticationv1.SelfSubjectReview{}
	if err := c.client.Create(ctx, review); err != nil {
		return ""
	}
	return probes.Cut(review.Status.UserInfo.Username, 253, "")
}

// explainWrite is explain for a write: an object that exists already was created by
// another client meanwhile, and what the API server rejects as invalid never
// succeeds.
func (c *cluster) explainWrite(doing string, err error) error {
	var exit *ExitError
	switch {
	case errors.As(err, &exit):
		return err
	case apierrors.IsAlreadyExists(err), apierrors.IsConflict(err):
		return exitf(CodeSuperseded, "%s: another client has written in between: look again, and repeat the command: %w", doing, err)
	case apierrors.IsInvalid(err):
		return exitf(CodeTerminal, "%s: %w", doing, err)
	}
	return c.explain(doing, err)
}

func (a *app) printReceipt(o writeFlags, r view.Receipt) error {
	return a.print(o.output, r, func(p *output.Printer) {
		if o.isDry() {
			r.Message += fmt.Sprintf(" (--dry-run=%s: nothing was changed)", o.dryRun)
		}
		p.Wrapped("", output.Plain, r.Message)
	})
}

// orNil is a text for a merge patch, which an empty one takes away.
func orNil(text string) any {
	if text == "" {
		return nil
	}
	return text
}
