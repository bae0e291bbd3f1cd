// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/cli/view"
	"github.com/strata-run/strata/internal/history"
)

type getOptions struct {
	output   outputFormat
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
		RunE:              a.run(func(ctx context.Context, args []string) error { return a.get(ctx, o, packageNames(args)) }),
	}
	addOutput(cmd, &o.output, outputWide, outputJSON, outputYAML, outputName, outputJSONPath)
	cmd.Flags().StringSliceVar(&o.states, "state", nil, "only packages in these states, such as RollingOut, Failed or Paused")
	cmd.Flags().BoolVarP(&o.watch, "watch", "w", false, "list each package that changes as well; of one that is named follow the rollout")
	cmd.Flags().BoolVarP(&o.everywhere, "all-namespaces", "A", false, "changes nothing: packages have no namespace")
	cmd.Flags().StringVarP(&o.namespace, "namespace", "n", "", "changes nothing: packages have no namespace")
	complete(cmd, "state", cobra.FixedCompletions(view.PackageStates, cobra.ShellCompDirectiveNoFileComp))
	cmd.Flags().StringVarP(&o.selector, "selector", "l", "", "only packages with these labels, such as strata.run/front=kyma")
	return cmd
}

func (a *app) get(ctx context.Context, o getOptions, names []string) error {
	for _, state := range o.states {
		if !slices.ContainsFunc(view.PackageStates, func(known string) bool { return strings.EqualFold(known, state) }) {
			return exitf(CodeUsage, "flag --state: there is no state %q; there are: %s", state, strings.Join(view.PackageStates, ", "))
		}
	}
	selector, err := labels.Parse(o.selector)
	if err != nil {
		return exitf(CodeUsage, "flag --selector: %w", err)
	}
	switch {
	case o.selector != "" && len(names) > 0:
		return exitf(CodeUsage, "give names or --selector, not both")
	case o.namespace != "":
		a.note("Note: packages have no namespace: --namespace changes nothing.")
	}
	c, err := a.connect()
	if err != nil {
		return err
	}
	switch {
	case o.watch && len(names) == 1:
		_, err := a.watchToEnd(ctx, c, watchOptions{name: names[0], output: o.output})
		return err
	case o.watch:
		w := &listWatcher{app: a, options: o, names: names, out: a.stdout(o.output), shown: map[string]string{}}
		w.follower = c.follow(a.note, 0, w.feed(selector))
		return w.until(ctx, "following packages", w.next)
	}
	packages, missing, err := c.selectPackages(ctx, selector, names)
	if err != nil {
		return err
	}
	packages = view.InStates(packages, o.states, a.now())
	if err := a.printPackages(o.output, packages, len(names) == 1); err != nil {
		return err
	}
	if len(missing) > 0 {
		return c.notFound(ctx, missing...)
	}
	return nil
}

// packageNames are the names in arguments, which may have the type before them, as kubectl does.
func packageNames(args []string) []string {
	if len(args) > 0 && (slices.Contains(packageTypes, args[0]) || args[0] == "packages.strata.run") {
		args = args[1:]
	}
	names := make([]string, len(args))
	for i, arg := range args {
		names[i] = packageName(arg)
	}
	return names
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
	for _, name := range names {
		pkg, exists, err := c.find(ctx, name)
		switch {
		case err != nil:
			return nil, nil, err
		case exists:
			found = append(found, *pkg)
		default:
			missing = append(missing, name)
		}
	}
	return found, missing, nil
}

func (a *app) printPackages(o outputFormat, packages []v1alpha1.Package, single bool) error {
	p := a.stdout(o)
	switch {
	case single && len(packages) == 0:
		return nil
	case o.isDocument():
		return printDocument(p, o, view.PackageDocument(packages, single))
	case o == outputName:
		for i := range packages {
			p.Line(output.Span{Text: "package." + v1alpha1.GroupVersion.Group + "/" + packages[i].Name})
		}
	case len(packages) == 0:
		a.note("No packages found.")
	default:
		view.WritePackages(p, packages, o == outputWide, a.now())
		for i := range packages {
			if pause := history.PauseOf(&packages[i], a.now()); pause != nil && o != outputWide {
				a.note("Note: %s is %s.", packages[i].Name, view.PauseText(pause))
			}
			if s := view.SummarisePackage(&packages[i], nil); s.RolledBack && o != outputWide {
				a.note("Note: %s is rolled back: %s.", s.Name, strings.TrimSuffix(s.Message, "."))
			}
		}
	}
	return p.Err()
}

// listWatcher follows packages as a list: first all of them, then each that changes.
type listWatcher struct {
	*follower

	app     *app
	options getOptions
	out     *output.Printer
	// names are the packages that are followed, empty for all.
	names []string
	// known are the packages as they were read last.
	known map[string]v1alpha1.Package
	// shown is what was written of a package last.
	shown map[string]string
	// begun is set once the packages have been listed, headed once one was written.
	begun, headed bool
}

func (w *listWatcher) feed(selector labels.Selector) feed {
	return feed{
		newList: func() client.ObjectList { return &v1alpha1.PackageList{} },
		options: []client.ListOption{client.MatchingLabelsSelector{Selector: selector}},
		set: func(objects []any) {
			w.known = map[string]v1alpha1.Package{}
			for _, p := range of[*v1alpha1.Package](objects) {
				w.known[p.Name] = *p
			}
		},
	}
}

func (w *listWatcher) next(ctx context.Context) (bool, error) {
	if !w.complete() {
		return false, nil
	}
	if !w.begun {
		w.begun = true
		for _, name := range w.names {
			if _, found := w.known[name]; !found {
				return false, w.cluster.notFound(ctx, name)
			}
		}
		if len(w.known) == 0 {
			w.app.note("No packages found; waiting for some.")
		}
	}
	for name := range maps.Clone(w.shown) {
		if _, there := w.known[name]; !there {
			delete(w.shown, name)
			w.app.note("Package %s was deleted.", name)
		}
	}
	return false, w.write(w.changed())
}

// changed are the packages of which something else is to be written than before, by name.
func (w *listWatcher) changed() []v1alpha1.Package {
	var changed []v1alpha1.Package
	for _, name := range slices.Sorted(maps.Keys(w.known)) {
		if len(w.names) > 0 && !slices.Contains(w.names, name) {
			continue
		}
		for _, pkg := range view.InStates([]v1alpha1.Package{w.known[name]}, w.options.states, w.app.now()) {
			if text := w.textOf(&pkg); w.shown[name] != text {
				w.shown[name] = text
				changed = append(changed, pkg)
			}
		}
	}
	return changed
}

// textOf is what is compared to find out whether a package has changed. Its age is left
// out.
func (w *listWatcher) textOf(pkg *v1alpha1.Package) string {
	switch {
	case w.options.output.isDocument():
		return pkg.ResourceVersion
	case w.options.output == outputName:
		return pkg.Name
	}
	var texts []string
	for _, cell := range view.PackageRow(pkg, w.options.output == outputWide, pkg.CreationTimestamp.Time) {
		texts = append(texts, cell.Text)
	}
	return strings.Join(texts, "\x00")
}

func (w *listWatcher) write(packages []v1alpha1.Package) error {
	o := w.options.output
	wide := o == outputWide
	switch {
	case len(packages) == 0:
	case o.isDocument() || o == outputName:
		return w.writeDocuments(packages)
	case !w.headed:
		w.headed = true
		view.WritePackages(w.out, packages, wide, w.app.now())
	default:
		rows := make([][]output.Cell, len(packages))
		for i := range packages {
			rows[i] = view.PackageRow(&packages[i], wide, w.app.now())
		}
		w.out.MoreRows(rows)
	}
	return w.out.Err()
}

// writeDocuments writes each package by itself.
func (w *listWatcher) writeDocuments(packages []v1alpha1.Package) error {
	o := w.options.output
	for i := range packages {
		one := packages[i : i+1]
		var err error
		if o.isDocument() {
			err = printNext(w.out, o, view.PackageDocument(one, true), !w.headed)
		} else {
			err = w.app.printPackages(o, one, true)
		}
		if err != nil {
			return err
		}
		w.headed = true
	}
	return w.out.Err()
}
