// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/history"
)

type getOptions struct {
	output   outputFlag
	selector string
	states   []string
	watch    bool
	// scope are flags that kubectl's users type: packages have no namespace.
	everywhere bool
	namespace  string
}

func (a *app) getCommand() *cobra.Command {
	var o getOptions
	cmd := &cobra.Command{
		Use:     "get [NAME...]",
		Aliases: []string{"list", "ls"},
		Short:   "List packages: what runs, what rolls out, how far it is",
		Long: `List packages: what runs, what rolls out, how far it is.

Packages have no namespace: -A and -n change nothing. -w lists the packages and
then adds a row for each that changes, as "kubectl get -w" does, until it is
interrupted; of one package that is named it follows the rollout in place, as
"strata status -w" does.

CURRENT is the newest revision that has succeeded, TARGET the one that rolls
out. STATE is what the rollout does; PHASE and PROBES count what is complete of
it. AVAILABLE tells whether the package serves. -o json and -o yaml write the
Package objects: a List, or the object itself when one name is given.

Exit codes: 0; 2 usage; 6 one of the names is no package, or Strata is not
installed; 7 no cluster answers.

Rights: list packages.strata.run, to name some: get, with --watch: watch.`,
		Example: `  strata get
  strata get istiod-openshift-gateway -o wide
  strata get -o json`,
		ValidArgsFunction: a.completePackages(-1),
		RunE:              a.run(func(ctx context.Context, args []string) error { return a.get(ctx, o, withoutType(args)) }),
	}
	addOutput(cmd, &o.output, outputWide, outputJSON, outputYAML, outputName, outputJSONPath)
	cmd.Flags().StringSliceVar(&o.states, "state", nil, "only packages in these states, such as RollingOut, Failed or Paused")
	cmd.Flags().BoolVarP(&o.watch, "watch", "w", false, "list each package that changes as well; of one that is named follow the rollout")
	cmd.Flags().BoolVarP(&o.everywhere, "all-namespaces", "A", false, "changes nothing: packages have no namespace")
	cmd.Flags().StringVarP(&o.namespace, "namespace", "n", "", "changes nothing: packages have no namespace")
	// The error is for a flag that does not exist.
	_ = cmd.RegisterFlagCompletionFunc("state", cobra.FixedCompletions(packageStates, cobra.ShellCompDirectiveNoFileComp))
	cmd.Flags().StringVarP(&o.selector, "selector", "l", "", "only packages with these labels, such as strata.run/front=kyma")
	return cmd
}

func (a *app) get(ctx context.Context, o getOptions, args []string) error {
	if err := o.validate(); err != nil {
		return err
	}
	selector, err := labels.Parse(o.selector)
	if err != nil {
		return exitf(CodeUsage, "flag --selector: %w", err)
	}
	switch {
	case o.selector != "" && len(args) > 0:
		return exitf(CodeUsage, "give names or --selector, not both")
	case o.namespace != "":
		a.note("Note: packages have no namespace: --namespace changes nothing.")
	}
	c, err := a.connect()
	if err != nil {
		return err
	}
	switch {
	case o.watch && len(args) == 1:
		return a.watch(ctx, c, watchOptions{name: packageName(args[0]), output: o.output})
	case o.watch:
		return a.watchList(ctx, c, o, selector, args)
	}
	packages, missing, err := c.selectPackages(ctx, selector, args)
	if err != nil {
		return err
	}
	packages = inStates(packages, o.states, a.now())
	if err := a.printPackages(o.output, packages, len(args) == 1); err != nil {
		return err
	}
	if len(missing) > 0 {
		return c.notFound(ctx, missing...)
	}
	return nil
}

// withoutType leaves out the type that kubectl has before names.
func withoutType(args []string) []string {
	if len(args) > 0 && slices.Contains([]string{"packages", "package", "spkg", "pkg", "packages.strata.run"}, args[0]) {
		return args[1:]
	}
	return args
}

// packageStates are the values of --state: the states that a package can be in, and
// words for several of them.
var packageStates = []string{
	string(VerdictFailed), v1alpha1.ReasonPaused, v1alpha1.ReasonRolledBack, statePending, v1alpha1.ReasonNoRevision, v1alpha1.ReasonRollingOut,
	v1alpha1.ReasonRolledOut, v1alpha1.ReasonAwaitingApproval, v1alpha1.ReasonPreflightFailed, v1alpha1.ReasonPermissionDenied,
	v1alpha1.ReasonObjectCollisions, v1alpha1.ReasonRolloutError, v1alpha1.ReasonObjectRefused, v1alpha1.ReasonInvalidSpec, v1alpha1.ReasonContentUnavailable,
	v1alpha1.ReasonProgressDeadlineExceeded, v1alpha1.ReasonRollbackRefused, v1alpha1.ReasonSuperseded, v1alpha1.ReasonTearingDown, v1alpha1.ReasonTeardownStuck,
}

func (o *getOptions) validate() error {
	for _, state := range o.states {
		if !slices.ContainsFunc(packageStates, func(known string) bool { return strings.EqualFold(known, state) }) {
			return exitf(CodeUsage, "flag --state: there is no state %q; there are: %s", state, strings.Join(packageStates, ", "))
		}
	}
	return nil
}

// inStates are the packages in some states; all without states.
func inStates(packages []v1alpha1.Package, states []string, now time.Time) []v1alpha1.Package {
	if len(states) == 0 {
		return packages
	}
	return slices.DeleteFunc(packages, func(p v1alpha1.Package) bool {
		summary := summarisePackage(&p, nil)
		state := summary.State
		return !slices.ContainsFunc(states, func(wanted string) bool {
			return strings.EqualFold(wanted, state) || strings.EqualFold(wanted, v1alpha1.ReasonRolledBack) && summary.RolledBack ||
				strings.EqualFold(wanted, string(VerdictFailed)) && (terminalReasons[state] || terminalTeardowns[state]) ||
				strings.EqualFold(wanted, v1alpha1.ReasonPaused) && history.PauseOf(&p, now) != nil
		})
	})
}

// selectPackages reads the packages of some names in their order, or all that a
// selector takes. Names that do not exist are returned.
func (c *cluster) selectPackages(ctx context.Context, s labels.Selector, names []string) ([]v1alpha1.Package, []string, error) {
	if len(names) == 0 {
		all, err := c.packages(ctx, s)
		return all, nil, err
	}
	var found []v1alpha1.Package
	var missing []string
	for _, arg := range names {
		p := &v1alpha1.Package{}
		err := c.client.Get(ctx, client.ObjectKey{Name: packageName(arg)}, p)
		switch {
		case apierrors.IsNotFound(err) && !isMissingKind(err):
			missing = append(missing, packageName(arg))
		case err != nil:
			return nil, nil, c.explain("reading package "+packageName(arg), err)
		default:
			found = append(found, *p)
		}
	}
	return found, missing, nil
}

func (a *app) printPackages(o outputFlag, packages []v1alpha1.Package, single bool) error {
	p := a.stdout(o.value)
	switch {
	case single && len(packages) == 0:
		return nil
	case o.isDocument():
		return printDocument(p, o.value, packageDocument(packages, single))
	case o.value == outputName:
		for i := range packages {
			p.Line(output.Span{Text: "package." + v1alpha1.GroupVersion.Group + "/" + packages[i].Name})
		}
	case len(packages) == 0:
		a.note("No packages found.")
	default:
		writePackages(p, packages, o.value == outputWide, a.now())
		for i := range packages {
			if pause := history.PauseOf(&packages[i], a.now()); pause != nil && o.value != outputWide {
				a.note("Note: %s is %s.", packages[i].Name, pauseText(pause))
			}
			if s := summarisePackage(&packages[i], nil); s.RolledBack && o.value != outputWide {
				a.note("Note: %s is rolled back: %s.", s.Name, strings.TrimSuffix(s.Message, "."))
			}
		}
	}
	return p.Err()
}

// packageDocument is a List of the objects, or the object when one was asked for.
func packageDocument(packages []v1alpha1.Package, single bool) any {
	items := make([]v1alpha1.Package, len(packages))
	for i := range packages {
		packages[i].DeepCopyInto(&items[i])
		items[i].TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Package"}
		items[i].ManagedFields = nil
	}
	if single {
		return items[0]
	}
	return v1alpha1.PackageList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "List"}, Items: items}
}

// writePackages writes the table of packages.
func writePackages(p *output.Printer, packages []v1alpha1.Package, wide bool, now time.Time) {
	columns := []output.Column{
		{Head: "NAME"}, {Head: "CURRENT", Short: "CUR"}, {Head: "TARGET", Short: "TGT"}, {Head: "VERSION"}, {Head: "STATE"},
		{Head: "PHASE"}, {Head: "PROBES"}, {Head: "AVAILABLE", Short: "AVAIL"}, {Head: "AGE"},
	}
	if wide {
		columns = append(columns, output.Column{Head: "PAUSED"}, output.Column{Head: "READY"}, output.Column{Head: "FRONT"}, output.Column{Head: "MESSAGE"})
	}
	rows := make([][]output.Cell, len(packages))
	for i := range packages {
		rows[i] = packageRow(&packages[i], wide, now)
	}
	p.Table(columns, rows)
}

func packageRow(pkg *v1alpha1.Package, wide bool, now time.Time) []output.Cell {
	s := summarisePackage(pkg, nil)
	row := []output.Cell{
		{Text: s.Name},
		{Text: number(s.CurrentRevision)},
		{Text: number(s.TargetRevision)},
		{Text: s.Version},
		{Text: s.State, Style: stateStyle(s.State)},
		{Text: pkg.Status.Phase},
		{Text: pkg.Status.Probes},
		{Text: s.Available, Style: truthStyle(s.Available)},
		{Text: age(now, pkg.CreationTimestamp)},
	}
	if wide {
		row = append(row, output.Cell{Text: pausedCell(history.PauseOf(pkg, now)), Style: output.Busy}, output.Cell{Text: s.Ready, Style: truthStyle(s.Ready)}, output.Cell{Text: s.Front}, output.Cell{Text: s.Message})
	}
	return row
}

// pausedCell says who paused and why.
func pausedCell(pause *v1alpha1.Pause) string {
	switch {
	case pause == nil:
		return ""
	case pause.By == "":
		return pause.Reason
	}
	return pause.By + ": " + pause.Reason
}

// stateStyle is the style of a package's state or a revision's outcome.
func stateStyle(state string) output.Style {
	switch state {
	case v1alpha1.ReasonRolledOut, outcomeSucceeded:
		return output.Good
	case v1alpha1.ReasonRollingOut, v1alpha1.ReasonPaused, v1alpha1.ReasonTearingDown, v1alpha1.ReasonArchiving, v1alpha1.ReasonAwaitingApproval, statePending:
		return output.Busy
	case v1alpha1.ReasonArchived, v1alpha1.ReasonNoRevision, outcomeSuperseded:
		return output.Plain
	default:
		return output.Bad
	}
}

// truthStyle is the style of a condition's status.
func truthStyle(status string) output.Style {
	switch status {
	case string(metav1.ConditionTrue):
		return output.Good
	case string(metav1.ConditionFalse):
		return output.Bad
	default:
		return output.Busy
	}
}
