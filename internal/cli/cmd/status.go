// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/cli/view"
	"github.com/strata-run/strata/internal/pods"
)

func (a *app) statusCommand() *cobra.Command {
	var o watchOptions
	var watch bool
	cmd := &cobra.Command{
		Use:   "status PACKAGE",
		Short: "Show the progress of a rollout and what blocks it; -w follows it",
		Long: `Show what runs, what rolls out, the progress of each phase, and the object
that blocks the rollout.

With --watch the rollout is followed until it is done or cannot succeed: in
place on a terminal, else with one line for each change. A package that does not
exist yet is waited for, and when a newer revision becomes the target, that is
followed, unless --revision names one. With -o json each change is one JSON
document on one line.

Exit codes: 0 rolled out; 1 not rolled out (without --watch); 3 it cannot
succeed by waiting (a collision, an invalid revision, a deadline exceeded,
missing rights, what a check before the first write has found); 4 the time was
over; 5 a newer revision took the place of --revision; 6 there is no such
package; 7 no cluster answers.

Rights: get packages.strata.run; list revisions.strata.run, with --watch list
and watch both; get objectslices.strata.run. As far as you may: list pods and
replicasets.apps.`,
		Example: `  strata status istiod-openshift-gateway
  strata status istiod-openshift-gateway -w --timeout 5m

  # After a change: wait for the revision that it makes
  strata status istiod-openshift-gateway -w --revision 2`,
	}
	a.onPackage(cmd, func(ctx context.Context, name string) error {
		if !watch && slices.ContainsFunc([]string{"timeout", "hold-timeout", "revision"}, cmd.Flags().Changed) {
			return exitf(CodeUsage, "--timeout, --hold-timeout and --revision are for --watch")
		}
		o.name = name
		return a.status(ctx, o, watch)
	})
	addOutput(cmd, &o.output, outputJSON, outputYAML, outputJSONPath)
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "follow the rollout until it is done or cannot succeed")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 5*time.Minute, "with --watch: how long to follow, 0 without limit")
	a.addRevision(cmd, &o.revision, "revision", "with --watch: follow this revision, wait until it is made, and end with code 5 when a newer one replaces it; 0 follows whichever is the target")
	cmd.Flags().DurationVar(&o.holdTimeout, "hold-timeout", 0, "with --watch: end when nothing has moved for this long, 0 never")
	return cmd
}

func (a *app) status(ctx context.Context, o watchOptions, watch bool) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	if watch {
		_, err := a.watchToEnd(ctx, c, o)
		return err
	}
	v, err := c.snapshot(ctx, o.name)
	if err != nil {
		return err
	}
	a.readDetails(ctx, c, &v, v.ShownRevisions(false))
	s := v.Status()
	return cmp.Or(a.print(o.output, s, func(p *output.Printer) { view.WriteStatus(p, s, a.now()) }), verdictError(s))
}

// verdictError is the exit code for a verdict. It has no text: the output has
// said it.
func verdictError(s view.Status) error {
	switch s.Verdict {
	case view.VerdictRolledOut:
		return nil
	case view.VerdictFailed:
		return &ExitError{Code: CodeTerminal}
	case view.VerdictInProgress:
	}
	return &ExitError{Code: CodeFalse}
}

type watchOptions struct {
	name   string
	output outputFormat
	// timeout is how long to follow, 0 without limit.
	timeout time.Duration
	// holdTimeout ends it when nothing has moved for this long, 0 never.
	holdTimeout time.Duration
	// revision is the one that is to be rolled out; when a newer one replaces it,
	// that is the end. 0 takes whichever is the target.
	revision int64
	// asNotes writes progress to stderr, for commands whose stdout is one document.
	asNotes bool
}

// watchToEnd follows a rollout until it is done, cannot succeed, or the time is over. It returns
// the status that was seen last, nil for none.
func (a *app) watchToEnd(ctx context.Context, c *cluster, o watchOptions) (*view.Status, error) {
	w := &watcher{app: a, options: o, slices: view.Manifests{}, moved: a.now(), out: a.stdout(o.output)}
	if output.IsTerminal(a.Out) && !o.output.isDocument() && !o.asNotes {
		w.screen = output.NewScreen(a.Out)
	}
	w.follower = c.followPackage(w.noteAside, o.timeout, o.name)
	// A terminal's times move on, pods are asked again, and a rollout may stand still for too long.
	w.wake = time.Second
	err := w.until(ctx, "following "+o.name, w.next)
	if errors.Is(err, errOver) {
		err = exitf(CodeTimeout, "not rolled out after %s: %s", o.timeout, w.where())
	}
	return w.last, err
}

type watcher struct {
	*follower

	app     *app
	options watchOptions
	out     *output.Printer
	// screen is set on a terminal.
	screen *output.Screen

	slices view.Manifests
	// last is the status that was shown last, nil before the first.
	last *view.Status
	// moved is when the rollout was seen to move last; progress is what it had
	// reached then.
	moved    time.Time
	progress string
	// absent (no package), early (no such revision) and podsDenied are set once they have
	// been noted, existed once there was the package.
	absent, early, podsDenied, existed bool
}

// next shows what is new, and says whether that was the last.
func (w *watcher) next(ctx context.Context) (bool, error) {
	switch {
	case !w.complete():
	case w.snapshot.Package == nil && w.existed:
		return false, exitf(CodeNotFound, "package %s was deleted", w.options.name)
	case w.snapshot.Package == nil:
		if !w.absent {
			w.noteAside("Package %s does not exist yet; waiting for it.", w.options.name)
		}
		w.absent = true
	default:
		w.existed = true
		if done, err := w.show(ctx); done || err != nil {
			return done, err
		}
	}
	hold := w.options.holdTimeout
	if hold > 0 && w.app.now().Sub(w.moved) >= hold {
		return false, exitf(CodeTimeout, "nothing has moved for %s: %s", hold, w.where())
	}
	return false, nil
}

// show writes the present status, and says whether it is the last.
func (w *watcher) show(ctx context.Context) (bool, error) {
	s := w.status(ctx)
	if err := w.checkTarget(s); err != nil {
		return false, err
	}
	if s.Package.TargetRevision < w.options.revision {
		if !w.early {
			w.noteAside("Revision %d does not exist yet; waiting for it.", w.options.revision)
		}
		w.early = true
		return false, nil
	}
	if now := view.ProgressOf(s); now != w.progress {
		w.progress, w.moved = now, w.app.now()
	}
	if err := w.write(s); err != nil {
		return false, err
	}
	w.last = &s
	switch s.Verdict {
	case view.VerdictRolledOut:
		return true, nil
	case view.VerdictFailed:
		return false, exitf(CodeTerminal, "package %s: %s", w.options.name, s.Message)
	case view.VerdictInProgress:
	}
	return false, nil
}

// noteAside writes to stderr, which may be the same terminal as the screen.
func (w *watcher) noteAside(format string, args ...any) {
	if w.screen != nil {
		w.screen.Release()
	}
	w.app.note(format, args...)
}

func (w *watcher) status(ctx context.Context) view.Status {
	v := w.snapshot
	v.Manifests, v.Pods = w.slices, map[string][]pods.Trouble{}
	if err := w.cluster.readSlices(ctx, w.slices, v.ShownRevisions(false)...); err != nil && ctx.Err() == nil {
		w.noteAside("Note: some objects cannot be named: %s", err)
	}
	if target := view.HistoryOf(v.Package, v.Revisions).Target; target != nil && !w.podsDenied {
		if err := w.cluster.readPods(ctx, &v, target); err != nil && ctx.Err() == nil {
			w.podsDenied = true
			w.noteAside("Note: why pods do not run is not shown: %s", err)
		}
	}
	return v.Status()
}

// checkTarget notes that a newer revision has become the target, or ends the
// watch of one revision for that.
func (w *watcher) checkTarget(s view.Status) error {
	target := s.Package.TargetRevision
	switch {
	case w.options.revision != 0 && target > w.options.revision:
		return exitf(CodeSuperseded, "revision %d was superseded: revision %d is the target now", w.options.revision, target)
	case w.last != nil && w.last.Package.TargetRevision != 0 && w.last.Package.TargetRevision != target && target != 0:
		w.noteAside("Revision %d is the target now; following it instead of revision %d.", target, w.last.Package.TargetRevision)
	}
	return nil
}

func (w *watcher) write(s view.Status) error {
	now := w.app.now()
	switch {
	case w.options.output.isDocument():
		return w.writeDocument(s)
	case w.screen != nil:
		return w.draw(s, now)
	}
	for _, line := range view.Transitions(w.last, s) {
		if w.options.asNotes {
			w.noteAside("%s  %s", view.Stamp(now), line)
			continue
		}
		w.out.Line(output.Span{Text: view.Stamp(now) + "  " + line})
	}
	return w.out.Err()
}

func (w *watcher) writeDocument(s view.Status) error {
	if w.last != nil && equality.Semantic.DeepEqual(*w.last, s) {
		return nil
	}
	return printNext(w.out, w.options.output, s, w.last == nil)
}

func (w *watcher) draw(s view.Status, now time.Time) error {
	columns, lines := output.Size(w.app.Out)
	var text strings.Builder
	p := w.app.printer(&text, w.app.Out, columns)
	view.WriteStatus(p, s, now)
	return w.screen.Draw(text.String(), columns, lines)
}

// where says how far the rollout was when the time was over.
func (w *watcher) where() string {
	switch {
	case w.last == nil && w.absent:
		return "package " + w.options.name + " does not exist"
	case w.last == nil && w.early:
		return fmt.Sprintf("package %s has no revision %d", w.options.name, w.options.revision)
	case w.last == nil:
		return "nothing was read of package " + w.options.name
	}
	if text := view.BlockedText(*w.last); text != "" {
		return "package " + w.options.name + " " + text
	}
	return "package " + w.options.name + ": " + w.last.Message
}
