// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/check/diff"
	"github.com/strata-run/strata/revisions/probes"
)

// The bounds of a short text: how many objects it names, and how many fields of one.
const (
	mostChanged     = 2
	mostShortFields = 3
)

// RevisionBefore is what a revision is compared with: the one that it has replaced, else
// the newest older one that is kept. It is nil when none is.
func RevisionBefore(r *v1alpha1.Revision, all []v1alpha1.Revision) *v1alpha1.Revision {
	var before *v1alpha1.Revision
	for i := range all {
		switch other := &all[i]; {
		case other.Spec.Revision == r.Spec.Previous:
			return other
		case other.Spec.Revision < r.Spec.Revision && (before == nil || other.Spec.Revision > before.Spec.Revision):
			before = other
		}
	}
	return before
}

// CompareEach adds to a history how each revision differs from the one before, as far as
// the contents of both were read.
func (h *History) CompareEach(revisions []v1alpha1.Revision, read map[int64]StoredContent) {
	for i := range revisions {
		after, before := &revisions[i], RevisionBefore(&revisions[i], revisions)
		if before == nil {
			continue
		}
		h.Revisions[i].ComparedWith = before.Spec.Revision
		was, beforeRead := read[before.Spec.Revision]
		is, afterRead := read[after.Spec.Revision]
		if beforeRead && afterRead {
			options := diff.Options{Ignore: NoisePatterns(), KeepNames: true}
			h.Revisions[i].Changes = ChangesText(before, after, diff.Contents(ObjectsOf(was, "", false), ObjectsOf(is, "", false), options))
		}
	}
}

// NoisePatterns are the fields that change with every version of a chart and do nothing.
func NoisePatterns() []probes.Pattern { return patternsOf(noise) }

// patternsOf reads paths that are written here.
func patternsOf(paths []string) []probes.Pattern {
	var patterns []probes.Pattern
	for _, path := range paths {
		if pattern, err := probes.ParsePattern(path); err == nil {
			patterns = append(patterns, pattern)
		}
	}
	return patterns
}

// ChangesText says in short how two revisions differ, such as "Deployment web: image". What
// changes an image comes first.
func ChangesText(before, after *v1alpha1.Revision, result diff.Result) string {
	sorted := slices.Clone(result.Differences)
	slices.SortStableFunc(sorted, func(a, b diff.Difference) int { return imageRank(a) - imageRank(b) })
	var parts []string
	for _, d := range sorted {
		parts = append(parts, differenceText(d))
	}
	if !slices.Equal(secretsOf(before), secretsOf(after)) {
		parts = append(parts, "Secrets")
	}
	if !equality.Semantic.DeepEqual(before.Spec.Probes, after.Spec.Probes) {
		parts = append(parts, "probes")
	}
	switch more := len(parts) - mostChanged; {
	case len(parts) == 0 && result.Ignored > 0:
		return "labels of the chart's version"
	case len(parts) == 0:
		return "nothing"
	case more > 0:
		return fmt.Sprintf("%s, and %d more", strings.Join(parts[:mostChanged], "; "), more)
	}
	return strings.Join(parts, "; ")
}

// fieldsOf is a text about changes without the names of objects that are changed.
func fieldsOf(changes string) string {
	parts := strings.Split(changes, "; ")
	for i, part := range parts {
		if _, fields, isChanged := strings.Cut(part, ": "); isChanged {
			parts[i] = fields
		}
	}
	return strings.Join(parts, "; ")
}

// imageRank is 0 for an object whose image changes, else 1.
func imageRank(d diff.Difference) int {
	if slices.ContainsFunc(d.Changes, func(c diff.Change) bool { return ShortField(c.Path) == "image" }) {
		return 0
	}
	return 1
}

func differenceText(d diff.Difference) string {
	manifest := d.Object().Manifest
	name := manifest.GetKind() + " " + manifest.GetName()
	switch d.Kind {
	case diff.Added:
		return "+ " + name
	case diff.Removed:
		return "- " + name
	case diff.Moved:
		return name + ": phase"
	case diff.Changed, diff.Renamed:
	}
	var fields []string
	for _, change := range d.Changes {
		if field := ShortField(change.Path); !slices.Contains(fields, field) {
			fields = append(fields, field)
		}
	}
	if more := len(fields) - mostShortFields; more > 0 {
		fields = append(fields[:mostShortFields], fmt.Sprintf("%d more", more))
	}
	return name + ": " + strings.Join(fields, ", ")
}

var (
	// lastStep is the last name in a path, with the entry of a list after it.
	lastStep = regexp.MustCompile(`(?:\.([^.\[\]"]+)|\["((?:[^"\\]|\\.)*)"\])(?:\[([^"\]][^\]]*)\])?$`)
	entryKey = regexp.MustCompile(`[A-Za-z]+=`)
)

// ShortField is the last name in a path, and what tells an entry of a list from others:
// image, env LOG_LEVEL, ports 80/TCP.
func ShortField(path string) string {
	if trimmed, isValue := strings.CutSuffix(path, "].value"); isValue {
		path = trimmed + "]"
	}
	step := lastStep.FindStringSubmatch(path)
	if step == nil {
		return path
	}
	name, entry := step[1]+step[2], step[3]
	if !strings.Contains(entry, "=") {
		return name
	}
	return name + " " + entryKey.ReplaceAllString(strings.ReplaceAll(entry, ",", "/"), "")
}
