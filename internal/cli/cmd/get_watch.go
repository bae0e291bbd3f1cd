// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/cli/view"
)

// listWatcher follows packages as a list: first all of them, then each that changes.
type listWatcher struct {
	*follower

	app     *app
	options getOptions
	out     *output.Printer
	// names are the packages that are followed, empty for all.
	names []string
	// known are the packages as they were read last, nil before the first list.
	known map[string]v1alpha1.Package
	// shown is what was written of a package last.
	shown map[string]string
	// begun is set once the packages have been listed, headed once one was written.
	begun, headed bool
}

// watchList follows packages until the context ends.
func (a *app) watchList(ctx context.Context, c *cluster, o getOptions, selector labels.Selector, args []string) error {
	w := &listWatcher{app: a, options: o, out: a.stdout(o.output.value), shown: map[string]string{}}
	for _, arg := range args {
		w.names = append(w.names, packageName(arg))
	}
	w.follower = c.follow(a.note, 0, w.feed(selector))
	return w.until(ctx, "following packages", w.next)
}

// feed watches the packages that a selector takes.
func (w *listWatcher) feed(selector labels.Selector) feed {
	return feed{
		newList: func() client.ObjectList { return &v1alpha1.PackageList{} },
		options: []client.ListOption{client.MatchingLabelsSelector{Selector: selector}},
		set: func(objects []runtime.Object) {
			w.known = map[string]v1alpha1.Package{}
			for _, p := range of[*v1alpha1.Package](objects) {
				w.known[p.Name] = *p
			}
		},
	}
}

func (w *listWatcher) next(ctx context.Context) (bool, error) {
	if w.known == nil {
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
	case w.options.output.value == outputName:
		return pkg.Name
	}
	var texts []string
	for _, cell := range view.PackageRow(pkg, w.options.output.value == outputWide, pkg.CreationTimestamp.Time) {
		texts = append(texts, cell.Text)
	}
	return strings.Join(texts, "\x00")
}

func (w *listWatcher) write(packages []v1alpha1.Package) error {
	o := w.options.output
	wide := o.value == outputWide
	switch {
	case len(packages) == 0:
	case o.isDocument() || o.value == outputName:
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

// writeDocuments writes each package by itself: in JSON one a line, in YAML as a stream.
func (w *listWatcher) writeDocuments(packages []v1alpha1.Package) error {
	o := w.options.output
	for i := range packages {
		one := packages[i : i+1]
		if o.value == outputJSON {
			w.out.JSONLine(view.PackageDocument(one, true))
			continue
		}
		if o.value == outputYAML && w.headed {
			w.out.Line(output.Span{Text: "---"})
		}
		w.headed = true
		if err := w.app.printPackages(o, one, true); err != nil {
			return err
		}
	}
	return w.out.Err()
}
