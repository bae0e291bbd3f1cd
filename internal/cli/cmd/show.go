// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/cli/view"
	"github.com/strata-run/strata/internal/history"
)

type showOptions struct {
	output           outputFormat
	object           string
	showSecrets      bool
	managerNamespace string
}

func (a *app) showCommand() *cobra.Command {
	var o showOptions
	cmd := &cobra.Command{
		Use:   "show PACKAGE [REVISION]",
		Short: "Show what a revision contains, exactly as it is stored",
		Long: `Show the manifests of a revision, exactly as they are stored: inline, in
ObjectSlices, or in Secrets. Without REVISION it is the target. What was read is
checked against the revision's digest, so that what is shown as revision N is N.

Without -o it is a stream of YAML documents, one an object, which kubectl apply
and diff take. -o yaml and -o json write one document with phases, probes and
settings besides; -o name lists the objects. --object shows one object.

Values of Secrets are redacted without --show-secrets.

Exit codes: 0 shown; 1 some of it could not be read, or it is not what the
digest says; 2 usage; 6 there is no such package, revision or object; 7 no
cluster answers.
Rights needed: to get packages and objectslices, to list revisions; for
manifests of kind Secret, to get Secrets in the manager's namespace.`,
		Example: `  strata show istiod-openshift-gateway
  strata show istiod-openshift-gateway 2 --object deployment/istiod
  strata show web 3 -o json | jq '.phases[].name'`,
		Args:              packageAndRevisions("a revision", 1),
		ValidArgsFunction: a.completeContents(1),
		RunE:              a.run(func(ctx context.Context, args []string) error { return a.show(ctx, o, args) }),
	}
	addOutput(cmd, &o.output, outputJSON, outputYAML, outputName, outputJSONPath)
	cmd.Flags().StringVar(&o.object, "object", "", "only the object KIND/NAME, such as deployment/istiod or configmap/istio-system/istio")
	cmd.Flags().BoolVar(&o.showSecrets, "show-secrets", false, "show the values of Secrets")
	addManagerNamespace(cmd, &o.managerNamespace)
	complete(cmd, "object", a.completeObjects)
	return cmd
}

// packageAndRevisions is the check of a command that takes a package and, if wanted, the
// numbers of so many revisions.
func packageAndRevisions(what string, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1+most {
			return fmt.Errorf("a package and %s: %s is one too many", what, args[1+most])
		}
		for _, arg := range args[min(len(args), 1):] {
			if _, err := revisionNumber(arg); err != nil {
				return err
			}
		}
		return onePackage(cmd, args[:min(len(args), 1)])
	}
}

// numbersIn are the revisions in the arguments of a command with [packageAndRevisions], 0 for none.
func numbersIn(args []string) (numbers [2]int64) {
	for i, arg := range args[1:] {
		numbers[i], _ = revisionNumber(arg) // checked with the arguments
	}
	return numbers
}

func revisionNumber(arg string) (int64, error) {
	n, err := strconv.ParseInt(arg, 10, 64)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%q is not a revision: `strata history` lists them by number", arg)
	}
	return n, nil
}

// revisionOr is the revision of a number; of 0 the target, or else the newest.
func revisionOr(v view.Snapshot, n int64) (*v1alpha1.Revision, error) {
	if n != 0 || len(v.Revisions) == 0 {
		return revisionNumbered(v, n)
	}
	if target := history.Sort(v.Package, v.Revisions).Target; target != nil {
		return target, nil
	}
	return &v.Revisions[len(v.Revisions)-1], nil
}

func (a *app) show(ctx context.Context, o showOptions, args []string) error {
	c, v, err := a.readPackage(ctx, packageName(args[0]))
	if err != nil {
		return err
	}
	revision, err := revisionOr(v, numbersIn(args)[0])
	if err != nil {
		return err
	}
	read, err := newReader(c.contents(o.managerNamespace), wholeSecrets).read(ctx, revision)
	if err != nil {
		return c.explain(fmt.Sprintf("reading revision %d", revision.Spec.Revision), err)
	}
	doc := view.BuildContent(read, o.showSecrets)
	if o.object != "" {
		if doc.Phases = view.OnlyObject(doc.Phases, o.object); len(doc.Phases) == 0 {
			return exitf(CodeNotFound, "revision %d of package %s contains no %s: `strata show %[2]s %[1]d -o name` lists what it contains", doc.Revision, doc.Package, o.object)
		}
	}
	err = a.print(o.output, doc, func(p *output.Printer) { view.WriteContent(p, doc) })
	switch {
	case err != nil:
		return err
	case read.Unread != nil:
		return exitf(CodeFalse, "not all of revision %d could be read: %w", doc.Revision, read.Unread)
	case doc.ContentDigest != "" && !doc.Verified:
		return exitf(CodeFalse, "revision %d is not what it says: its content has the digest %s, and it names %s", doc.Revision, read.Digest, doc.ContentDigest)
	}
	return nil
}
