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
	Revisions []HistoryRevision `json:"revisions"`
}

// HistoryRevision is a revision in the history of its package.
type HistoryRevision struct {
	RevisionSummary `json:",inline"`

	// Who is who made the revision, or asked for the rollback that it is: a user's name,
	// or "manager" when the manager made it by itself, for a front or for spec.onFailure.
	Who string `json:"who,omitempty"`
	// ComparedWith is the revision before that changes are about, 0 when none is kept.
	ComparedWith int64 `json:"comparedWith,omitempty"`
	// Changes say in short how the content differs from that revision, such as
	// "Deployment web: image"; empty when nothing is known of it.
	Changes string `json:"changes,omitempty"`
}

type historyOptions struct {
	output           outputFlag
	revision         int64
	managerNamespace string
}

func (a *app) historyCommand() *cobra.Command {
	var o historyOptions
	cmd := &cobra.Command{
		Use:   "history PACKAGE",
		Short: "List the revisions of a package: who, when, what, why, how it went",
		Long: `List the revisions of a package that are kept, oldest first.

The current revision is the newest that has succeeded. The target is the one
that rolls out; it is marked when it is not the current one. OUTCOME is
Succeeded, RolledBack (a rollback rejected it), Superseded (replaced before it
had succeeded), or what the rollout does at present.

WHO made the revision, or asked for the rollback; "manager" is for one that the
manager made by itself, for a front or for spec.onFailure. With the policies of
config/policy the API server has checked the name. CHANGES is what differs from
the revision before.

--revision shows one revision: who approved it, each field that differs, and its
objects by phase. -o wide adds columns, such as how long the rollout took.

Exit codes: 0; 2 usage; 6 there is no such package or revision; 7 no cluster
answers.

Rights: get packages.strata.run; list revisions.strata.run; get
objectslices.strata.run, without it CHANGES may be missing; for the fields of
manifests of kind Secret with --revision, to get Secrets in the manager's
namespace.`,
		Example: `  strata history istiod-openshift-gateway
  strata history istiod-openshift-gateway -o wide
  strata history istiod-openshift-gateway --revision 2`,
		Args:              onePackage,
		ValidArgsFunction: a.completePackages(1),
		RunE: a.run(func(ctx context.Context, args []string) error {
			if o.revision < 0 {
				return exitf(CodeUsage, "flag --revision: %d is no revision", o.revision)
			}
			if o.revision > 0 {
				return a.historyOfOne(ctx, o, packageName(args[0]))
			}
			return a.history(ctx, o, packageName(args[0]))
		}),
	}
	addOutput(cmd, &o.output, outputWide, outputJSON, outputYAML, outputName, outputJSONPath)
	a.addRevision(cmd, &o.revision, "show this revision alone")
	addManagerNamespace(cmd, &o.managerNamespace)
	return cmd
}

func (a *app) history(ctx context.Context, o historyOptions, name string) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	pkg, revisions, err := c.packageAndRevisions(ctx, name)
	if err != nil {
		return err
	}
	h := view{pkg: pkg, revisions: revisions}.history()
	p := a.stdout(o.output.value)
	if o.output.value != outputName {
		// Secrets are not read: the names of what they are stored in are digests.
		read, err := newReader(c.contents(o.managerNamespace), false).readEach(ctx, revisions)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			a.note("Note: not all changes are known: %v", err)
		}
		h.compareEach(revisions, read)
	}
	switch {
	case o.output.isDocument():
		return printDocument(p, o.output.value, h)
	case o.output.value == outputName:
		for _, r := range h.Revisions {
			p.Line(output.Span{Text: "revision." + v1alpha1.GroupVersion.Group + "/" + r.Name})
		}
	case len(h.Revisions) == 0:
		a.note("Package %s has no revisions yet.", name)
	default:
		writeHistory(p, h, o.output.value == outputWide, a.now())
	}
	return p.Err()
}

// history is the document of a package and its revisions. How they differ is added by [History.compareEach].
func (v view) history() History {
	h := History{
		TypeMeta:  documentType("History"),
		Package:   summarisePackage(v.pkg, v.revisions),
		Revisions: []HistoryRevision{},
	}
	for i := range v.revisions {
		h.Revisions = append(h.Revisions, HistoryRevision{RevisionSummary: summariseRevision(&v.revisions[i], v.revisions, h.Package), Who: whoMade(&v.revisions[i])})
	}
	return h
}

// madeByManager is the name for the manager where no user is behind a revision.
const madeByManager = "manager"

// whoMade is the user or manager that made a revision, empty when that is not known.
func whoMade(r *v1alpha1.Revision) string {
	origin := r.Spec.Origin
	switch {
	case origin == nil:
		return ""
	case origin.CreatedBy != "":
		return origin.CreatedBy
	case origin.Kind == v1alpha1.OriginFront, r.Annotations[v1alpha1.AnnotationAutomaticRollback] != "":
		return madeByManager
	}
	return ""
}

// writeHistory writes the table of revisions.
func writeHistory(p *output.Printer, h History, wide bool, now time.Time) {
	columns := []output.Column{{Head: "REVISION", Short: "REV"}, {Head: "VERSION"}, {Head: "OUTCOME"}, {Head: "WHEN"}}
	if wide {
		columns = append(columns, output.Column{Head: "DURATION"}, output.Column{Head: "STATE"}, output.Column{Head: "ORIGIN"})
	}
	columns = append(columns, output.Column{Head: "WHO", Flexible: true, Optional: true}, output.Column{Head: "CHANGES", Flexible: true, Optional: true}, output.Column{Head: "REASON", Flexible: true, Optional: true})
	if wide {
		for _, head := range []string{"REFERENCE", "DIGEST", "IMAGES", "MESSAGE"} {
			columns = append(columns, output.Column{Head: head})
		}
	}
	rows := make([][]output.Cell, len(h.Revisions))
	for i, r := range h.Revisions {
		rows[i] = historyRow(r, wide, now)
	}
	p.Table(columns, rows)
}

func historyRow(r HistoryRevision, wide bool, now time.Time) []output.Cell {
	var origin v1alpha1.Origin
	if r.Origin != nil {
		origin = *r.Origin
	}
	row := []output.Cell{
		{Text: markedNumber(r.RevisionSummary)},
		{Text: r.Version},
		{Text: r.Outcome, Style: stateStyle(r.Outcome)},
		{Text: age(now, r.CreatedAt)},
	}
	if wide {
		row = append(row, output.Cell{Text: tookText(r.RevisionSummary)}, output.Cell{Text: r.Lifecycle}, output.Cell{Text: originText(r.RevisionSummary, origin)})
	}
	row = append(row, output.Cell{Text: shortUser(r.Who)}, output.Cell{Text: r.Changes, Short: fieldsOf(r.Changes)}, output.Cell{Text: reasonText(r.RevisionSummary, origin, wide)})
	if wide {
		row = append(row, output.Cell{Text: origin.Reference},
			output.Cell{Text: shortDigest(r.ContentDigest)}, output.Cell{Text: strings.Join(origin.Images, ",")}, output.Cell{Text: r.Message})
	}
	return row
}

// shortUser is a user's name; of a service account NAMESPACE:NAME.
func shortUser(name string) string {
	return strings.TrimPrefix(name, "system:serviceaccount:")
}

// reasonText is why a revision was made. That it is a rollback, and to what, is said in
// fewer words where there is little room.
func reasonText(r RevisionSummary, origin v1alpha1.Origin, wide bool) string {
	if wide || r.RollbackTo == 0 {
		return origin.Reason
	}
	_, why, isSaid := strings.Cut(origin.Reason, fmt.Sprintf("rollback from revision %d to %d", r.RollbackFrom, r.RollbackTo))
	if !isSaid {
		why = origin.Reason
	}
	return "back to " + number(r.RollbackTo) + prefixed(": ", strings.TrimLeft(why, ":, "))
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

// shortDigest is enough of a digest to distinguish contents.
func shortDigest(digest string) string {
	hex := strings.TrimPrefix(digest, "sha256:")
	if len(hex) > 12 {
		return hex[:12]
	}
	return hex
}
