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
	a.addRevision(cmd, &o.revision, "revision", "the revision whose content is approved")
	cmd.Flags().StringSliceVar(&o.gates, "gate", nil, "the gate to open for it; can be given more than once")
	cmd.MarkFlagsMutuallyExclusive("digest", "revision")
	return cmd
}

func (a *app) approve(ctx context.Context, o approveOptions, name string) error {
	c, v, err := a.readPackage(ctx, name)
	if err != nil {
		return err
	}
	pkg := v.Package
	digest, revision, err := chooseApproval(v, o)
	if err != nil {
		return err
	}
	if err := checkGates(pkg, o.gates); err != nil {
		return err
	}
	r := o.receipt("approve", name, 0)
	r.Digest, r.Gates = digest, o.gates
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
	if p := a.text(o.output); revision != nil && revision.Status.Plan != nil {
		view.WritePending(p, revision.Status.Plan)
	} else if revision != nil {
		p.Line(output.Span{Text: "What it would do is not known yet."})
	}
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
		if why := history.Sort(written, v.Revisions).Unapproved(written, revision, digest); why != "" {
			a.note("Note: it still waits: %s", why)
		}
	}
	return nil
}

var fullDigest = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// chooseApproval is the content to approve, and the newest revision that has it.
func chooseApproval(v view.Snapshot, o approveOptions) (string, *v1alpha1.Revision, error) {
	switch {
	case o.digest != "":
		return contentWith(v, o.digest)
	case o.revision != 0:
		r, err := revisionNumbered(v, o.revision)
		if err == nil && view.DigestOf(r) == "" {
			err = exitf(CodeFalse, "the digest of revision %d is not known yet: `strata status %s` tells why", o.revision, v.Package.Name)
		}
		if err != nil {
			return "", nil, err
		}
		return view.DigestOf(r), r, nil
	}
	for i := range slices.Backward(v.Revisions) {
		if r := &v.Revisions[i]; view.IsWithheld(r) && view.DigestOf(r) != "" {
			return view.DigestOf(r), r, nil
		}
	}
	return "", nil, exitf(CodeNotFound, "no revision of package %s waits for approval; name content with --revision or --digest to approve it beforehand", v.Package.Name)
}

// contentWith is the digest that begins as given.
func contentWith(v view.Snapshot, prefix string) (string, *v1alpha1.Revision, error) {
	prefix = "sha256:" + strings.TrimPrefix(prefix, "sha256:")
	var found *v1alpha1.Revision
	for i := range slices.Backward(v.Revisions) {
		r := &v.Revisions[i]
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
	return "", nil, exitf(CodeNotFound, "no revision of package %s has content with the digest %s; give all of its 64 digits to approve it beforehand", v.Package.Name, prefix)
}

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

// approval is the spec that approves. Lists are replaced as a whole by a merge
// patch; the version that goes with it keeps others' entries from being lost.
func approval(pkg *v1alpha1.Package, digest, by string, gates []string) map[string]any {
	if len(gates) == 0 {
		return map[string]any{"approvedDigest": digest, "approvedBy": orNil(by)}
	}
	list := slices.Clone(pkg.Spec.Gates)
	for i := range list {
		if slices.Contains(gates, list[i].Name) {
			list[i].ApprovedDigest, list[i].ApprovedBy = digest, by
		}
	}
	return map[string]any{"gates": list}
}
