// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/diff"
	"github.com/strata-run/strata/internal/history"
	"github.com/strata-run/strata/revisions"
	"github.com/strata-run/strata/revisions/probes"
)

// outputUnified is lines of YAML that were taken out and put in.
const outputUnified outputFormat = "unified"

// noise are fields that change with every version of a chart and do nothing: labels
// and annotations of the objects themselves. Those of pod templates restart pods, and
// always count. Beside them the collision protection of whole phases does not count: an
// import sets it, and it matters only for objects that are not the package's yet.
var noise = []string{
	`.metadata.labels["helm.sh/chart"]`, `.metadata.labels["chart"]`, `.metadata.labels["heritage"]`, `.metadata.labels["app.kubernetes.io/version"]`,
	`.metadata.labels["app.kubernetes.io/managed-by"]`, `.metadata.annotations["meta.helm.sh/release-name"]`,
	`.metadata.annotations["meta.helm.sh/release-namespace"]`,
}

type diffOptions struct {
	output           outputFlag
	live             bool
	object           string
	ignore           []string
	noise            bool
	managerNamespace string

	comparison
}

// comparison is how contents are compared and shown.
type comparison struct {
	// patterns are the fields that do not count.
	patterns    []probes.Pattern
	showSecrets bool
	// keepNames does not look for objects that were renamed.
	keepNames bool
	// context is how many lines of context a unified difference has.
	context int
}

func (c comparison) options() diff.Options {
	return diff.Options{Ignore: c.patterns, ShowSecrets: c.showSecrets, KeepNames: c.keepNames}
}

func (o *diffOptions) validate(args []string) error {
	switch {
	case o.live && len(args) > 2:
		return exitf(CodeUsage, "--live compares one revision with the cluster: %s is one too many", args[2])
	case o.context < 0:
		return exitf(CodeUsage, "flag --context-lines: is %d and must not be negative", o.context)
	}
	if !o.noise {
		o.patterns = noisePatterns()
	}
	for _, text := range o.ignore {
		pattern, err := probes.ParsePattern(text)
		if err != nil {
			// A path with an index, as it is printed for lists that have nothing better.
			path, pathErr := probes.ParsePath(text)
			if pathErr != nil {
				return exitf(CodeUsage, "flag --ignore: %w", err)
			}
			pattern = path.Pattern()
		}
		o.patterns = append(o.patterns, pattern)
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
		Args:              packageAndTwoRevisions,
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
	f.StringArrayVar(&o.ignore, "ignore", nil, "a field that does not count, as it is printed, such as .spec.replicas or .metadata.annotations['example.com/note']; [*] is every entry of a list; can be given more than once")
	f.BoolVar(&o.noise, "noise", false, "also count labels that change with each version of a chart, and the collision protection of whole phases")
	f.BoolVar(&o.keepNames, "no-renames", false, "do not look for objects that were renamed")
	f.BoolVar(&o.showSecrets, "show-secrets", false, "show the values of Secrets")
	f.IntVar(&o.context, "context-lines", 3, "with -o unified: how many lines of context")
	addManagerNamespace(cmd, &o.managerNamespace)
	// The error is for a flag that does not exist.
	_ = cmd.RegisterFlagCompletionFunc("object", a.completeObjects)
	return cmd
}

// packageAndTwoRevisions is the check of a command that takes a package and up to two
// revisions.
func packageAndTwoRevisions(cmd *cobra.Command, args []string) error {
	if len(args) > 3 {
		return fmt.Errorf("a package and two revisions: %s is one too many", args[3])
	}
	for _, arg := range args[min(len(args), 1):] {
		if _, err := revisionNumber(arg); err != nil {
			return err
		}
	}
	return onePackage(cmd, args[:min(len(args), 1)])
}

// completeContents completes a package and then as many revisions of it as are given.
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
	if err == nil || code == CodeInterrupted || code == CodeUsage || isSilent(err) {
		return err
	}
	return &ExitError{Code: CodeUsage, Err: err}
}

func (a *app) diff(ctx context.Context, o diffOptions, args []string) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	pkg, revisions, err := c.packageAndRevisions(ctx, packageName(args[0]))
	if err != nil {
		return err
	}
	var doc Diff
	if o.live {
		doc, err = a.liveDiff(ctx, c, o, pkg, revisions, args)
	} else {
		doc, err = a.revisionDiff(ctx, c, o, pkg, revisions, args)
	}
	if err != nil {
		return err
	}
	p := a.stdout(o.output.value)
	if err := printDiff(p, o, doc); err != nil {
		return err
	}
	if doc.Different {
		return &ExitError{Code: CodeFalse}
	}
	return nil
}

// revisionDiff compares two revisions.
func (a *app) revisionDiff(ctx context.Context, c *cluster, o diffOptions, pkg *v1alpha1.Package, revisions []v1alpha1.Revision, args []string) (Diff, error) {
	from, to, err := chooseDiff(pkg, revisions, args[1:])
	if err != nil {
		return Diff{}, err
	}
	result, unread, err := a.compareRevisions(ctx, c, o, from, to)
	if err != nil {
		return Diff{}, err
	}
	doc, err := buildDiff(from, to, result, o.comparison)
	if unread {
		doc.addUnread(from, to)
		a.note("Warning: %s", doc.Unread)
	}
	return doc, err
}

// compareRevisions compares two revisions; unread is true when Secrets could not be read.
func (a *app) compareRevisions(ctx context.Context, c *cluster, o diffOptions, from, to *v1alpha1.Revision) (result diff.Result, unread bool, err error) {
	r := newReader(c.contents(o.managerNamespace), true)
	before, err := a.readFor(ctx, r, from)
	if err != nil {
		return result, false, err
	}
	after, err := a.readFor(ctx, r, to)
	if err != nil {
		return result, false, err
	}
	unread = slices.ContainsFunc([]error{before.unread, after.unread}, func(err error) bool { return err != nil })
	return diff.Contents(objectsOf(before, o.object, o.noise), objectsOf(after, o.object, o.noise), o.options()), unread, nil
}

// addUnread adds what is known of Secrets that could not be read.
func (d *Diff) addUnread(from, to *v1alpha1.Revision) {
	d.Unread = unreadSecrets(from, to)
	d.Different = d.Different || !slices.Equal(secretsOf(from), secretsOf(to))
}

// unreadSecrets says whether the manifests of kind Secret of two revisions differ, as far
// as the names of the Secrets that store them show: the names contain a digest.
func unreadSecrets(from, to *v1alpha1.Revision) string {
	if slices.Equal(secretsOf(from), secretsOf(to)) {
		return "you may not read the Secrets of the two revisions; their digests are the same"
	}
	stored := map[revisions.ObjectID]string{}
	each := func(revision *v1alpha1.Revision, do func(item)) {
		for _, items := range itemsOf(revision, sliceCache{}) {
			for _, it := range items {
				if it.secret != "" && it.isNamed() {
					do(it)
				}
			}
		}
	}
	each(from, func(it item) { stored[identityOf(it.ref)] = it.digest })
	var names []string
	each(to, func(it item) {
		if stored[identityOf(it.ref)] != it.digest {
			names = append(names, objectName(it.ref))
		}
	})
	text := "Secrets of the two revisions differ, and you may not read in what"
	if len(names) > 0 {
		text += ": look at " + some(names)
	}
	return text
}

// chooseDiff are the revisions that the arguments name.
func chooseDiff(pkg *v1alpha1.Package, revisions []v1alpha1.Revision, args []string) (from, to *v1alpha1.Revision, err error) {
	var numbers [2]int64
	for i, arg := range args {
		numbers[i], _ = revisionNumber(arg) // checked with the arguments
	}
	if to, err = revisionOr(pkg, revisions, numbers[1]); err != nil {
		return nil, nil, err
	}
	if len(args) > 0 {
		from, err = revisionNumbered(pkg.Name, revisions, numbers[0])
		return from, to, err
	}
	line := history.Sort(pkg, revisions)
	for _, revision := range line.All() {
		if revision.Spec.Revision < to.Spec.Revision {
			return revision, to, nil
		}
	}
	return nil, nil, exitf(CodeNotFound, "package %s has no revision before %d", pkg.Name, to.Spec.Revision)
}

// readFor reads a revision. Secrets that may not be read are left out: their digests say
// whether they differ.
func (a *app) readFor(ctx context.Context, r *reader, revision *v1alpha1.Revision) (storedContent, error) {
	read, err := r.read(ctx, revision)
	if err != nil {
		return read, fmt.Errorf("reading revision %d: %w", revision.Spec.Revision, err)
	}
	if read.unread != nil && !read.onlySecrets {
		return read, exitf(CodeUsage, "comparing revision %d: not all of it could be read: %w", revision.Spec.Revision, read.unread)
	}
	return read, nil
}

// objectsOf are the objects of a content, or those that an argument names. What is set for
// a whole phase is set of none of them, unless all is asked for.
func objectsOf(content storedContent, argument string, all bool) []diff.Object {
	var objects []diff.Object
	for _, phase := range content.phases {
		protection := phase.CollisionProtection
		if !all {
			protection = ""
		}
		for _, object := range phase.Objects {
			manifest := object.unstructured()
			if manifest == nil || argument != "" && !namesObject(argument, referenceOf(manifest)) {
				continue
			}
			objects = append(objects, diff.Object{Manifest: manifest, Phase: phase.Name, Settings: settingsOf(object, protection)})
		}
	}
	return objects
}

// settingsOf are how an object is treated, as far as it is set; protection is its phase's.
func settingsOf(object StoredObject, protection v1alpha1.CollisionProtection) map[string]any {
	settings := map[string]any{}
	for name, value := range map[string]string{
		"collisionProtection": string(cmp.Or(object.CollisionProtection, protection)), "deletion": string(object.Deletion), "onImmutableChange": string(object.OnImmutableChange),
		"unmanagedFields": strings.Join(object.UnmanagedFields, " "), "exclusiveFields": strings.Join(object.ExclusiveFields, " "), "updatePhase": object.UpdatePhase,
	} {
		if value != "" {
			settings[name] = value
		}
	}
	if object.CreateOnce {
		settings["createOnce"] = true
	}
	return settings
}

// printDiff writes a difference in a format.
func printDiff(p *output.Printer, o diffOptions, doc Diff) error {
	switch {
	case o.output.isDocument():
		return printDocument(p, o.output.value, doc)
	case o.output.value == outputName:
		for i := range doc.Objects {
			p.Line(output.Span{Text: nameOf(doc.Objects[i].ObjectReference)})
		}
	case o.output.value == outputUnified:
		for i := range doc.Objects {
			writeUnified(p, doc.Objects[i].Unified)
		}
	default:
		writeDiff(p, doc)
	}
	return p.Err()
}

// isSilent says whether an error only carries a code.
func isSilent(err error) bool {
	var exit *ExitError
	return errors.As(err, &exit) && exit.Err == nil
}
