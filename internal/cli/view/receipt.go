// Copyright The Strata Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-run/strata/api/v1alpha1"
	"github.com/strata-run/strata/internal/cli/output"
)

// Receipt is the document of the commands that change a Package or a Revision with
// one write: approve, pause, resume and archive.
type Receipt struct {
	metav1.TypeMeta `json:",inline"`

	// Command is the command's name.
	Command string `json:"command"`
	// Package is the package's name.
	Package string `json:"package"`
	// Revision is the revision that it is about, 0 for the whole package.
	Revision int64 `json:"revision,omitempty"`
	// Changed is false when it was so already, and nothing was written.
	Changed bool `json:"changed"`
	// DryRun is none, client or server.
	DryRun string `json:"dryRun"`
	// Message says it in words.
	Message string `json:"message"`
	// Digest is the content that was approved.
	Digest string `json:"digest,omitempty"`
	// Gates are the gates that were opened for it.
	Gates []string `json:"gates,omitempty"`
	// Paused is the pause that was set, or that was ended.
	Paused *v1alpha1.Pause `json:"paused,omitempty"`
	// Changes are the objects that the command has the controller change.
	Changes []Change `json:"changes,omitempty"`
}

// Applied is the document of `strata apply`: what was planned, and what came of it.
type Applied struct {
	metav1.TypeMeta `json:",inline"`

	// Package is the package's name.
	Package string `json:"package"`
	// PackageCreated is true when the package was made.
	PackageCreated bool `json:"packageCreated,omitempty"`
	// Revision is the revision that was made, 0 when none was.
	Revision int64 `json:"revision,omitempty"`
	// Target is the package's target now.
	Target int64 `json:"target,omitempty"`
	// Refused is why nothing was applied, empty when it was.
	Refused string `json:"refused,omitempty"`
	// DryRun is none, client or server.
	DryRun string `json:"dryRun"`
	// Plan is what was planned.
	Plan Plan `json:"plan"`
	// Rollout is how the rollout stands at the end; with --wait only.
	Rollout *Status `json:"rollout,omitempty"`
}

// Adoption is the document of `strata adopt`.
type Adoption struct {
	metav1.TypeMeta `json:",inline"`

	// Package is the package's name.
	Package string `json:"package"`
	// Revision is the revision that contains the objects.
	Revision int64 `json:"revision"`
	// DryRun is none, client or server.
	DryRun string `json:"dryRun"`
	// Objects are the objects that were taken over, or would be.
	Objects []AdoptedObject `json:"objects"`
}

// AdoptedObject is an object and whose it was.
type AdoptedObject struct {
	v1alpha1.ObjectReference `json:",inline"`

	// From is the controller that it is taken from, or the package that has retained
	// it; empty when it had no owner.
	From string `json:"from,omitempty"`
	// Retained objects stay when the package goes; others are deleted with it.
	Retained bool `json:"retained,omitempty"`
	// Unused CustomResourceDefinitions are deleted with it when no custom resource of them exists.
	Unused bool `json:"unused,omitempty"`
}

// WriteAdoption writes which objects are taken over, and from where.
func WriteAdoption(p *output.Printer, doc Adoption) {
	if len(doc.Objects) == 0 {
		p.Line(output.Span{Text: "They are the package's already."})
		return
	}
	p.Line(output.Span{Text: fmt.Sprintf("Taken over by package %s, for revision %d:", doc.Package, doc.Revision)})
	for _, object := range doc.Objects {
		fate := "deleted with the package"
		switch {
		case object.Retained:
			fate = "retained when the package goes"
		case object.Unused:
			fate = "deleted with the package when no custom resource of it exists"
		}
		p.Labelled(output.Span{Text: "  +", Style: output.Good}, 4, output.Span{Text: ObjectName(object.ObjectReference) + Prefixed(" from ", object.From) + ": " + fate})
	}
}

// HandOver is the document of `strata hand-over`.
type HandOver struct {
	metav1.TypeMeta `json:",inline"`

	// Packages are released: their objects stay, without owner.
	Packages []string `json:"packages"`
	// Classes are the GatewayClasses that lose the finalizer and the conditions of Strata.
	Classes []string `json:"classes"`
	// By is who does it: manager, or strata where no manager runs the front.
	By string `json:"by"`
	// DryRun is none, client or server.
	DryRun string `json:"dryRun"`
}

// WriteHandOver writes what is handed over, and by whom.
func WriteHandOver(p *output.Printer, d HandOver) {
	writeStaying(p, "Packages that are released; all of their objects stay:", d.Packages)
	writeStaying(p, "GatewayClasses that lose the finalizer and the conditions of Strata:", d.Classes)
	if d.By == "manager" {
		p.Line(output.Span{Text: "The manager releases them."})
	} else {
		p.Line(output.Span{Text: "No manager runs the front gatewayclass: this command releases them."})
	}
}
