// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/check/diff"
	"github.com/strata-run/strata/revisions"
)

// noise are fields that change with every version of a chart and do nothing: labels
// and annotations of the objects themselves. Those of pod templates restart pods, and
// always count. Beside them the collision protection of whole phases does not count: an
// import sets it, and it matters only for objects that are not the package's yet.
var noise = []string{
	`.metadata.labels["helm.sh/chart"]`, `.metadata.labels["chart"]`, `.metadata.labels["heritage"]`, `.metadata.labels["app.kubernetes.io/version"]`,
	`.metadata.labels["app.kubernetes.io/managed-by"]`, `.metadata.annotations["meta.helm.sh/release-name"]`,
	`.metadata.annotations["meta.helm.sh/release-namespace"]`,
}

// Comparison is how contents are compared and shown.
type Comparison struct {
	diff.Options

	// Context is how many lines of context a unified difference has.
	Context int
}

// ObjectsOf are the objects of a content, or those that an argument names. What is set for
// a whole phase is set of none of them, unless all is asked for.
func ObjectsOf(content StoredContent, argument string, all bool) []diff.Object {
	var objects []diff.Object
	for i, items := range content.Items {
		phase := content.Revision.Spec.Phases[i]
		if !all {
			phase.CollisionProtection = ""
		}
		for _, it := range items {
			if it.Manifest != nil && (argument == "" || NamesObject(argument, it.Ref)) {
				objects = append(objects, diff.Object{Manifest: it.Manifest, Phase: phase.Name, Settings: settingsOf(it.Object, phase.CollisionProtection)})
			}
		}
	}
	return objects
}

// settingsOf are how an object is treated, as far as it is set; protection is its phase's.
func settingsOf(object v1alpha1.Object, protection v1alpha1.CollisionProtection) map[string]any {
	settings := map[string]any{}
	for name, value := range map[string]string{
		"collisionProtection": string(cmp.Or(object.CollisionProtection, protection)), "deletion": string(object.Deletion), "onImmutableChange": string(object.OnImmutableChange),
		"unmanagedFields": strings.Join(object.UnmanagedFields, " "), "exclusiveFields": strings.Join(object.ExclusiveFields, " "), "updatePhase": object.UpdatePhase,
	} {
		if value != "" {
			settings[name] = value
		}
	}
	if object.CreateOnce {
		settings["createOnce"] = true
	}
	return settings
}

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

// BuildDiff is the document of a comparison of two revisions.
func BuildDiff(from, to *v1alpha1.Revision, result diff.Result, o Comparison) (Diff, error) {
	doc := Diff{
		TypeMeta: DocumentType("Diff"), Package: to.Spec.Package, FromRevision: from.Spec.Revision, ToRevision: to.Spec.Revision,
		Objects: []DiffObject{}, Same: result.Same, Ignored: result.Ignored, Different: len(result.Differences) > 0,
	}
	names := [2]string{"revision " + Number(from.Spec.Revision), "revision " + Number(to.Spec.Revision)}
	for _, d := range result.Differences {
		object := DiffObject{Difference: string(d.Kind), ObjectReference: ReferenceOf(d.Object().Manifest), Phase: d.Object().Phase}
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
	doc.Summary = SummaryOf(doc)
	return doc, nil
}

func unifiedOf(d diff.Difference, names [2]string, o Comparison) (string, error) {
	var before, after *unstructured.Unstructured
	title := ObjectName(ReferenceOf(d.Object().Manifest))
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
	return diff.Unified(before, after, names, o.Context)
}

func withoutIgnored(manifest *unstructured.Unstructured, o Comparison) *unstructured.Unstructured {
	content := manifest.Object
	for _, pattern := range o.Ignore {
		content = pattern.Without(content)
	}
	return &unstructured.Unstructured{Object: content}
}

// differences are the differences in the order in which they are counted.
var differences = []string{
	string(diff.Added), string(diff.Changed), string(diff.Renamed), string(diff.Moved), string(diff.Removed), differenceDrifted, differenceMissing, differenceCollides, differenceUnknown,
}

// SummaryOf counts the differences.
func SummaryOf(doc Diff) string {
	counts := map[string]int{}
	for i := range doc.Objects {
		counts[doc.Objects[i].Difference]++
	}
	var parts []string
	for _, d := range differences {
		if n := counts[d]; n > 0 {
			parts = append(parts, strings.Replace(fmt.Sprintf("%d %s", n, differenceLook[d].word), "collides", "colliding", 1))
		}
	}
	same := fmt.Sprintf("%d the same", doc.Same)
	if doc.Ignored > 0 {
		same += fmt.Sprintf(" (%d of them differ in labels that do not count: --noise shows them)", doc.Ignored)
	}
	return strings.Join(append(parts, same), ", ")
}

// Names are the objects that differ.
func (d Diff) Names() []string {
	names := make([]string, len(d.Objects))
	for i := range d.Objects {
		names[i] = NameOf(d.Objects[i].ObjectReference)
	}
	return names
}

// AddUnread adds what is known of Secrets that could not be read.
func (d *Diff) AddUnread(from, to *v1alpha1.Revision) {
	d.Unread = unreadSecrets(from, to)
	d.Different = d.Different || !slices.Equal(secretsOf(from), secretsOf(to))
}

// unreadSecrets says whether the manifests of kind Secret of two revisions differ, as far
// as the names of the Secrets that store them show: the names contain a digest.
func unreadSecrets(from, to *v1alpha1.Revision) string {
	if slices.Equal(secretsOf(from), secretsOf(to)) {
		return "you may not read the Secrets of the two revisions; their digests are the same"
	}
	stored := map[revisions.ObjectID]string{}
	each := func(revision *v1alpha1.Revision, do func(Item)) {
		for _, items := range ItemsOf(revision, Manifests{}) {
			for _, it := range items {
				if it.Secret != "" && it.IsNamed() {
					do(it)
				}
			}
		}
	}
	each(from, func(it Item) { stored[IdentityOf(it.Ref)] = it.Digest })
	var names []string
	each(to, func(it Item) {
		if stored[IdentityOf(it.Ref)] != it.Digest {
			names = append(names, ObjectName(it.Ref))
		}
	})
	text := "Secrets of the two revisions differ, and you may not read in what"
	if len(names) > 0 {
		text += ": look at " + Some(names)
	}
	return text
}
