// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/cli/view"
	"github.com/strata-run/strata/internal/pods"
	"github.com/strata-run/strata/revisions"
)

type treeOptions struct {
	output   outputFormat
	revision int64
	all      bool
	expand   bool
}

func (a *app) treeCommand() *cobra.Command {
	var o treeOptions
	cmd := &cobra.Command{
		Use:   "tree PACKAGE",
		Short: "Show a package's revisions, phases and objects with their state",
		Long: `Show what a package consists of: its active revisions, the target first, their
phases, and the objects with what was done to each and what it waits for.

Objects that a revision found unchanged, and phases that the rollout has not
reached, are counted on one line; --expand and -o wide list each of them. For a
workload that is not ready, the pods that do not run are listed with their
reasons, as far as you may read pods.

-o dot writes a graph for Graphviz.

Exit codes: 0; 2 usage; 6 there is no such package or revision; 7 no cluster
answers.

Rights: get packages.strata.run; list revisions.strata.run; get
objectslices.strata.run. As far as you may: list pods and replicasets.apps; get
secrets in strata-system, for the names of Secrets that no status names.`,
		Example: `  strata tree istiod-openshift-gateway
  strata tree istiod-openshift-gateway --revision 2 --expand
  strata tree istiod-openshift-gateway -o dot | dot -Tsvg > tree.svg`,
	}
	a.onPackage(cmd, func(ctx context.Context, name string) error { return a.tree(ctx, o, name) })
	addOutput(cmd, &o.output, outputWide, outputJSON, outputYAML, outputJSONPath, outputDot)
	a.addRevision(cmd, &o.revision, "revision", "show this revision only, which may be archived")
	cmd.Flags().BoolVar(&o.all, "all", false, "show archived revisions too")
	cmd.Flags().BoolVar(&o.expand, "expand", false, "list every object")
	cmd.MarkFlagsMutuallyExclusive("all", "revision")
	return cmd
}

func (a *app) tree(ctx context.Context, o treeOptions, name string) error {
	c, v, err := a.readPackage(ctx, name)
	if err != nil {
		return err
	}
	shown := v.ShownRevisions(o.all)
	if o.revision != 0 {
		one, err := revisionNumbered(v, o.revision)
		if err != nil {
			return err
		}
		shown = []*v1alpha1.Revision{one}
	}
	a.readDetails(ctx, c, &v, shown)
	t := v.Tree(shown)
	return a.print(o.output, t, func(p *output.Printer) {
		if o.output == outputDot {
			view.WriteDot(p, t)
			return
		}
		writer := view.TreeWriter{Now: a.now(), Wide: o.output == outputWide, Single: o.revision != 0}
		writer.Expand = o.expand || writer.Wide
		p.Tree(writer.Root(t))
		if len(t.Revisions) == 0 {
			a.note("Package %s has no active revision. `strata tree %s --all` shows archived ones.", name, name)
		}
	})
}

// readDetails reads what a view needs besides the package and its revisions:
// slices, and the pods of workloads that are not ready. What cannot be read is
// noted, and the view does without it.
func (a *app) readDetails(ctx context.Context, c *cluster, v *view.Snapshot, shown []*v1alpha1.Revision) {
	// A serving revision is compared with the target, so that is needed too.
	needed := append(v.ShownRevisions(false), shown...)
	if err := c.readSlices(ctx, v.Manifests, needed...); err != nil {
		a.note("Note: some objects cannot be named: %s", err)
	}
	v.Pods = map[string][]pods.Trouble{}
	for _, r := range shown {
		if err := c.readPods(ctx, v, r); err != nil {
			a.note("Note: why pods do not run is not shown: %s", err)
			return
		}
	}
}

const mostWorkloads = 4

// readPods reads the failing pods of the workloads of a revision that are not
// ready.
func (c *cluster) readPods(ctx context.Context, v *view.Snapshot, r *v1alpha1.Revision) error {
	uids := map[revisions.ObjectID]string{}
	for _, entry := range r.Status.Inventory {
		uids[view.IdentityOf(entry.ObjectReference)] = entry.UID
	}
	asked := 0
	for _, object := range r.Status.Objects {
		ref := object.ObjectReference
		id := view.IdentityOf(ref)
		if !pods.IsWorkload(id.GroupKind) || uids[id] == "" || asked == mostWorkloads {
			continue
		}
		asked++
		own, err := pods.List(ctx, c.client, pods.Workload{
			Kind: id.GroupKind, Namespace: ref.Namespace, Name: ref.Name, UID: types.UID(uids[id]), Manifest: v.ManifestOf(r, ref),
		})
		if err != nil {
			return err
		}
		v.Pods[uids[id]] = pods.Failing(own)
	}
	return nil
}

const outputDot outputFormat = "dot"
