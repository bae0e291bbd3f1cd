// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/output"
	"github.com/strata-run/strata/internal/helmimport"
)

// HelmImport is the document of `strata import-helm`: what an import does, and what
// came of it.
type HelmImport struct {
	metav1.TypeMeta `json:",inline"`

	// Package is the package's name.
	Package string `json:"package"`
	// Release is the version that is imported, the newest that is deployed.
	Release HelmRelease `json:"release"`
	// Later are newer versions, which have failed or are under way.
	Later []HelmRelease `json:"later,omitempty"`
	// Objects are those of the revision, phase by phase.
	Objects []ImportedObject `json:"objects"`
	// Left are the objects that are not imported.
	Left []LeftObject `json:"left,omitempty"`
	// Secrets are those that Helm keeps the release in.
	Secrets ReleaseSecrets `json:"secrets"`
	// Refusals are the reasons not to import, empty when there are none.
	Refusals []string `json:"refusals,omitempty"`
	// Revision is the revision that was made, 0 when none was.
	Revision int64 `json:"revision,omitempty"`
	// AlreadyImported is true when an earlier import has made the revision.
	AlreadyImported bool `json:"alreadyImported,omitempty"`
	// DryRun is none, client or server.
	DryRun string `json:"dryRun"`
	// Rollout is how the rollout stands at the end; with --wait only.
	Rollout *Status `json:"rollout,omitempty"`
}

// HelmRelease is one version of a Helm release.
type HelmRelease struct {
	// Namespace and Name are the release's.
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Version is the number that Helm calls the revision.
	Version int `json:"version"`
	// Status is Helm's, such as deployed or failed.
	Status string `json:"status"`
	// Chart, ChartVersion and AppVersion are those of the chart.
	Chart        string `json:"chart,omitempty"`
	ChartVersion string `json:"chartVersion,omitempty"`
	AppVersion   string `json:"appVersion,omitempty"`
	// Deployed is when it was installed.
	Deployed *metav1.Time `json:"deployed,omitempty"`
}

// ImportedObject is what an import does to one object.
type ImportedObject struct {
	v1alpha1.ObjectReference `json:",inline"`

	// Phase is the phase that it stands in.
	Phase string `json:"phase"`
	// Action is Adopt (it stays as it is), Update (fields are set back), Create (it is
	// missing) or Refuse (it cannot be imported).
	Action string `json:"action"`
	// Fields are the first 8 fields that an update changes.
	Fields []string `json:"fields,omitempty"`
	// Pods is true when the update starts or stops pods.
	Pods bool `json:"pods,omitempty"`
	// Holder is what else owns the object, empty when nothing does.
	Holder string `json:"holder,omitempty"`
	// Note is what is special about it.
	Note string `json:"note,omitempty"`
}

// LeftObject is an object that is not imported.
type LeftObject struct {
	// Kind is the object's kind, File for a file of the chart, Version for a version
	// of the release.
	Kind string `json:"kind"`
	// Namespace and Name are its own; a hook's namespace is not on record.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Reason is why.
	Reason string `json:"reason"`
}

// ReleaseSecrets are the Secrets that Helm keeps a release in.
type ReleaseSecrets struct {
	// Fate is keep, handover or delete.
	Fate string `json:"fate"`
	// Names are theirs, newest version first.
	Names []string `json:"names"`
}

// Choose notes the version that is imported.
func (d *HelmImport) Choose(choice helmimport.Choice) {
	d.Release = helmRelease(choice.Release)
	for _, later := range choice.Later {
		d.Later = append(d.Later, helmRelease(later))
	}
	d.Secrets.Names = append([]string{}, choice.Secrets...)
	d.Objects = []ImportedObject{}
}

func helmRelease(r helmimport.Release) HelmRelease {
	release := HelmRelease{
		Namespace: r.Namespace, Name: r.Name, Version: r.Version, Status: r.Status,
		Chart: r.Chart, ChartVersion: r.ChartVersion, AppVersion: r.AppVersion,
	}
	if !r.Deployed.IsZero() {
		at := metav1.NewTime(r.Deployed.UTC())
		release.Deployed = &at
	}
	return release
}

// Fill notes what the import does.
func (d *HelmImport) Fill(plan *helmimport.Plan) {
	for i := range plan.Objects {
		o := &plan.Objects[i]
		d.Objects = append(d.Objects, ImportedObject{
			ObjectReference: ReferenceOf(o.Manifest), Phase: o.Phase, Action: string(o.Action), Fields: o.Fields, Pods: o.Pods, Holder: o.Owner, Note: o.Note,
		})
	}
	for _, left := range plan.Left {
		d.Left = append(d.Left, LeftObject(left))
	}
}

// WriteImport writes what an import does, one object a line, under its phase.
func WriteImport(p *output.Printer, d HelmImport) {
	r := d.Release
	chart := strings.TrimSpace(r.Chart + " " + r.ChartVersion)
	if r.AppVersion != "" {
		chart += ", app version " + r.AppVersion
	}
	p.Wrapped("", output.Plain, fmt.Sprintf("Importing Helm release %s/%s, version %d (%s), as package %s:", r.Namespace, r.Name, r.Version, chart, d.Package))
	for _, later := range d.Later {
		p.Wrapped("  ", output.Busy, fmt.Sprintf("version %d is newer and %s: it is not imported", later.Version, later.Status))
	}
	w := phased{Printer: p}
	for _, o := range d.Objects {
		writeImported(&w, o)
	}
	if len(d.Left) > 0 {
		p.Line(output.Span{Text: "  not imported"})
	}
	for _, left := range d.Left {
		name := left.Name
		if left.Namespace != "" {
			name = left.Namespace + "/" + name
		}
		p.Line(output.Span{Text: "    " + left.Kind + " " + name})
		p.Wrapped("        ", output.Faint, left.Reason)
	}
	writeFate(p, d)
}

func writeImported(p *phased, o ImportedObject) {
	p.object(o.Phase, map[helmimport.Action]look{
		helmimport.ActionAdopt: {"=", "adopt ", output.Good}, helmimport.ActionUpdate: {"~", "change", output.Busy},
		helmimport.ActionCreate: {"+", "create", output.Good}, helmimport.ActionRefuse: {"!", "refuse", output.Bad},
	}[helmimport.Action(o.Action)].spans(o.ObjectReference)...)
	const below = "        "
	if len(o.Fields) > 0 {
		p.Wrapped(below, output.Faint, "sets back "+strings.Join(o.Fields, ", "))
	}
	if o.Pods {
		p.Wrapped(below, output.Bad, "starts or stops pods")
	}
	if o.Holder != "" {
		p.Wrapped(below, output.Bad, "is "+o.Holder)
	}
	if o.Note != "" {
		p.Wrapped(below, output.Faint, o.Note)
	}
}

func writeFate(p *output.Printer, d HelmImport) {
	text := map[helmimport.Fate]string{
		helmimport.FateKeep:     "kept: a later `helm upgrade` or `helm uninstall` would change or delete these objects",
		helmimport.FateHandover: "handed over: Helm does not see the release any more, and they go with the package",
		helmimport.FateDelete:   "deleted once the import has succeeded: Helm has no such release any more",
	}
	p.Line(output.Span{Text: "  release history (" + CountOf(len(d.Secrets.Names), "Secret") + ")"})
	p.Wrapped("    ", output.Plain, text[helmimport.Fate(d.Secrets.Fate)])
	if pending := slices.IndexFunc(d.Later, func(r HelmRelease) bool { return strings.HasPrefix(r.Status, "pending-") }); pending >= 0 {
		p.Wrapped("    ", output.Busy, "helm may be at work on this release at present")
	}
}
