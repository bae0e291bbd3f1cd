// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"slices"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/cli/view"
	"github.com/strata-run/strata/internal/pods"
	"github.com/strata-run/strata/revisions"
)

const mostEvents = 5

func (a *app) explainCommand() *cobra.Command {
	var o outputFormat
	var registries registryOptions
	cmd := &cobra.Command{
		Use:   "explain PACKAGE",
		Short: "Say why a rollout is stuck, and which command helps",
		Long: `Say why a package is where it is: the first object that blocks it, what its
probe expects and what it finds, the pods that do not run, the last events of
both, the rights that are missing, who else changes its objects, what waits for
approval or is paused, when it is retried, and the command to run next. Of the
package of a ClusterExtension also which bundle it gets, and by which rule
others were left out; catalogs are read as strata catalog search reads them. A
ClusterExtension that could not be resolved yet, and has no package, is
explained by its name.

Exit codes: 0 whatever there is to say; 2 usage; 6 there is no such package; 7
no cluster answers. See status for codes that tell how a rollout stands.

Rights: get packages.strata.run; list revisions.strata.run; get
objectslices.strata.run. As far as you may: list pods, replicasets.apps and
events in the namespaces of the objects; for the bundle, those of strata
extension plan.`,
		Example: `  strata explain istiod-openshift-gateway`,
	}
	a.onPackage(cmd, func(ctx context.Context, name string) error { return a.explain(ctx, o, registries, name) })
	addOutput(cmd, &o, outputJSON, outputYAML, outputJSONPath)
	if _, found := extensionsFront(); found {
		registries.add(cmd)
	}
	return cmd
}

func (a *app) explain(ctx context.Context, o outputFormat, registries registryOptions, name string) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	e, err := a.explanation(ctx, c, registries, name)
	if err != nil {
		return err
	}
	return a.print(o, e, func(p *output.Printer) {
		view.WriteExplanation(p, e, a.now())
		for _, text := range e.Unread {
			a.note("Note: %s", text)
		}
	})
}

func (a *app) explanation(ctx context.Context, c *cluster, registries registryOptions, name string) (view.Explanation, error) {
	v, err := c.snapshot(ctx, name)
	if codeOf(err) == CodeNotFound {
		v.Package, err = c.packageOfExtension(ctx, name, err)
	}
	if err != nil {
		return view.Explanation{}, err
	}
	a.readDetails(ctx, c, &v, v.ShownRevisions(false))
	e := v.Explanation(a.now())
	scope := view.ScopeOf(name, v.Revisions)
	if b := e.Blocking; b != nil && b.Kind != "" {
		scope = view.EventScope{Objects: map[revisions.ObjectID]bool{}, Namespaces: []string{view.ClusterEvents}}
		scope.Add(b.ObjectReference)
		if b.Namespace != "" {
			scope.Namespaces = []string{b.Namespace}
		}
	} else {
		scope.Namespaces = []string{view.ClusterEvents}
		clear(scope.Objects)
	}
	e.Events, e.Unread = c.readEvents(ctx, scope)
	e.Events = slices.DeleteFunc(e.Events, func(event view.PackageEvent) bool { return isOfHealthyPod(event, e.Blocking) })
	if more := len(e.Events) - mostEvents; more > 0 {
		e.Events = e.Events[more:]
	}
	if e.Verdict == view.VerdictRolledOut && e.Package.Available == "True" {
		e.Events = []view.PackageEvent{}
	}
	a.addResolution(ctx, c, registries, v.Package, &e)
	return e, nil
}

// isOfHealthyPod says that an event is about a pod that runs: of a workload that
// hangs, only the pods that do not run are shown.
func isOfHealthyPod(event view.PackageEvent, blocking *view.TreeObject) bool {
	if blocking == nil || len(blocking.Pods) == 0 || event.Kind != "Pod" || event.Type == corev1.EventTypeWarning {
		return false
	}
	return !slices.ContainsFunc(blocking.Pods, func(pod pods.Trouble) bool { return pod.Name == event.Name })
}
