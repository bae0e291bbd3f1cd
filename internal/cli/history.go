// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/output"
)

// History is the document of `strata history`: every revision of a package that
// is kept.
type History struct {
	metav1.TypeMeta `json:",inline"`

	// Package is the package.
	Package PackageSummary `json:"package"`
	// Revisions are in ascending order of their numbers. Numbers are never used
	// again, so a gap is a revision that history no longer keeps.
	Revisions []RevisionSummary `json:"revisions"`
}

func (a *app) historyCommand() *cobra.Command {
	var o outputFlag
	cmd := &cobra.Command{
		Use:   "history PACKAGE",
		Short: "List the revisions of a package: what, when, why, how it went",
		Long: `List the revisions of a package that are kept, oldest first.

The current revision is the newest that has succeeded. The target is the one
that rolls out; it is marked when it is not the current one. DURATION is from
the revision's creation until it had been rolled out. OUTCOME is Succeeded,
RolledBack (a rollback rejected it), Superseded (replaced before it had
succeeded), or what the rollout does at present.

Exit codes: 0; 2 usage; 6 there is no such package; 7 no cluster answers.

Rights: get packages.strata.run; list revisions.strata.run.`,
		Example: `  strata history istiod-openshift-gateway
  strata history istiod-openshift-gateway -o wide`,
		Args:              onePackage,
		ValidArgsFunction: a.completePackages(1),
		RunE: a.run(func(ctx context.Context, args []string) error {
			return a.history(ctx, o, packageName(args[0]))
		}),
	}
	addOutput(cmd, &o, outputWide, outputJSON, outputYAML, outputName, outputJSONPath)
	return cmd
}

func (a *app) history(ctx context.Context, o outputFlag, name string) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	pkg, revisions, err := c.packageAndRevisions(ctx, name)
	if err != nil {
		return err
	}
	h := buildHistory(pkg, revisions)
	p := a.stdout(o.value)
	switch {
	case o.isDocument():
		return printDocument(p, o.value, h)
	case o.value == outputName:
		for _, r := range h.Revisions {
			p.Line(output.Span{Text: "revision." + v1alpha1.GroupVersion.Group + "/" + r.Name})
		}
	case len(h.Revisions) == 0:
		a.note("Package %s has no revisions yet.", name)
	default:
		writeHistory(p, h, o.value == outputWide, a.now())
	}
	return p.Err()
}

// buildHistory is the document of a package and its revisions, which are in
// ascending order.
func buildHistory(pkg *v1alpha1.Package, revisions []v1alpha1.Revision) History {
	h := History{
		TypeMeta:  documentType("History"),
		Package:   summarisePackage(pkg, revisions),
		Revisions: []RevisionSummary{},
	}
	for i := range revisions {
		h.Revisions = append(h.Revisions, summariseRevision(&revisions[i], revisions, h.Package))
	}
	return h
}

// writeHistory writes the table of revisions.
func writeHistory(p *output.Printer, h History, wide bool, now time.Time) {
	columns := []output.Column{
		{Head: "REVISION", Short: "REV"}, {Head: "VERSION"}, {Head: "STATE"}, {Head: "OUTCOME"}, {Head: "ORIGIN"},
		{Head: "WHEN"}, {Head: "DURATION", Short: "TOOK"}, {Head: "REASON", Flexible: true},
	}
	if wide {
		for _, head := range []string{"REFERENCE", "CREATED-BY", "DIGEST", "IMAGES", "MESSAGE"} {
			columns = append(columns, output.Column{Head: head})
		}
	}
	rows := make([][]output.Cell, len(h.Revisions))
	for i, r := range h.Revisions {
		rows[i] = historyRow(r, wide, now)
	}
	p.Table(columns, rows)
}

func historyRow(r RevisionSummary, wide bool, now time.Time) []output.Cell {
	var origin v1alpha1.Origin
	if r.Origin != nil {
		origin = *r.Origin
	}
	row := []output.Cell{
		{Text: markedNumber(r)},
		{Text: r.Version},
		{Text: r.Lifecycle},
		{Text: r.Outcome, Style: stateStyle(r.Outcome)},
		{Text: originText(r, origin)},
		{Text: age(now, r.CreatedAt)},
		{Text: tookText(r)},
		{Text: reasonText(r, origin, wide)},
	}
	if wide {
		row = append(row, output.Cell{Text: origin.Reference}, output.Cell{Text: origin.CreatedBy},
			output.Cell{Text: shortDigest(r.ContentDigest)}, output.Cell{Text: strings.Join(origin.Images, ",")}, output.Cell{Text: r.Message})
	}
	return row
}

// reasonText is why a revision was made. What the column ORIGIN says of a
// rollback is left out where there is little room.
func reasonText(r RevisionSummary, origin v1alpha1.Origin, wide bool) string {
	if wide || r.RollbackTo == 0 {
		return origin.Reason
	}
	return strings.TrimPrefix(origin.Reason, fmt.Sprintf("rollback from revision %d to %d: ", r.RollbackFrom, r.RollbackTo))
}

// markedNumber is the number with the word current or target. One word is
// enough: a current revision that rolls out no further one is the target too.
func markedNumber(r RevisionSummary) string {
	for _, role := range r.Roles {
		if role == roleCurrent || role == roleTarget {
			return number(r.Revision) + " " + role
		}
	}
	return number(r.Revision)
}

// originText is the kind of a revision's origin; for one that a rollback made,
// from which revision to which.
func originText(r RevisionSummary, origin v1alpha1.Origin) string {
	if origin.Kind != v1alpha1.OriginRollback {
		return string(origin.Kind)
	}
	text := "Rollback"
	if r.RollbackFrom != 0 {
		text += fmt.Sprintf(" %d", r.RollbackFrom)
	}
	if r.RollbackTo != 0 {
		text += fmt.Sprintf("→%d", r.RollbackTo)
	}
	return text
}

func tookText(r RevisionSummary) string {
	if r.DurationSeconds == nil {
		return ""
	}
	return duration.HumanDuration(time.Duration(*r.DurationSeconds) * time.Second)
}

// shortDigest is enough of a digest to tell contents apart.
func shortDigest(digest string) string {
	hex := strings.TrimPrefix(digest, "sha256:")
	if len(hex) > 12 {
		return hex[:12]
	}
	return hex
}
