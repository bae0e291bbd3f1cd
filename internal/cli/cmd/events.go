// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/cli/view"
)

type eventsOptions struct {
	output  outputFormat
	watch   bool
	timeout time.Duration
	types   []string
}

func (a *app) eventsCommand() *cobra.Command {
	var o eventsOptions
	cmd := &cobra.Command{
		Use:   "events PACKAGE",
		Short: "List the events of a package, its revisions, objects and pods",
		Long: `Show the events about a package, its revisions, the objects that these have in
place, and the pods and ReplicaSets of the workloads among them, in the order of
their times. An event about a pod is found by its name, so it is shown also when
the pod is gone. The API server keeps events for an hour by default.

With --watch events are shown as they come, until the time is over. With -o json
each event is then one document on one line.

Exit codes: 0; 2 usage; 6 there is no such package; 7 no cluster answers.

Rights: get packages.strata.run; list revisions.strata.run; list events in the
namespace default and in those of the objects, as far as you may.`,
		Example: `  strata events istiod-openshift-gateway
  strata events istiod-openshift-gateway --types Warning -w`,
	}
	a.onPackage(cmd, func(ctx context.Context, name string) error {
		if o.timeout != 0 && !o.watch {
			return exitf(CodeUsage, "--timeout is for --watch")
		}
		for _, kind := range o.types {
			if kind != corev1.EventTypeNormal && kind != corev1.EventTypeWarning {
				return exitf(CodeUsage, "flag --types: %q is neither Normal nor Warning", kind)
			}
		}
		return a.events(ctx, o, name)
	})
	addOutput(cmd, &o.output, outputWide, outputJSON, outputYAML, outputJSONPath)
	cmd.Flags().BoolVarP(&o.watch, "watch", "w", false, "show events as they come")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 0, "with --watch: for how long, 0 without limit")
	cmd.Flags().StringSliceVar(&o.types, "types", nil, "only events of these types: Normal, Warning")
	return cmd
}

func (a *app) events(ctx context.Context, o eventsOptions, name string) error {
	c, v, err := a.readPackage(ctx, name)
	if err != nil {
		return err
	}
	if o.watch {
		w := &eventWatcher{options: o, name: name, known: map[string][]*corev1.Event{}, shown: map[string]int32{}, out: a.stdout(o.output)}
		w.follower = c.followPackage(a.note, o.timeout, name)
		if err := w.until(ctx, "watching events", w.next); !errors.Is(err, errOver) {
			return err
		}
		return nil
	}
	scope := view.ScopeOf(name, v.Revisions)
	doc := view.Events{TypeMeta: view.DocumentType("Events"), Package: name}
	doc.Events, doc.Unread = c.readEvents(ctx, scope)
	doc.Events = o.only(doc.Events)
	for _, text := range doc.Unread {
		a.note("Note: %s", text)
	}
	return a.print(o.output, doc, func(p *output.Printer) {
		switch {
		case len(doc.Events) == 0:
			a.note("No events about package %s. The API server forgets them after some time.", name)
		case o.output == outputWide:
			view.WriteEventTable(p, doc.Events, a.now())
		default:
			for _, e := range doc.Events {
				view.WriteEvent(p, e, fmt.Sprintf("%-4s", view.Age(a.now(), e.Time)))
			}
		}
	})
}

func (o eventsOptions) only(list []view.PackageEvent) []view.PackageEvent {
	if len(o.types) == 0 {
		return list
	}
	return slices.DeleteFunc(list, func(e view.PackageEvent) bool { return !slices.Contains(o.types, e.Type) })
}

// readEvents reads the events of a scope. The texts say which could not be read.
func (c *cluster) readEvents(ctx context.Context, scope view.EventScope) ([]view.PackageEvent, []string) {
	var all []corev1.Event
	var unread []string
	for _, namespace := range scope.Namespaces {
		var list corev1.EventList
		if err := c.client.List(ctx, &list, client.InNamespace(namespace)); err != nil {
			unread = append(unread, fmt.Sprintf("events of namespace %s are not shown: %s", namespace, err))
			continue
		}
		all = append(all, list.Items...)
	}
	return scope.EventsIn(all), unread
}

type eventWatcher struct {
	*follower

	options eventsOptions
	name    string
	out     *output.Printer
	// known are the events that were read, by namespace, for those that are watched; shown is
	// the count that each had when it was shown last.
	known map[string][]*corev1.Event
	shown map[string]int32
}

func (w *eventWatcher) next(ctx context.Context) (bool, error) {
	if !w.complete() {
		return false, nil
	}
	if w.snapshot.Package == nil {
		return false, exitf(CodeNotFound, "package %s was deleted", w.name)
	}
	scope := view.ScopeOf(w.name, w.snapshot.Revisions)
	for _, namespace := range scope.Namespaces {
		if _, watched := w.known[namespace]; !watched {
			w.known[namespace] = nil
			w.start(ctx, w.eventFeed(namespace))
		}
	}
	var all []corev1.Event
	for _, namespace := range scope.Namespaces {
		for _, e := range w.known[namespace] {
			all = append(all, *e)
		}
	}
	for _, e := range w.options.only(scope.EventsIn(all)) {
		if w.shown[e.ID()] == e.Count {
			continue
		}
		w.shown[e.ID()] = e.Count
		if w.options.output.isDocument() {
			w.out.JSONLine(e)
			continue
		}
		view.WriteEvent(w.out, e, view.Stamp(e.Time.Time))
	}
	return false, w.out.Err()
}

func (w *eventWatcher) eventFeed(namespace string) feed {
	noted := false
	return feed{
		newList: func() client.ObjectList { return &corev1.EventList{} },
		options: []client.ListOption{client.InNamespace(namespace)},
		set:     func(objects []any) { w.known[namespace] = of[*corev1.Event](objects) },
		failed: func(err error) {
			if !noted {
				w.note("Note: some events are not shown: %s", err)
			}
			noted = true
		},
	}
}
