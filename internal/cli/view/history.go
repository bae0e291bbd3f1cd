// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

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

// History is the document of a package and its revisions. How they differ is added by [History.compareEach].
func (v Snapshot) History() History {
	h := History{
		TypeMeta:  DocumentType("History"),
		Package:   SummarisePackage(v.Package, v.Revisions),
		Revisions: []HistoryRevision{},
	}
	for i := range v.Revisions {
		h.Revisions = append(h.Revisions, HistoryRevision{RevisionSummary: SummariseRevision(&v.Revisions[i], v.Revisions, h.Package), Who: whoMade(&v.Revisions[i])})
	}
	return h
}

// Names are the revisions.
func (h History) Names() []string {
	names := make([]string, len(h.Revisions))
	for i, r := range h.Revisions {
		names[i] = "revision." + v1alpha1.GroupVersion.Group + "/" + r.Name
	}
	return names
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

// WriteHistory writes the table of revisions.
func WriteHistory(p *output.Printer, h History, wide bool, now time.Time) {
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
		{Text: Age(now, r.CreatedAt)},
	}
	if wide {
		row = append(row, output.Cell{Text: tookText(r.RevisionSummary)}, output.Cell{Text: r.Lifecycle}, output.Cell{Text: originText(r.RevisionSummary, origin)})
	}
	row = append(row, output.Cell{Text: shortUser(r.Who)}, output.Cell{Text: r.Changes, Short: fieldsOf(r.Changes)}, output.Cell{Text: reasonText(r.RevisionSummary, origin, wide)})
	if wide {
		row = append(row, output.Cell{Text: origin.Reference},
			output.Cell{Text: ShortDigest(r.ContentDigest)}, output.Cell{Text: strings.Join(origin.Images, ",")}, output.Cell{Text: r.Message})
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
	return "back to " + Number(r.RollbackTo) + Prefixed(": ", strings.TrimLeft(why, ":, "))
}

// markedNumber is the number with the word current or target. One word is
// enough: a current revision that rolls out no further one is the target too.
func markedNumber(r RevisionSummary) string {
	at := slices.IndexFunc(r.Roles, func(role string) bool { return role == roleCurrent || role == roleTarget })
	if at < 0 {
		return Number(r.Revision)
	}
	return Number(r.Revision) + " " + r.Roles[at]
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

// ShortDigest is enough of a digest to distinguish contents.
func ShortDigest(digest string) string {
	hex := strings.TrimPrefix(digest, "sha256:")
	if len(hex) > 12 {
		return hex[:12]
	}
	return hex
}
