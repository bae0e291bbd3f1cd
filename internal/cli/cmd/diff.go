// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/check/diff"
	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/cli/view"
	"github.com/strata-run/strata/internal/content"
	"github.com/strata-run/strata/internal/history"
	"github.com/strata-run/strata/revisions"
	"github.com/strata-run/strata/revisions/probes"
)

const outputUnified outputFormat = "unified"

type diffOptions struct {
	view.Comparison

	output           outputFormat
	live             bool
	object           string
	ignored          []string
	noise            bool
	managerNamespace string
}

func (o *diffOptions) validate(args []string) error {
	switch {
	case o.live && len(args) > 2:
		return exitf(CodeUsage, "--live compares one revision with the cluster: %s is one too many", args[2])
	case o.Context < 0:
		return exitf(CodeUsage, "flag --context-lines: is %d and must not be negative", o.Context)
	}
	if !o.noise {
		o.Ignore = view.NoisePatterns()
	}
	for _, text := range o.ignored {
		pattern, err := probes.ParsePattern(text)
		if err != nil {
			// A path with an index, as it is printed for lists that have nothing better.
			path, pathErr := probes.ParsePath(text)
			if pathErr != nil {
				return exitf(CodeUsage, "flag --ignore: %w", err)
			}
			pattern = path.Pattern()
		}
		o.Ignore = append(o.Ignore, pattern)
	}
	return nil
}

func (a *app) diffCommand() *cobra.Command {
	var o diffOptions
	cmd := &cobra.Command{
		Use:   "diff PACKAGE [REVISION [REVISION]]",
		Short: "Compare two revisions, or a revision with the cluster",
		Long: `Compare the contents of two revisions, phase by phase and object by object.
Without revisions it is the one before the target with the target; with one it
is that with the target.

With --live a revision, the target if none is named, is compared with the
cluster: what an apply would change back, with the name of who has changed it;
and, apart from that, which fields others have set that the revision does not
care about. It sends dry runs of server-side apply and changes nothing.

Objects that were renamed are found by their content. Labels that change with
each version of a chart, and the collision protection of whole phases, do not
count without --noise. Values of Secrets are redacted without --show-secrets:
that they differ is shown all the same.

-o unified writes lines of YAML; -o json and -o yaml a document.

Exit codes: 0 no differences; 1 there are some; 2 an error, also: there is no
such package or revision, not all could be read, no cluster answers.
Rights needed: to get packages and objectslices, to list revisions; for the
fields of manifests of kind Secret, to get Secrets in the manager's namespace:
without it only whether they differ is shown; with --live: to get and patch the
objects.`,
		Example: `  strata diff istiod-openshift-gateway 1 2
  strata diff istiod-openshift-gateway --live
  strata diff web 3 4 -o unified --object deployment/web`,
		Args:              packageAndRevisions("two revisions", 2),
		ValidArgsFunction: a.completeContents(2),
		RunE: a.run(func(ctx context.Context, args []string) error {
			if err := o.validate(args); err != nil {
				return err
			}
			return errorIsTwo(a.diff(ctx, o, args))
		}),
	}
	addOutput(cmd, &o.output, outputUnified, outputJSON, outputYAML, outputName, outputJSONPath)
	f := cmd.Flags()
	f.BoolVar(&o.live, "live", false, "compare a revision with the cluster")
	f.StringVar(&o.object, "object", "", "only the object KIND/NAME, such as deployment/istiod")
	f.StringArrayVar(&o.ignored, "ignore", nil, "a field that does not count, as it is printed, such as .spec.replicas or .metadata.annotations['example.com/note']; [*] is every entry of a list; can be given more than once")
	f.BoolVar(&o.noise, "noise", false, "also count labels that change with each version of a chart, and the collision protection of whole phases")
	f.BoolVar(&o.KeepNames, "no-renames", false, "do not look for objects that were renamed")
	f.BoolVar(&o.ShowSecrets, "show-secrets", false, "show the values of Secrets")
	f.IntVar(&o.Context, "context-lines", 3, "with -o unified: how many lines of context")
	addManagerNamespace(cmd, &o.managerNamespace)
	complete(cmd, "object", a.completeObjects)
	return cmd
}

func (a *app) completeContents(revisions int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
		switch {
		case len(args) == 0:
			return a.completePackages(1)(cmd, args, prefix)
		case len(args) <= revisions:
			return a.completeRevisions(cmd, args, prefix)
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

// errorIsTwo makes every error but a difference one of code 2, as 1 says that there are
// differences. What ends the command from outside keeps its code.
func errorIsTwo(err error) error {
	code := codeOf(err)
	exit, isExit := errors.AsType[*ExitError](err)
	if err == nil || code == CodeInterrupted || code == CodeUsage || isExit && exit.Err == nil {
		return err
	}
	return &ExitError{Code: CodeUsage, Err: err}
}

func (a *app) diff(ctx context.Context, o diffOptions, args []string) error {
	c, v, err := a.readPackage(ctx, packageName(args[0]))
	if err != nil {
		return err
	}
	var doc view.Diff
	if o.live {
		doc, err = a.liveDiff(ctx, c, o, v, args)
	} else {
		doc, err = a.revisionDiff(ctx, c, o, v, args)
	}
	if err != nil {
		return err
	}
	err = a.print(o.output, doc, func(p *output.Printer) {
		if o.output != outputUnified {
			view.WriteDiff(p, doc)
			return
		}
		for i := range doc.Objects {
			view.WriteUnified(p, doc.Objects[i].Unified)
		}
	})
	if err == nil && doc.Different {
		return &ExitError{Code: CodeFalse}
	}
	return err
}

func (a *app) revisionDiff(ctx context.Context, c *cluster, o diffOptions, v view.Snapshot, args []string) (view.Diff, error) {
	from, to, err := chooseDiff(v, args)
	if err != nil {
		return view.Diff{}, err
	}
	doc, _, err := c.compareRevisions(ctx, o, from, to)
	if doc.Unread != "" {
		a.note("Warning: %s", doc.Unread)
	}
	return doc, err
}

// compareRevisions compares two revisions, and says what is known of Secrets that may not be read.
func (c *cluster) compareRevisions(ctx context.Context, o diffOptions, from, to *v1alpha1.Revision) (doc view.Diff, result diff.Result, err error) {
	r := newReader(c.contents(o.managerNamespace), wholeSecrets)
	before, err := r.readFor(ctx, from)
	if err != nil {
		return doc, result, err
	}
	after, err := r.readFor(ctx, to)
	if err != nil {
		return doc, result, err
	}
	result = diff.Contents(view.ObjectsOf(before, o.object, o.noise), view.ObjectsOf(after, o.object, o.noise), o.Options)
	doc, err = view.BuildDiff(from, to, result, o.Comparison)
	if before.Unread != nil || after.Unread != nil {
		doc.AddUnread(from, to)
	}
	return doc, result, err
}

func chooseDiff(v view.Snapshot, args []string) (from, to *v1alpha1.Revision, err error) {
	numbers := numbersIn(args)
	if to, err = revisionOr(v, numbers[1]); err != nil {
		return nil, nil, err
	}
	if len(args) > 1 {
		from, err = revisionNumbered(v, numbers[0])
		return from, to, err
	}
	for _, revision := range history.Sort(v.Package, v.Revisions).All() {
		if revision.Spec.Revision < to.Spec.Revision {
			return revision, to, nil
		}
	}
	return nil, nil, exitf(CodeNotFound, "package %s has no revision before %d", v.Package.Name, to.Spec.Revision)
}

// readFor reads a revision. Secrets that may not be read are left out: their digests say
// whether they differ.
func (r *reader) readFor(ctx context.Context, revision *v1alpha1.Revision) (view.StoredContent, error) {
	read, err := r.read(ctx, revision)
	if err != nil {
		return read, fmt.Errorf("reading revision %d: %w", revision.Spec.Revision, err)
	}
	if read.Unread != nil && !read.OnlySecrets {
		return read, exitf(CodeUsage, "comparing revision %d: not all of it could be read: %w", revision.Spec.Revision, read.Unread)
	}
	return read, nil
}

func (a *app) liveDiff(ctx context.Context, c *cluster, o diffOptions, v view.Snapshot, args []string) (view.Diff, error) {
	revision, err := revisionOr(v, numbersIn(args)[0])
	if err != nil {
		return view.Diff{}, err
	}
	contents := c.contents(o.managerNamespace)
	loaded, err := content.LoadRevision(ctx, contents, revision)
	if err != nil {
		return view.Diff{}, fmt.Errorf("loading revision %d: %w", revision.Spec.Revision, err)
	}
	// What is known of each object is from the newest revision that has put it in place.
	loaded.Records = map[revisions.ObjectID]revisions.Record{}
	for _, standing := range slices.Backward(history.Sort(v.Package, v.Revisions).Standing()) {
		maps.Copy(loaded.Records, content.Records(standing.Status))
	}
	if o.object != "" {
		loaded = onlyLoaded(loaded, o.object)
	}
	tried, err := c.planner(contents).Trial(ctx, v.Package, loaded)
	if err != nil {
		return view.Diff{}, err
	}
	doc := view.Diff{TypeMeta: view.DocumentType("Diff"), Package: v.Package.Name, FromRevision: revision.Spec.Revision, Live: true, Objects: []view.DiffObject{}}
	for i := range tried {
		object, err := view.DriftOf(&tried[i], o.Comparison, revision.Spec.Revision)
		if err != nil {
			return doc, err
		}
		switch object.Difference {
		case "":
			doc.Same++
			continue
		case view.DifferenceForeign:
			doc.Same++
		default:
			doc.Different = true
		}
		doc.Objects = append(doc.Objects, object)
	}
	doc.Summary = view.SummaryOf(doc)
	return doc, nil
}

// onlyLoaded is a revision with the objects that an argument names.
func onlyLoaded(revision revisions.Revision, argument string) revisions.Revision {
	var phases []revisions.Phase
	for _, phase := range revision.Phases {
		phase.Objects = slices.DeleteFunc(slices.Clone(phase.Objects), func(object revisions.Object) bool {
			return !view.NamesObject(argument, view.ReferenceOf(object.Manifest))
		})
		phases = append(phases, phase)
	}
	revision.Phases = phases
	return revision
}
