// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/cli/view"
	"github.com/strata-run/strata/internal/history"
)

type approveOptions struct {
	writeFlags

	digest   string
	revision int64
	gates    []string
}

func (a *app) approveCommand() *cobra.Command {
	var o approveOptions
	cmd := &cobra.Command{
		Use:   "approve PACKAGE",
		Short: "Let content be rolled out that waits for approval or a gate",
		Long: `Let content be rolled out that is withheld. Without --digest and --revision it
is that of the newest revision that waits. What it would do is shown first.

Content is approved, not a number: what comes later waits in its turn. With
--gate one of the package's gates is opened for the content; without it
spec.approvedDigest is set, for packages with approval Manual.

Exit codes: 0 it is approved, or was; 2 usage; 5 the package was changed
meanwhile; 6 nothing waits, or there is no such package, revision or gate; 7 no
cluster answers.

Rights: get and patch packages.strata.run; list revisions.strata.run.`,
		Example: `  strata approve istiod-openshift-gateway
  strata approve istiod-openshift-gateway --revision 4 --yes
  strata approve istiod-openshift-gateway --digest sha256:9f86d0... --gate policy-check`,
	}
	a.onPackage(cmd, func(ctx context.Context, name string) error { return a.approve(ctx, o, name) })
	o.add(cmd)
	cmd.Flags().StringVar(&o.digest, "digest", "", "the content, sha256: and 64 hexadecimal digits; fewer do if a revision has them")
	cmd.Flags().Int64Var(&o.revision, "revision", 0, "the revision whose content is approved")
	cmd.Flags().StringSliceVar(&o.gates, "gate", nil, "the gate to open for it; can be given more than once")
	cmd.MarkFlagsMutuallyExclusive("digest", "revision")
	complete(cmd, "revision", a.completeRevisions)
	return cmd
}

func (a *app) approve(ctx context.Context, o approveOptions, name string) error {
	if err := o.validate(); err != nil {
		return err
	}
	c, pkg, revisions, err := a.readPackage(ctx, name)
	if err != nil {
		return err
	}
	digest, revision, err := chooseApproval(pkg, revisions, o)
	if err != nil {
		return err
	}
	if err := checkGates(pkg, o.gates); err != nil {
		return err
	}
	r := view.Receipt{TypeMeta: view.DocumentType("Receipt"), Command: "approve", Package: name, DryRun: o.dryRun, Digest: digest, Gates: o.gates}
	what := "content " + view.ShortDigest(digest)
	if revision != nil {
		r.Revision = revision.Spec.Revision
		what = "revision " + view.WithVersion(r.Revision, view.VersionOf(revision)) + ", " + what
	}
	by := cmp.Or(strings.Join(o.gates, ", "), "approval")
	if isApproved(pkg, digest, o.gates) {
		r.Message = fmt.Sprintf("%s of package %s was approved already (%s).", what, name, by)
		return a.printReceipt(o.writeFlags, r)
	}
	a.showPlan(o, revision)
	if err := a.ask(o.writeFlags, "Approve "+what+"?"); err != nil {
		return err
	}
	written, err := c.editPackage(ctx, pkg, o.writeFlags, edit{doing: "approving", before: "approving it"}, func(p *v1alpha1.Package) map[string]any { return approval(p, digest, c.whoAmI(ctx), o.gates) })
	if err != nil {
		return err
	}
	r.Changed = true
	r.Message = fmt.Sprintf("%s of package %s is approved (%s).", what, name, by)
	if err := a.printReceipt(o.writeFlags, r); err != nil {
		return err
	}
	if revision != nil && !o.isDry() {
		if why := history.Sort(written, revisions).Unapproved(written, revision, digest); why != "" {
			a.note("Note: it still waits: %s", why)
		}
	}
	return nil
}

var fullDigest = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// chooseApproval is the content to approve, and the newest revision that has it.
func chooseApproval(pkg *v1alpha1.Package, revisions []v1alpha1.Revision, o approveOptions) (string, *v1alpha1.Revision, error) {
	switch {
	case o.digest != "":
		return contentWith(pkg.Name, revisions, o.digest)
	case o.revision != 0:
		r, err := revisionNumbered(pkg.Name, revisions, o.revision)
		if err != nil {
			return "", nil, err
		}
		if view.DigestOf(r) == "" {
			return "", nil, exitf(CodeFalse, "the digest of revision %d is not known yet: `strata status %s` tells why", o.revision, pkg.Name)
		}
		return view.DigestOf(r), r, nil
	}
	for i := len(revisions) - 1; i >= 0; i-- {
		if r := &revisions[i]; view.IsWithheld(r) && view.DigestOf(r) != "" {
			return view.DigestOf(r), r, nil
		}
	}
	return "", nil, exitf(CodeNotFound, "no revision of package %s waits for approval; name content with --revision or --digest to approve it beforehand", pkg.Name)
}

// contentWith is the digest that begins as given.
func contentWith(pkg string, revisions []v1alpha1.Revision, prefix string) (string, *v1alpha1.Revision, error) {
	if !strings.HasPrefix(prefix, "sha256:") {
		prefix = "sha256:" + prefix
	}
	var found *v1alpha1.Revision
	for i := len(revisions) - 1; i >= 0; i-- {
		r := &revisions[i]
		switch {
		case !strings.HasPrefix(view.DigestOf(r), prefix):
		case found == nil:
			found = r
		case view.DigestOf(found) != view.DigestOf(r):
			return "", nil, exitf(CodeUsage, "flag --digest: %s fits revisions %d and %d: give more of it", prefix, r.Spec.Revision, found.Spec.Revision)
		}
	}
	switch {
	case found != nil:
		return view.DigestOf(found), found, nil
	case fullDigest.MatchString(prefix):
		return prefix, nil, nil
	}
	return "", nil, exitf(CodeNotFound, "no revision of package %s has content with the digest %s; give all of its 64 digits to approve it beforehand", pkg, prefix)
}

// checkGates says whether there is something to approve with.
func checkGates(pkg *v1alpha1.Package, named []string) error {
	var exist []string
	for _, gate := range pkg.Spec.Gates {
		exist = append(exist, gate.Name)
	}
	for _, name := range named {
		if !slices.Contains(exist, name) {
			return exitf(CodeNotFound, "package %s has no gate %s; there are: %s", pkg.Name, name, cmp.Or(strings.Join(exist, ", "), "none"))
		}
	}
	switch {
	case len(named) > 0 || pkg.Spec.Approval == v1alpha1.ApprovalManual:
		return nil
	case len(exist) > 0:
		return exitf(CodeUsage, "spec.approval of package %s is Automatic; it waits for gates, which --gate opens: %s", pkg.Name, strings.Join(exist, ", "))
	}
	return exitf(CodeUsage, "spec.approval of package %s is Automatic: nothing of it waits for approval", pkg.Name)
}

func isApproved(pkg *v1alpha1.Package, digest string, gates []string) bool {
	if len(gates) == 0 {
		return pkg.Spec.ApprovedDigest == digest
	}
	return !slices.ContainsFunc(pkg.Spec.Gates, func(g v1alpha1.Gate) bool {
		return slices.Contains(gates, g.Name) && g.ApprovedDigest != digest
	})
}

// approval is the patch that approves. Lists are replaced as a whole by a merge
// patch; the version that goes with it keeps others' entries from being lost.
func approval(pkg *v1alpha1.Package, digest, by string, gates []string) map[string]any {
	if len(gates) == 0 {
		spec := map[string]any{"approvedDigest": digest, "approvedBy": nil}
		if by != "" {
			spec["approvedBy"] = by
		}
		return map[string]any{"spec": spec}
	}
	list := slices.Clone(pkg.Spec.Gates)
	for i := range list {
		if slices.Contains(gates, list[i].Name) {
			list[i].ApprovedDigest, list[i].ApprovedBy = digest, by
		}
	}
	return map[string]any{"spec": map[string]any{"gates": list}}
}

// showPlan shows what is to be approved, on stderr where stdout is a document.
func (a *app) showPlan(o approveOptions, revision *v1alpha1.Revision) {
	if revision == nil || o.output.isDocument() {
		return
	}
	p := a.stdout(o.output.value)
	plan := revision.Status.Plan
	if plan == nil {
		p.Line(output.Span{Text: "What it would do is not known yet."})
		return
	}
	view.WritePending(p, plan)
}
