// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/diff"
)

// Diff is the document of `strata diff`: how two contents differ.
type Diff struct {
	metav1.TypeMeta `json:",inline"`

	// Package is the package's name.
	Package string `json:"package"`
	// FromRevision and ToRevision are what is compared. With --live, toRevision is 0: it
	// is the cluster.
	FromRevision int64 `json:"fromRevision"`
	ToRevision   int64 `json:"toRevision,omitempty"`
	// Live is true when a revision is compared with the cluster.
	Live bool `json:"live,omitempty"`
	// Different is true when there are differences that count. Fields that other managers
	// have set and that the revision does not contain do not.
	Different bool `json:"different"`
	// Summary counts the differences: "1 changed, 1 added, 30 the same".
	Summary string `json:"summary"`
	// Objects are those that differ.
	Objects []DiffObject `json:"objects"`
	// Unread says what is known of Secrets that may not be read; empty when all was read.
	Unread string `json:"unread,omitempty"`
	// Same is how many objects do not differ, and ignored how many of them differ in
	// fields that do not count.
	Same    int `json:"same"`
	Ignored int `json:"ignored,omitempty"`
}

// DiffObject is an object that differs.
type DiffObject struct {
	// ObjectReference names the object, as it is after.
	v1alpha1.ObjectReference `json:",inline"`

	// Kind of the difference: Added, Removed, Changed, Moved (to another phase only) or
	// Renamed; with --live: Drifted, Missing, Collides, Unknown or Foreign (other
	// managers have set fields, and no more).
	Difference string `json:"difference"`
	// Phase is the phase that it stands in, fromPhase the one that it stood in if that is
	// another one.
	Phase     string `json:"phase"`
	FromPhase string `json:"fromPhase,omitempty"`
	// FromNamespace and FromName are what it was called, if it was renamed.
	FromNamespace string `json:"fromNamespace,omitempty"`
	FromName      string `json:"fromName,omitempty"`
	// Fields are those that differ. With --live before is what the revision wants, and
	// after what the cluster has.
	Fields []DiffField `json:"fields,omitempty"`
	// Message says why nothing can be said, or what it collides with.
	Message string `json:"message,omitempty"`
	// NotOurs are, with --live, the fields that other managers have set and that the
	// revision does not contain.
	NotOurs []ForeignFields `json:"notOurs,omitempty"`
	// Unified is the difference as lines of YAML.
	Unified string `json:"unified,omitempty"`
}

// DiffField is a field that differs.
type DiffField struct {
	diff.Change `json:",inline"`

	// ChangedBy is, with --live, the field manager that has the field now, empty when the
	// API server keeps no trace of who it was.
	ChangedBy string `json:"changedBy,omitempty"`
}

// ForeignFields are the fields that one field manager has set.
type ForeignFields struct {
	// Manager is the field manager.
	Manager string `json:"manager"`
	// Fields are the first 16 of them, and count is how many there are.
	Fields []string `json:"fields"`
	Count  int      `json:"count"`
}

// buildDiff is the document of a comparison of two revisions.
func buildDiff(from, to *v1alpha1.Revision, result diff.Result, o comparison) (Diff, error) {
	doc := Diff{
		TypeMeta: documentType("Diff"), Package: to.Spec.Package, FromRevision: from.Spec.Revision, ToRevision: to.Spec.Revision,
		Objects: []DiffObject{}, Same: result.Same, Ignored: result.Ignored, Different: len(result.Differences) > 0,
	}
	names := [2]string{"revision " + number(from.Spec.Revision), "revision " + number(to.Spec.Revision)}
	for _, d := range result.Differences {
		object := DiffObject{Difference: string(d.Kind), ObjectReference: referenceOf(d.Object().Manifest), Phase: d.Object().Phase}
		if d.Before != nil && d.After != nil && d.Before.Phase != d.After.Phase {
			object.FromPhase = d.Before.Phase
		}
		if d.Kind == diff.Renamed {
			object.FromName = d.Before.Manifest.GetName()
			if namespace := d.Before.Manifest.GetNamespace(); namespace != object.Namespace {
				object.FromNamespace = namespace
			}
		}
		for _, change := range d.Changes {
			object.Fields = append(object.Fields, DiffField{Change: change})
		}
		var err error
		if object.Unified, err = unifiedOf(d, names, o); err != nil {
			return doc, err
		}
		doc.Objects = append(doc.Objects, object)
	}
	doc.Summary = summaryOf(doc)
	return doc, nil
}

func unifiedOf(d diff.Difference, names [2]string, o comparison) (string, error) {
	var before, after *unstructured.Unstructured
	title := objectName(referenceOf(d.Object().Manifest))
	for i := range names {
		names[i] = title + " (" + names[i] + ")"
	}
	if d.Before == nil {
		names[0] = "/dev/null"
	} else {
		before = withoutIgnored(d.Before.Manifest, o)
	}
	if d.After == nil {
		names[1] = "/dev/null"
	} else {
		after = withoutIgnored(d.After.Manifest, o)
	}
	return diff.Unified(before, after, names, o.context)
}

func withoutIgnored(manifest *unstructured.Unstructured, o comparison) *unstructured.Unstructured {
	content := manifest.Object
	for _, pattern := range o.patterns {
		content = pattern.Without(content)
	}
	return &unstructured.Unstructured{Object: content}
}

// differenceWords are the differences in the order in which they are counted.
var differenceWords = []struct{ difference, word string }{
	{string(diff.Added), "added"}, {string(diff.Changed), "changed"}, {string(diff.Renamed), "renamed"}, {string(diff.Moved), "moved"},
	{string(diff.Removed), "removed"}, {differenceDrifted, "drifted"}, {differenceMissing, "missing"}, {differenceCollides, "colliding"},
	{differenceUnknown, "unknown"},
}

// summaryOf counts the differences.
func summaryOf(doc Diff) string {
	counts := map[string]int{}
	for i := range doc.Objects {
		counts[doc.Objects[i].Difference]++
	}
	var parts []string
	for _, w := range differenceWords {
		if n := counts[w.difference]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, w.word))
		}
	}
	same := fmt.Sprintf("%d the same", doc.Same)
	if doc.Ignored > 0 {
		same += fmt.Sprintf(" (%d of them differ in labels that do not count: --noise shows them)", doc.Ignored)
	}
	return strings.Join(append(parts, same), ", ")
}
